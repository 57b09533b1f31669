import Policy
import Spool

/// The result of one listing of the queue.
struct Pass {
    /// An older value of a key.
    struct Superseded {
        var entry: Entry
        /// The newer operation that stands for it.
        var newer: OperationID
        var sequence: SequenceKey
        /// Whether the newer operation carries its changes instead of replacing it.
        var isMerged = false
    }

    /// The chosen operations, in dispatch order.
    var chosen: [Candidate] = []
    /// The number of operations that are due, but beyond the limit.
    var leftDue = 0
    /// The number of operations that wait for a time: their own, or that of their destination. Those that wait for a
    /// person are not counted.
    var waiting = 0
    var nextDue: Timestamp?
    var superseded: [Superseded] = []
    /// Expired, by their route, behind a destination that is closed or while they waited for a kept value; no more than the
    /// limit.
    var expired: [Candidate] = []
    /// The number of expired operations beyond the limit.
    var leftExpired = 0
    /// The number of due operations held behind one of their sequence that failed for good.
    var heldBehindFailed = 0
    /// The number of files in `new/` whose names are not canonical.
    var foreign = 0
    /// The start of the listing, by the monotonic clock.
    let began: ContinuousClock.Instant
    /// The duration of the listing. The wait for the next one is proportional to it.
    var cost: Duration = .zero

    /// Whether there is nothing to claim.
    var isEmpty: Bool { chosen.isEmpty && expired.isEmpty && superseded.allSatisfy(\.isMerged) }

    /// Takes in one that has expired, up to `limit`.
    mutating func expire(_ candidate: Candidate, limit: Int) {
        if expired.count < limit { expired.append(candidate) } else { leftExpired += 1 }
    }

    mutating func mayComeDue(_ moment: Timestamp) {
        nextDue = min(nextDue ?? moment, moment)
    }
}
