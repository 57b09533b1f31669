import Policy
import Spool

/// A run's record of single operations: deferred, set aside, lost to other runs, or sent apart.
final class OperationBook {
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
    /// Whether to list the queue again: older operations now go before an operation that was put back, another run has
    /// claimed chosen operations, or an answer has left a value for waiting operations.
    var hasToListAgain = false
    let expiries = OwnExpiries()
    /// The reported errors of listings: a later listing meets them again.
    var toldErrors: Set<SpoolError> = []
    /// Whether there is room to keep values; `nil` before the first check.
    var hasRoomToKeep: Bool?
    /// The older operations merged with each operation of this pass, oldest first.
    private var mergedInto: [OperationID: [Entry]] = [:]

    /// Records the operations whose claims a pass has lost. `hasWonAny`: the pass has won other claims.
    func passOver(_ lost: Set<OperationID>, hasWonAny: Bool) {
        claimsLost = hasWonAny ? lost : claimsLost.union(lost)
    }

    /// Returns the older operations merged into this operation, oldest first; `nil` if there are none.
    func merged(into id: OperationID) -> [Entry]? { mergedInto[id] }

    /// The most operations merged by one request. Bounds the time until the run hears a signal.
    private static let mostMerged = 1_000

    /// Moves the operations to be merged out of the superseded ones of a pass. If a key has more operations than a
    /// request takes, the oldest of them go first, under the newest of these, and the run lists again.
    func takeMerged(of pass: inout Pass) {
        mergedInto = [:]
        for older in pass.superseded where older.isMerged { mergedInto[older.newer, default: []].append(older.entry) }
        if mergedInto.isEmpty { return }
        pass.removeSuperseded(where: \.isMerged)
        for id in mergedInto.keys {
            mergedInto[id]!.sort { ($0.name.createdAt, $0.name.id) < ($1.name.createdAt, $1.name.id) }
        }
        pass.chosen = pass.chosen.map { candidate in
            let id = candidate.entry.name.id
            guard let older = mergedInto[id], older.count >= Self.mostMerged else { return candidate }
            let leader = older[Self.mostMerged - 1]
            mergedInto[id] = nil
            mergedInto[leader.name.id] = Array(older[..<(Self.mostMerged - 1)])
            hasToListAgain = true
            return Candidate(
                entry: leader, destination: candidate.destination, sequence: candidate.sequence,
                isHead: candidate.isHead)
        }
    }
}
