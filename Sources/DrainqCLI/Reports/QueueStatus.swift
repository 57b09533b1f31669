import Delivery
import Drain
import Policy
import Spool

/// The object of `status --json`, schema 1.
struct QueueStatus: JSONObject {
    /// A held destination.
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
    var verdict = ""
    var inTrouble = 0
    var paused: Bool
    var states: [String: Int] = [:]
    var destinations: [QueueCount.DestinationCount] = []
    var holds: [Hold] = []
    var heldByThemselves = 0
    var heldBehindFailed = 0
    var oldest: Timestamp?
    var nextDue: Timestamp?
    var due = 0
    var behind = 0
    var superseded = 0
    var merged = 0
    var lackingKept = 0
    var conditions: String?
    var network = NetworkKind.online.rawValue
    var deliveredTotal = 0
    var lastSuccess: Timestamp?
    var lastRun: SummaryView?

    static let fields: [JSONField<QueueStatus>] = [
        .field("at", .time, "the time of this status", \.at),
        .field("queue", .text, "the queue directory", \.queue),
        .field("verdict", .text, "what is wrong now, the worst first, or that all is well", \.verdict),
        .field("inTrouble", .count, "destinations that are held, down or paused", \.inTrouble),
        .field("paused", .flag, "whether the queue is paused", \.paused),
        .field("states", .map(.count), "the operations and files in each state", \.states),
        .field(
            "destinations", .list(.object(QueueCount.DestinationCount.self)), "each destination with its operations",
            \.destinations),
        .field("holds", .list(.object(Hold.self)), "destinations that are held", \.holds),
        .field("heldByThemselves", .count, "operations that are held individually", \.heldByThemselves),
        .field(
            "heldBehindFailed", .count, "operations that are held behind a failed one of their sequence",
            \.heldBehindFailed),
        .maybe("oldest", .time, "the creation of the oldest operation that waits or is in flight", \.oldest),
        .maybe("nextDue", .time, "the earliest time of the next attempt", \.nextDue),
        .field("due", .count, "operations that are due now", \.due),
        .field("behind", .count, "operations that wait for an older one of their sequence", \.behind),
        .field("superseded", .count, "operations that a newer one replaces; the next run removes them", \.superseded),
        .field("merged", .count, "operations that are merged into a newer one, in one request", \.merged),
        .field("lackingKept", .count, "operations that wait for a kept value", \.lackingKept),
        .maybe("conditions", .text, "why network or power keep a run from making attempts", \.conditions),
        .field(
            "network", .word(NetworkKind.allCases.map(\.rawValue)),
            "the network of this machine: none, its own subnets only, a route to other machines, or a metered one; drainq "
                + "looks for metering only if `conditions.network` is `unmetered`", \.network),
        .field(
            "deliveredTotal", .count, "the total of operations that runs and `drainq send` have delivered",
            \.deliveredTotal),
        .maybe("lastSuccess", .time, "the time of the last delivery", \.lastSuccess),
        .maybe("lastRun", .object(SummaryView.self), "the summary of the last run that had something to do", \.lastRun),
    ]
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
        self.init(at: now, queue: queue.spool.path, paused: try queue.spool.isPaused)
        let known = try queue.knownDestinations()
        let count = try QueueCount(of: queue.spool, queue.configuration, known, at: now)
        for state in ShownState.allCases { states[state.rawValue] = count.states[state] ?? 0 }
        let counts = count.destinationCounts
        destinations = counts
        holds = counts.compactMap { Hold($0, at: now) }
        heldByThemselves = count.heldByThemselves
        heldBehindFailed = count.heldBehindFailed
        merged = count.merged
        lackingKept = count.lackingKept
        due = count.due
        behind = count.waitingForOlder
        superseded = count.superseded
        oldest = counts.compactMap(\.oldest).min()
        nextDue = counts.compactMap(\.next).min()
        let counters = try Counters.read(from: queue.spool)
        deliveredTotal = counters.delivered
        lastSuccess =
            ([counters.lastDelivery] + known.states.values.map(\.lastSuccess)).compactMap { $0 }.max()
        let asked = queue.configuration.conditions
        let networkState = NetworkState.read()
        let surroundings = Surroundings.read(for: asked, environment: queue.programEnvironment)
        network = networkState.kind(isMetered: surroundings.isMetered).rawValue
        if case .wait(let reason) = asked.decision(in: surroundings) {
            conditions = reason
        } else if let offline = known.offline {
            conditions = networkState.absence(behind: offline.error)?.description
        }
        let troubles = DestinationTrouble.all(of: self)
        inTrouble = troubles.count
        verdict = DestinationTrouble.verdict(troubles, of: self, at: now)
        // A record of the last run that cannot be understood does not prevent the status.
        lastRun = try StateFile.lastRun.read(SummaryView.self, in: queue.spool)
    }
}
