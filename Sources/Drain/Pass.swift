import Policy
import Spool

/// What one listing of the queue yields.
struct Pass {
    /// An older value of a key.
    struct Superseded {
        var entry: Entry
        /// The newer operation that stands for it.
        var newer: OperationID
        var sequence: SequenceKey
        /// It is not replaced: the newer one goes with what it changes.
        var isMerged = false
    }

    /// In the order in which to attempt them.
    var chosen: [Candidate] = []
    /// Due, but beyond the limit.
    var leftDue = 0
    /// Waiting for a time that comes by itself: its own, or that of its destination. What waits for a person does not.
    var waiting = 0
    var nextDue: Timestamp?
    var superseded: [Superseded] = []
    /// Expired, by their route, behind a destination that is closed; no more than the limit.
    var expired: [Candidate] = []
    /// How many more of these there are.
    var leftExpired = 0
    /// Due, and held behind one of their sequence that failed for good.
    var heldBehindFailed = 0
    /// Files in `new/` under names of their own.
    var foreign = 0
    /// When the listing began, by the monotonic clock.
    let began: ContinuousClock.Instant
    /// How long it took: the next one waits in proportion.
    var cost: Duration = .zero

    /// Nothing is to be claimed.
    var isEmpty: Bool { chosen.isEmpty && expired.isEmpty && superseded.allSatisfy(\.isMerged) }

    mutating func mayComeDue(_ moment: Timestamp) {
        nextDue = min(nextDue ?? moment, moment)
    }
}
