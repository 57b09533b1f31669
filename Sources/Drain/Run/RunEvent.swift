package import Policy
package import Spool

/// An event during a run. Each observer copies it, so it is a single reference.
package indirect enum RunEvent: Sendable {
    /// The number of operations about to be attempted, and the number due beyond the limit.
    case chosen(Int, leftDue: Int)
    case attempted(AttemptEvent)
    /// An operation was settled without a request: it expired, or must not be sent, or its request cannot be made.
    case settledUnsent(AttemptEvent)
    case quarantined(QuarantineItem)
    /// Something has begun or ended, by the difference of the ledger: a destination is down, up, held or released from
    /// now on, or runs come again after a gap.
    case changed(LogEvent)
    /// An operation was refused, and waits for a witness. `times` is the number of its refusals.
    case parked(OperationID, destination: String, record: AttemptRecord, times: Int)
    /// An operation is not sent, and not charged: its own credentials are missing, or were refused, as the reason says.
    case withheld(OperationID, reason: String)
    /// An attempt has shown that this machine has no network. `isNew` is false if an earlier run has found that.
    case networkAbsent(NetworkAbsence, isNew: Bool)
    /// An operation was removed unsent, because a newer operation of its key replaces it.
    case superseded(EntryName, by: OperationID, destination: String)
    /// An operation was evicted (`dropOldest`) to admit a foreign file.
    case evicted(EntryName, destination: String)
    case recovered(Recovery)
    /// A dead run has moved an operation to failed/ or delivered it, and may have told nobody.
    case foundEnded(AttemptEvent)
    /// The answer to a delivered operation lacks a value that its route keeps. Operations that need the value wait.
    case notKept(OperationID, name: String, reason: KeepError)
    /// A signal ends the run: it claims nothing more, and the requests in flight have the grace time to end.
    case stopping(inFlight: Int, grace: Duration)
    case inputOutputError(SpoolError)
    case agentsFailed(String)
}
