package import Policy
package import Spool

extension ReportLedger {
    /// Counts what an event of a run tells hooks. Holds and outages are conditions: see `Hooks.conditions`. Deliveries
    /// are counted only for a hook, so that memory stays bounded.
    package mutating func take(_ event: RunEvent, for hooks: Hooks) {
        switch event {
        case .attempted(let attempt), .settledUnsent(let attempt), .foundEnded(let attempt):
            if attempt.hasFailed {
                owe(News(.failed, attempt.destination, reason: attempt.record.cause, ids: ["\(attempt.id)"]))
            } else if hooks.commands[.delivered] != nil, case .delivered = attempt.settlement.disposition {
                owe(News(.delivered, attempt.destination, reason: attempt.record.cause, ids: ["\(attempt.id)"]))
            }
        case .evicted(let name, let destination): owe(.evicted(name, destination))
        case .quarantined(let item): owe(News(item))
        case .recovered(let recovery): for item in recovery.quarantined { owe(News(item)) }
        case .chosen, .changed, .notKept, .parked, .withheld, .networkAbsent, .stopping, .superseded, .inputOutputError,
            .agentsFailed:
            break
        }
    }

    /// Counts a failure for mail. `told` is the ledger of earlier runs. Returns the subject under which it counts.
    @discardableResult
    package mutating func oweMail(of failure: AttemptEvent, knowing told: ReportLedger) -> Subject {
        let subject = told.counted(.mail(Cause(failure.record), at: failure.destination), in: self)
        owe(News(.failed, failure.destination, reason: failure.record.cause), to: subject)
        return subject
    }
}

extension News {
    /// Makes the report of a file that went into quarantine.
    package init(_ item: QuarantineItem) {
        self.init(
            .quarantined, reason: item.reason ?? "no reason recorded",
            ids: [item.name?.id.description ?? item.fileName])
    }
}

extension Hooks {
    /// Returns the destinations that are held, are down or have a backlog, with reasons. Lists the queue only for a
    /// hook that takes backlogs.
    package func conditions(
        of spool: SpoolDirectory, _ configuration: Configuration, at now: Timestamp
    ) throws(SpoolError) -> [Event: [String: HookCondition]] {
        if !takes(.held), !takes(.down), !takes(.backlog) { return [:] }
        let known = try KnownDestinations(of: spool, configuration, at: now)
        var conditions = conditions(of: known, at: now)
        guard takes(.backlog) else { return conditions }
        let counts = try QueueCount(of: spool, configuration, known, at: now).destinationCounts
        let isPaused = try spool.isPaused
        let old = counts.compactMap { count -> (String, HookCondition)? in
            guard let oldest = count.oldest, now - oldest >= backlogAfter else { return nil }
            let reason = "the oldest operation is of \(oldest.rfc3339)"
            return (count.destination.name, HookCondition(reason: reason, mayBegin: !isPaused && !count.state.isPaused))
        }
        conditions[.backlog] = Dictionary(uniqueKeysWithValues: old)
        return conditions
    }

    /// Returns the destinations that are held or are down, with reasons.
    package func conditions(of known: KnownDestinations, at now: Timestamp) -> [Event: [String: HookCondition]] {
        [
            .held: known.states.compactMapValues(\.holdForHooks),
            .down: known.states.compactMapValues { $0.outage(by: self, at: now) },
        ]
    }
}
