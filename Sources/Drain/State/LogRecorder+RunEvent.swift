package import Policy
import Spool

extension LogRecorder {
    /// Adds what an event of a run changes.
    package mutating func take(_ event: RunEvent, at now: Timestamp) {
        switch event {
        case .attempted(let attempt), .settledUnsent(let attempt): take(attempt, at: now)
        case .quarantined(let item): take(item, at: now)
        case .recovered(let recovery):
            for item in recovery.quarantined { take(item, at: now) }
            for entry in recovery.returned { count(.recovered, "\(entry.name.id)", at: now) }
            for name in recovery.delivered { count(.completed, "\(name.id)", at: now) }
        case .evicted(let name): count(.evicted, "\(name.id)", at: now, type: "\(name.type)")
        case .destinationChanged(let change): add(change)
        case .chosen, .notKept, .stopping, .destinationHeld, .holdEnded, .parked, .networkAbsent, .superseded,
            .inputOutputError, .agentsFailed:
            break
        }
    }

    private mutating func take(_ attempt: AttemptEvent, at now: Timestamp) {
        let record = attempt.record
        self.attempt(attempt.hasFailed ? .failed : record.outcome, at: attempt.destination, now)
        guard attempt.hasFailed else { return }
        count(
            .failed, "\(attempt.id)", at: now, destination: attempt.destination, type: "\(attempt.type)",
            cause: record.causeInWords, status: record.status, group: record.rule)
    }

    private mutating func take(_ item: QuarantineItem, at now: Timestamp) {
        count(
            .quarantined, item.name.map { "\($0.id)" } ?? item.fileName, at: now, type: item.name.map { "\($0.type)" },
            cause: item.reason, group: item.reason.map(Self.group))
    }
}

extension AttemptRecord {
    /// The words of the server if there are any, else the error or the rule that decided. Secrets are redacted.
    fileprivate var causeInWords: String { excerpt ?? error ?? rule }
}
