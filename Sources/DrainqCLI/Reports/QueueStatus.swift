import Delivery
import Drain
import Policy
import Spool

/// The object of `status --json`, schema 1.
struct QueueStatus: JSONObject {
    struct Hold: JSONObject {
        var destination: String
        var hold: DestinationState.Hold
        var nextProbe: Timestamp?
        var operations: Int

        static let fields: [JSONField<Hold>] =
            [.field("destination", .text, "the name of the destination", \.destination)]
            + HoldView.fields.map { $0.of { HoldView(hold: $0.hold) } } + [
                .maybe("nextProbe", .time, "the time of the next probe", \.nextProbe),
                .field("operations", .count, "operations that wait for it", \.operations),
            ]
    }

    var at: Timestamp
    var queue: String
    /// What is known of the queue, which the verdict says in words.
    var health: QueueHealth
    /// Why the configuration cannot be read; `nil` if it can.
    var brokenConfiguration: String?
    var destinations: [QueueCount.DestinationCount] = []
    var behind = 0
    var superseded = 0
    var merged = 0
    var lackingKept = 0
    var network = NetworkKind.online.rawValue
    var deliveredTotal = 0
    var evictedTotal = 0
    var lastRun: SummaryView?

    static let fields: [JSONField<QueueStatus>] = [
        .field("at", .time, "the time of this status", \.at),
        .field("queue", .text, "the queue directory", \.queue),
        .field("verdict", .text, "what is wrong now, or that all is well, or what is not known", \.words.text),
        .field("advice", .text, "who has to act, or the evidence for the verdict", \.words.lede),
        .field(
            "level", .word(HealthWords.Level.allCases.map(\.rawValue)), "how bad that is, as `status --check` says it",
            \.words.level.rawValue),
        .field("inTrouble", .count, "destinations that are held or down", \.health.troubles.count),
        .field("paused", .flag, "whether the queue is paused", \.paused),
        .maybe("pausedSince", .time, "the beginning of the pause of the queue", \.health.pause?.since),
        .maybe("pausedBy", .text, "the user that paused the queue", \.health.pause?.user),
        .field("states", .map(.count), "the operations and files in each state", \.states),
        .field(
            "destinations", .list(.object(QueueCount.DestinationCount.self)), "each destination with its operations",
            \.destinations),
        .field("holds", .list(.object(Hold.self)), "destinations that are held") { status in
            status.destinations.compactMap { Hold($0, at: status.at) }
        },
        .field("heldByThemselves", .count, "operations that are held individually", \.health.heldAlone),
        .field(
            "heldBehindFailed", .count, "operations that are held behind a failed one of their sequence",
            \.health.heldBehind),
        .maybe("oldest", .time, "the creation of the oldest operation that waits or is in flight", \.health.oldest),
        .maybe("nextDue", .time, "the earliest time of the next attempt", \.nextDue),
        .field("due", .count, "operations that are due now; a paused queue has none", \.health.due),
        .field(
            "newFailed", .count, "failed operations that no `retry`, `drop` or `export` has named", \.health.newFailed),
        .field(
            "newQuarantined", .count, "files in quarantine that no `retry` or `drop` has named",
            \.health.newQuarantined),
        .field("unsent", .count, "operations that are due since before runs that came and did not send them", \.unsent),
        .field(
            "unserved", .count, "operations that wait for a kept value that nothing in the queue can leave",
            \.unserved),
        .field("behind", .count, "operations that wait for an older one of their sequence", \.behind),
        .field("superseded", .count, "operations that a newer one replaces; the next run removes them", \.superseded),
        .field("merged", .count, "operations that are merged into a newer one, in one request", \.merged),
        .field("lackingKept", .count, "operations that wait for a kept value", \.lackingKept),
        .maybe("conditions", .text, "why network or power keep a run from making attempts", \.health.conditions),
        .field(
            "network", .word(NetworkKind.allCases.map(\.rawValue)),
            "the network of this machine: none, its own subnets only, a route to other machines, or a metered one; drainq "
                + "looks for metering only if `conditions.network` is `unmetered`", \.network),
        .field(
            "deliveredTotal", .count, "the total of operations that runs and `drainq send` have delivered",
            \.deliveredTotal),
        .field(
            "evictedTotal", .count, "the total of operations that were removed to make room (`limits.whenFull`)",
            \.evictedTotal),
        .maybe("lastSuccess", .time, "the time of the last delivery", \.health.lastSuccess),
        .maybe("lastRunAt", .time, "the time of the last run, also of one that had nothing to do") {
            $0.health.runs.last(at: $0.at)
        },
        .maybe("runInterval", .count, "the usual time between two runs, in seconds") {
            $0.health.runs.interval(at: $0.at).map { Int(saturating: $0.inSeconds) }
        },
        .maybe("lastRun", .object(SummaryView.self), "the summary of the last run that had something to do", \.lastRun),
    ]
}

extension QueueStatus {
    var words: HealthWords {
        var words = HealthWords(health)
        words.brokenConfiguration = brokenConfiguration
        return words
    }

    var paused: Bool { health.pause != nil }
    var states: [String: Int] {
        Dictionary(uniqueKeysWithValues: ShownState.allCases.map { ($0.rawValue, health.states[$0] ?? 0) })
    }
    var nextDue: Timestamp? { destinations.compactMap(\.next).min() }

    fileprivate var unsent: Int { health.unsent?.count ?? 0 }
    fileprivate var unserved: Int { health.unserved?.count ?? 0 }
}

extension QueueStatus.Hold {
    /// Makes the hold of a destination; `nil` if it is not held.
    init?(_ counts: QueueCount.DestinationCount, at now: Timestamp) {
        guard let hold = counts.state.hold else { return nil }
        self.init(destination: counts.name, hold: hold, operations: counts.operations[.held] ?? 0)
        switch counts.availability {
        case .probe: nextProbe = now
        case .blocked(let block): nextProbe = block.until
        case .available: break
        }
    }
}

extension QueueStatus {
    /// Makes the status of a queue. Counts operations by the names of their files alone.
    init(of queue: OpenQueue, at now: Timestamp) throws {
        let known = try KnownDestinations(showing: queue.spool, queue.configuration, at: now)
        let count = try QueueCount(of: queue.spool, queue.configuration, known, at: now)
        let health = try QueueHealth(of: queue.spool, count, known, at: now)
        self.init(at: now, queue: queue.spool.path, health: health)
        brokenConfiguration = queue.configurationFailure?.messages.first?.text
        destinations = count.destinationCounts
        (merged, lackingKept) = (count.merged, count.lackingKept)
        (behind, superseded) = (count.waitingForOlder, count.superseded)
        let counters = try Counters.read(from: queue.spool)
        (deliveredTotal, evictedTotal) = (counters.delivered, counters.evicted)
        // A clock may be a minute fast, as for the times of runs; a later time is of a wrong clock.
        self.health.lastSuccess = [counters.lastDelivery, health.lastSuccess].compactMap(\.self)
            .filter { $0 <= now + .seconds(60) }.max().map { min($0, now) }
        let asked = queue.configuration.conditions
        let networkState = NetworkState.read()
        let surroundings = Surroundings.read(for: asked, environment: queue.programEnvironment)
        network = networkState.kind(isMetered: surroundings.isMetered).rawValue
        if case .wait(let reason) = asked.decision(in: surroundings) {
            self.health.conditions = reason
        } else if let offline = known.offline {
            self.health.conditions = networkState.absence(behind: offline.error)?.description
        }
        // A record of the last run that cannot be understood does not prevent the status.
        lastRun = try StateFile.lastRun.read(SummaryView.self, in: queue.spool)
    }
}
