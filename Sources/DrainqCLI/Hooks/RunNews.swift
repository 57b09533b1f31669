import Drain
import Policy
import Spool

/// The events of a run for hooks. A hold that begins and ends within the run is no event. Only some superseded
/// operations are events: `RunSummary.superseded` counts all.
struct RunNews {
    private struct Key: Hashable {
        var event: Hooks.Event
        var destination: String?
    }

    private var news: [Key: HookNews] = [:]
    /// Whether a hook takes deliveries. Without one they are not collected, so that memory stays bounded.
    private let collectsDeliveries: Bool

    init(for hooks: Hooks, after earlier: RunNews? = nil) {
        collectsDeliveries = hooks.commands[.delivered] != nil
        news = earlier?.news ?? [:]
    }

    /// Adds the start of a run that has `count` due operations.
    mutating func started(_ count: Int) {
        add(HookNews(.started, reason: "\(count) \(count == 1 ? "operation is" : "operations are") due"))
    }

    mutating func ended(_ words: String) {
        add(HookNews(.ended, reason: words))
    }

    mutating func take(_ event: RunEvent) {
        switch event {
        case .destinationHeld(let destination, let record, _):
            if !withdraw(.released, destination) { add(HookNews(.held, destination, reason: record.cause)) }
        case .holdEnded(let destination):
            if !withdraw(.held, destination) {
                add(
                    HookNews(
                        .released, destination,
                        reason: "an operation was delivered, or the cause of the hold has changed"))
            }
        case .attempted(let attempt), .settledUnsent(let attempt):
            if attempt.hasFailed {
                add(HookNews(.failed, attempt.destination, reason: attempt.record.cause, ids: ["\(attempt.id)"]))
            } else if collectsDeliveries, case .delivered = attempt.settlement.disposition {
                add(HookNews(.delivered, attempt.destination, reason: attempt.record.cause, ids: ["\(attempt.id)"]))
            }
        case .quarantined(let item): quarantined(item)
        case .recovered(let recovery): for item in recovery.quarantined { quarantined(item) }
        case .chosen, .notKept, .parked, .networkAbsent, .stopping, .superseded, .evicted, .destinationChanged,
            .inputOutputError,
            .agentsFailed:
            break
        }
    }

    /// Returns the destinations that are down or have a backlog, with reasons. Lists the queue only for a hook that
    /// takes backlogs.
    static func conditions(of queue: OpenQueue, at now: Timestamp) throws -> [Hooks.Event: [String: String]] {
        let hooks = queue.configuration.hooks
        var conditions: [Hooks.Event: [String: String]] = [:]
        if !hooks.takes(.down), !hooks.takes(.backlog) { return conditions }
        let known = try queue.knownDestinations()
        if hooks.takes(.down) { conditions[.down] = known.states.compactMapValues { $0.outage(by: hooks, at: now) } }
        guard hooks.takes(.backlog) else { return conditions }
        let counts = try QueueCount(of: queue.spool, queue.configuration, known, at: now).destinationCounts
        let old = counts.compactMap { count -> (String, String)? in
            guard let oldest = count.oldest, now - oldest >= hooks.backlogAfter else { return nil }
            return (count.destination.name, "the oldest operation is of \(oldest.rfc3339)")
        }
        conditions[.backlog] = Dictionary(uniqueKeysWithValues: old)
        return conditions
    }

    /// Returns the news for hooks to take now, and keeps the rest in `state/hooks.json` for a later run. Does not
    /// return news twice.
    ///
    /// `conditions` has what holds now of each of its events.
    mutating func due(
        by hooks: Hooks, in spool: SpoolDirectory, conditions: [Hooks.Event: [String: String]] = [:], at now: Timestamp
    ) throws(SpoolError) -> [HookNews] {
        var due: [HookNews] = []
        try StateFile.hooks.update(HookLedger(), in: spool) { ledger in
            let changed = conditions.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { event, present in
                ledger.changes(of: event, to: present, hooks: hooks)
            }
            due = ledger.take(Array(news.values) + changed, hooks: hooks, at: now)
        }
        news = [:]
        return due
    }

    private mutating func quarantined(_ item: QuarantineItem) {
        add(
            HookNews(
                .quarantined, reason: item.reason ?? "no reason recorded",
                ids: [item.name?.id.description ?? item.fileName]))
    }

    private mutating func add(_ item: HookNews) {
        let key = Key(event: item.event, destination: item.destination)
        if news[key]?.add(item) == nil { news[key] = item }
    }

    private mutating func withdraw(_ event: Hooks.Event, _ destination: String) -> Bool {
        news.removeValue(forKey: Key(event: event, destination: destination)) != nil
    }
}
