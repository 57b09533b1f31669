import Delivery
import Policy
import Spool

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
        /// How many of those that wait are younger than each of `QueueStatus.ages`, and `older`.
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
        var lastSuccess: String?

        init(_ destination: Destination, _ state: DestinationState, _ availability: Availability) {
            self.destination = destination.name
            paused = state.isPaused
            for (word, _) in QueueStatus.ages { ages[word] = 0 }
            if case .closed(let block) = availability {
                switch block.reason {
                case .retryAfter: retryAfterUntil = block.until?.rfc3339
                case .circuitBreaker: coolDownUntil = block.until?.rfc3339
                case .held, .paused: break
                }
            }
            if state.coolDowns > 0 { circuitBreaker = if case .closed = availability { "open" } else { "half-open" } }
            failures = state.failures > 0 ? state.failures : nil
            lastFailure = state.lastFailure
            window = state.window
            lastSuccess = state.lastSuccess?.rfc3339
        }
    }

    /// The groups of an age × destination table; the last one has no end.
    static let ages: [(word: String, limit: Duration)] =
        ["1m", "5m", "1h", "6h", "1d", "3d"].map { ($0, Duration(quantity: $0)!) } + [("older", .seconds(Int64.max))]

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

extension QueueStatus {
    /// Counts a queue, from names alone.
    init(of queue: OpenQueue, at now: Timestamp) throws {
        self.init(at: now.rfc3339, queue: queue.spool.path, paused: try queue.spool.isPaused)
        let known = try queue.knownDestinations()
        var count = Count(known, try WaitReasons(queue, known, at: now), at: now)
        for state in QueueState.allCases where state != .quarantine {
            let foreign = try queue.spool.forEachEntry(in: state) { count.take($0) }
            if state == .new {
                // They become operations of the default type as soon as a run comes.
                count.states[.new, default: 0] += foreign
                count.due += foreign
            }
        }
        count.states[.quarantined] = try queue.spool.quarantined().count
        for state in ShownState.allCases { states[state.rawValue] = count.states[state] ?? 0 }
        count.takeRemembered()
        destinations = count.rows
        holds = count.holds
        heldByThemselves = count.heldByThemselves
        heldBehindFailed = count.heldBehindFailed
        merged = count.merged
        due = count.due
        behind = count.behind
        superseded = count.superseded
        oldest = count.tallies.values.compactMap(\.oldest).min()?.rfc3339
        nextDue = count.tallies.values.compactMap(\.next).min()?.rfc3339
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
        if let bytes = try queue.spool.readState("last-run.json") {
            lastRun = try? JSONDecoder().decode(SummaryView.self, from: Data(bytes))
        }
    }

    /// The counting: one pass over all names.
    private struct Count {
        struct Tally {
            var destination: Destination
            var availability: Availability
            var row: Row
            var oldest: Timestamp?
            var next: Timestamp?
        }

        let known: KnownDestinations
        let now: Timestamp
        var waitReasons: WaitReasons
        var states: [ShownState: Int] = [:]
        var tallies: [Digest: Tally] = [:]
        var heldByThemselves = 0
        var heldBehindFailed = 0
        var due = 0
        var behind = 0
        var superseded = 0
        var merged = 0

        init(_ known: KnownDestinations, _ waitReasons: WaitReasons, at now: Timestamp) {
            self.known = known
            self.waitReasons = waitReasons
            self.now = now
        }

        var rows: [Row] {
            tallies.values.map { tally in
                var row = tally.row
                row.oldest = tally.oldest?.rfc3339
                row.nextDue = tally.next?.rfc3339
                return row
            }.sorted { $0.destination < $1.destination }
        }

        var holds: [Hold] {
            tallies.values.compactMap { tally in
                guard let hold = known.states[tally.destination.name]?.hold else { return nil }
                var probe: Timestamp?
                switch tally.availability {
                case .probe: probe = now
                case .closed(let block): probe = block.until
                case .open: break
                }
                return Hold(
                    destination: tally.destination.name, reason: hold.reason, since: hold.since.rfc3339,
                    byHand: hold.isByHand, nextProbe: probe?.rfc3339, operations: tally.row.held)
            }.sorted { $0.destination < $1.destination }
        }

        private func tally(of destination: Destination) -> Tally {
            if let tally = tallies[destination.digest] { return tally }
            let availability = known.availability(of: destination, at: now)
            let state = known.states[destination.name] ?? DestinationState()
            return Tally(
                destination: destination, availability: availability, row: Row(destination, state, availability))
        }

        /// Destinations for which nothing waits have their row too.
        mutating func takeRemembered() {
            for (name, state) in known.states where !state.isBlank {
                let destination = Destination(named: name)
                tallies[destination.digest] = tally(of: destination)
            }
        }

        mutating func take(_ entry: Entry) {
            let destination = known.table.destination(of: entry.name)
            let state = ShownState(of: entry, isHeldWithOthers: known.holds(entry.name))
            states[state, default: 0] += 1
            var tally = tally(of: destination)
            defer { tallies[destination.digest] = tally }
            switch state {
            case .new: tally.row.new += 1
            case .deferred: tally.row.deferred += 1
            case .claimed: tally.row.claimed += 1
            case .held:
                tally.row.held += 1
                if known.isHeld(destination) { break }
                if entry.name.isHeld { heldByThemselves += 1 } else { heldBehindFailed += 1 }
            case .failed: tally.row.failed += 1
            case .quarantined, .delivered: return
            }
            if state == .failed { return }
            tally.oldest = min(tally.oldest ?? entry.name.createdAt, entry.name.createdAt)
            let age = now - entry.name.createdAt
            let group = QueueStatus.ages.first { age < $0.limit }?.word ?? "older"
            tally.row.ages[group, default: 0] += 1
            guard let waiting = waitReasons.waiting(of: entry) else { return }
            switch waiting {
            case .older: behind += 1
            case .newer: superseded += 1
            case .merged: merged += 1
            case .failed, .nothing, .time, .person, .destination, .witness, .resume: break
            }
            guard let time = waiting.until(now) else { return }
            if time <= now { due += 1 }
            tally.next = min(tally.next ?? time, max(time, now))
        }
    }
}
