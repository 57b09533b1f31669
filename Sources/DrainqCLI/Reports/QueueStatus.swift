import Delivery
import Drain
import Policy
import Spool

/// The object of `status --json`, schema 1.
struct QueueStatus: Encodable {
    /// One destination: what waits for it, and what runs remember of it.
    struct Row: Encodable {
        var destination: String
        var new = 0
        var deferred = 0
        var held = 0
        var claimed = 0
        var failed = 0
        /// How many of those that wait are younger than each of `QueueCount.ages`, and `older`.
        var ages: [String: Int] = [:]
        var oldest: String?
        var nextDue: String?
        var paused = false
        /// The server has asked for time until then.
        var retryAfterUntil: String?
        /// `closed`, `open` or `half-open`.
        var circuitBreaker = "closed"
        /// The circuit breaker stays open until then.
        var coolDownUntil: String?
        var failures: Int?
        var lastFailure: String?
        /// Upper bound on attempts in flight after a failure; `nil` if the concurrency limit alone bounds them.
        var window: Int?
        /// So many attempts in flight were too many for its server.
        var overload: Int?
        var lastSuccess: String?

        init(_ tally: QueueCount.Tally) {
            let state = tally.state
            destination = tally.destination.name
            func count(_ state: ShownState) -> Int { tally.operations[state] ?? 0 }
            (new, deferred, held, claimed, failed) = (
                count(.new), count(.deferred), count(.held), count(.claimed), count(.failed)
            )
            for (word, _) in QueueCount.ages { ages[word] = tally.ages[word] ?? 0 }
            oldest = tally.oldest?.rfc3339
            nextDue = tally.next?.rfc3339
            paused = state.isPaused
            if case .closed(let block) = tally.availability {
                switch block.reason {
                case .retryAfter: retryAfterUntil = block.until?.rfc3339
                case .circuitBreaker: coolDownUntil = block.until?.rfc3339
                case .held, .paused: break
                }
            }
            if state.coolDowns > 0 {
                circuitBreaker = if case .closed = tally.availability { "open" } else { "half-open" }
            }
            failures = state.failures > 0 ? state.failures : nil
            lastFailure = state.lastFailure
            window = state.window
            overload = state.overload?.inFlight
            lastSuccess = state.lastSuccess?.rfc3339
        }
    }

    /// A destination that nothing is sent to until somebody or something ends it.
    struct Hold: Encodable {
        var destination: String
        var reason: String
        var since: String
        var byHand: Bool
        /// When it is tried with one operation; none where only a person ends it, or while it is paused.
        var nextProbe: String?
        var operations: Int
    }

    var at: String
    var queue: String
    var paused: Bool
    var states: [String: Int] = [:]
    var destinations: [Row] = []
    var holds: [Hold] = []
    /// Operations that are held although their destination is not.
    var heldByThemselves = 0
    /// Operations that are held behind one of their sequence that failed for good.
    var heldBehindFailed = 0
    var oldest: String?
    var nextDue: String?
    /// Waiting operations that may be tried now.
    var due = 0
    /// Waiting operations that an older one of their sequence goes before.
    var behind = 0
    /// Waiting operations that a newer one stands for.
    var superseded = 0
    /// Waiting operations that go with a newer one, in one request.
    var merged = 0
    /// Waiting operations that need a value which no answer has left for their key.
    var lackingKept = 0
    /// Why a run would attempt nothing now: the configuration's conditions, or a network that is away.
    var conditions: String?
    /// What this machine has of a network now: a `NetworkKind`.
    var network = NetworkKind.online.rawValue
    /// Operations that runs and `send` have delivered, since the queue is there.
    var deliveredTotal = 0
    /// When the last of them was delivered.
    var lastSuccess: String?
    var lastRun: SummaryView?
}

extension QueueStatus.Hold {
    /// `nil` if the destination is not held.
    init?(_ tally: QueueCount.Tally, at now: Timestamp) {
        guard let hold = tally.state.hold else { return nil }
        destination = tally.destination.name
        (reason, since, byHand) = (hold.reason, hold.since.rfc3339, hold.isByHand)
        operations = tally.operations[.held] ?? 0
        switch tally.availability {
        case .probe: nextProbe = now.rfc3339
        case .closed(let block): nextProbe = block.until?.rfc3339
        case .open: break
        }
    }
}

extension QueueStatus {
    /// Counts a queue, from names alone.
    init(of queue: OpenQueue, at now: Timestamp) throws {
        self.init(at: now.rfc3339, queue: queue.spool.path, paused: try queue.spool.isPaused)
        let known = try queue.knownDestinations()
        let count = try QueueCount(of: queue.spool, queue.configuration, known, at: now)
        for state in ShownState.allCases { states[state.rawValue] = count.states[state] ?? 0 }
        let tallies = count.tallies
        destinations = tallies.map { Row($0) }
        holds = tallies.compactMap { Hold($0, at: now) }
        heldByThemselves = count.heldByThemselves
        heldBehindFailed = count.heldBehindFailed
        merged = count.merged
        lackingKept = count.lackingKept
        due = count.due
        behind = count.behind
        superseded = count.superseded
        oldest = tallies.compactMap(\.oldest).min()?.rfc3339
        nextDue = tallies.compactMap(\.next).min()?.rfc3339
        let counters = try Counters.read(from: queue.spool)
        deliveredTotal = counters.delivered
        lastSuccess =
            ([counters.lastDelivery] + known.states.values.map(\.lastSuccess)).compactMap { $0 }.max()?.rfc3339
        let asked = queue.configuration.conditions
        let (ways, surroundings) = (NetworkWays.read(), Surroundings.read(for: asked, environment: queue.environment))
        network = ways.kind(isMetered: surroundings.isMetered).rawValue
        if case .wait(let reason) = asked.decision(in: surroundings) {
            conditions = reason
        } else if let offline = known.offline {
            conditions = ways.absence(behind: offline.error)?.description
        }
        // A remembered run that cannot be read is no reason to refuse the status.
        lastRun = try StateFile.lastRun.read(SummaryView.self, in: queue.spool)
    }
}
