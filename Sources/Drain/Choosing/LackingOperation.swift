import Policy
import Spool

/// An operation of a listing that waits for a value of an answer to another one (`keep`).
struct LackingOperation {
    let candidate: Candidate
    /// `ListedName.mark` of its name.
    let mark: UInt64
    let kind: OperationKinds.Kind
    /// The name of the value.
    let value: String

    var createdAt: Timestamp { candidate.entry.name.createdAt }
}
