package import Policy
package import Spool

extension Counters {
    /// Returns the counters of a queue; none if the ledger of reports cannot be decoded.
    package static func read(from spool: SpoolDirectory) throws(SpoolError) -> Counters {
        (try StateFile.reports.read(ReportLedger.self, in: spool) ?? ReportLedger()).counters.orEarlier(in: spool)
    }

    /// Returns the counters; those of an earlier version, which had a file for them, if nothing has been counted since.
    package func orEarlier(in spool: SpoolDirectory) -> Counters {
        // try?: the counters begin at 0 again.
        isEmpty ? (try? StateFile.metrics.read(Counters.self, in: spool)) ?? self : self
    }

    /// Counts an event of a run or of `send`.
    package mutating func take(_ event: RunEvent, at now: Timestamp) {
        switch event {
        case .attempted(let attempt):
            count(.attempts, at: attempt.destination, now)
            count(attempt, now)
        case .settledUnsent(let attempt), .foundEnded(let attempt): count(attempt, now)
        case .superseded(_, by: _, let destination): count(.superseded, at: destination, now)
        case .evicted(_, let destination): count(.evicted, at: destination, now)
        case .quarantined: countQuarantined(1)
        case .recovered(let recovery): countQuarantined(recovery.quarantined.count)
        case .chosen, .notKept, .stopping, .changed, .parked, .withheld, .networkAbsent, .inputOutputError,
            .agentsFailed:
            break
        }
    }

    private mutating func count(_ attempt: AttemptEvent, _ now: Timestamp) {
        switch attempt.settlement.disposition {
        case .delivered: count(.delivered, at: attempt.destination, now)
        case .deferred: count(.deferred, at: attempt.destination, now)
        case .failed:
            count(.failed, at: attempt.destination, now)
            if attempt.record.ruleCode == .expired { count(.expired, at: attempt.destination, now) }
        case .superseded: count(.superseded, at: attempt.destination, now)
        // Quarantine has an event of its own.
        case .putBack, .held, .quarantined: break
        }
    }
}
