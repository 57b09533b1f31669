package import Policy
package import Spool

/// An event of an operator's change, for the caller to report.
package enum OperationChangeEvent {
    /// No operation and no file has this name.
    case missing(NamedTarget)
    /// The number of files in `new/` that no run has read yet. A filter cannot choose them.
    case unread(Int)
    /// The operations that the filter chose and the action cannot change.
    case skipped([Entry])
    /// `entry` is the entry before the change. `due` is the due time given by the action; `nil` for none.
    case changed(_ entry: Entry, due: Timestamp?)
    case refused(Entry, OperatorAction.Objection)
    /// The file has left quarantine.
    case changedFile(QuarantineItem, due: Timestamp?)
    /// The file stays in quarantine. `reason` is `nil` if the action changes no files in quarantine.
    case refusedFile(QuarantineItem, reason: String?)
    /// The file stays in quarantine. It is an operation that `retry` leaves alone.
    case leftFile(QuarantineItem, OperatorAction.Objection)
    case fileGone(QuarantineItem)
    /// The operations that left the queue for files back from quarantine.
    case madeRoom(Accepted)
    /// The number of operations no longer held behind a failed operation.
    case released(Int)
}
