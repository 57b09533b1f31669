import Policy
import Spool

/// A run's record of single operations: deferred, set aside, lost to other runs, or sent apart.
struct OperationBook {
    /// Operations deferred or parked by this run, and not settled since.
    var deferred: Set<OperationID> = []
    /// Operations that this run could not read or settle. The next run tries them again.
    var setAside: Set<OperationID> = []
    /// Operations whose claims were lost in the last pass, and in earlier passes if the last pass won no claim. The
    /// next listing skips these operations: other runs have claimed most of them, and a name that no run can claim does
    /// not delay other operations or the end of this run.
    var claimsLost: Set<OperationID> = []
    /// Groups whose operations are sent singly, in order: merging is impossible, or its document was refused.
    var apart: Set<SequenceKey> = []

    /// Records the operations whose claims a pass has lost. `hasWonAny`: the pass has won other claims.
    mutating func passOver(_ lost: Set<OperationID>, hasWonAny: Bool) {
        claimsLost = hasWonAny ? lost : claimsLost.union(lost)
    }
}
