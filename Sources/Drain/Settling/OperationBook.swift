import Policy
import Spool

/// A pass's record of single operations: set aside, lost to other runs, or sent apart; and the operations that its run
/// has deferred or held.
struct OperationBook {
    /// Operations deferred or parked by this run, and not settled since. Two files from two queues may have one id.
    var deferred: Set<Age> = []
    /// Operations held by this run, because their outcome is unknown, and not released since.
    var ambiguous: Set<Age> = []
    /// Those of `deferred` that the last listing has not met: other processes have taken or ended them.
    private var gone: Set<Age> = []
    /// Operations that this pass could not read or settle. The next pass tries them again.
    var setAside: Set<OperationID> = []
    /// Operations whose claims were lost in the last pass, and in earlier passes if the last pass won no claim. The
    /// next listing skips these operations: other runs have claimed most of them, and a name that no run can claim does
    /// not delay other operations or the end of this run.
    var claimsLost: Set<OperationID> = []
    /// Operations of the last listing that no run could send when they were opened: older values wait before them.
    var unsound: Set<OperationID> = []
    /// Operations that this pass put back, because their own credentials are missing or refused.
    var withheld: Set<OperationID> = []
    /// Why due operations were put back untried, since the run has last told it: `WithheldOperations`.
    var reasons: [OperationID: String] = [:]
    /// Groups whose operations are sent singly, in order: merging is impossible, or its document was refused.
    var apart: Set<SequenceKey> = []

    /// What a run keeps beyond its passes: what it has made of operations, and what a server has refused.
    var ofRun: OperationBook {
        OperationBook(deferred: deferred, ambiguous: ambiguous, gone: gone, apart: apart)
    }

    /// The number of operations that this run has deferred, and that wait for another run.
    var deferredCount: Int { deferred.subtracting(gone).count }

    /// Takes in which of the run's operations a listing has met.
    mutating func note(standing: Set<Age>) {
        gone = deferred.subtracting(standing)
        ambiguous.formIntersection(standing)
    }

    /// Records the operations whose claims a pass has lost. `hasWonAny`: the pass has won other claims.
    mutating func passOver(_ lost: Set<OperationID>, hasWonAny: Bool) {
        claimsLost = hasWonAny ? lost : claimsLost.union(lost)
    }
}
