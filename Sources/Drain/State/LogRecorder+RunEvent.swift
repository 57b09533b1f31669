package import Policy
import Spool

extension LogRecorder {
    /// Adds what an event of a run changes.
    package mutating func take(_ event: RunEvent, at now: Timestamp) {
        switch event {
        case .attempted(let attempt), .settledUnsent(let attempt), .foundEnded(let attempt): take(attempt, at: now)
        case .quarantined(let item): take(item, at: now)
        case .recovered(let recovery):
            for item in recovery.quarantined { take(item, at: now) }
            for entry in recovery.returned { count(.recovered, "\(entry.name.id)", at: now) }
            for name in recovery.delivered { count(.completed, "\(name.id)", at: now) }
        case .evicted(let name, _): count(.evicted, "\(name.id)", at: now, type: "\(name.type)")
        case .changed(let change): add(change)
        case .chosen, .notKept, .stopping, .parked, .withheld, .networkAbsent, .superseded, .inputOutputError,
            .agentsFailed:
            break
        }
    }

    private mutating func take(_ attempt: AttemptEvent, at now: Timestamp) {
        let record = attempt.record
        self.attempt(attempt.hasFailed ? .failed : record.outcome, at: attempt.destination, now)
        if attempt.hasFailed {
            count(
                .failed, "\(attempt.id)", at: now, destination: attempt.destination, type: "\(attempt.type)",
                cause: Cause(record), group: record.rule)
        } else if record.outcome == .deferred {
            count(.deferred, at: now, destination: attempt.destination, cause: Cause(record))
        }
    }

    private mutating func take(_ item: QuarantineItem, at now: Timestamp) {
        count(
            .quarantined, item.name.map { "\($0.id)" } ?? item.fileName, at: now, type: item.name.map { "\($0.type)" },
            cause: item.reason.map { Cause(words: $0) }, group: item.reason.map(Self.group))
    }
}
