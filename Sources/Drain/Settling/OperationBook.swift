import Policy
import Spool

/// A run's record of single operations: those it has deferred, set aside, lost to other runs, or sends apart.
final class OperationBook {
    /// Operations that this run deferred or parked, and has not settled since.
    var deferred: Set<OperationID> = []
    /// Operations that this run could not read or settle. The next run tries them again.
    var setAside: Set<OperationID> = []
    /// Operations whose claims were lost in the last pass, and in earlier passes if the last pass won no claim. The
    /// next listing skips these operations: other runs have claimed most of them, and a name that no run can claim does
    /// not delay other operations or the end of this run.
    var claimsLost: Set<OperationID> = []
    /// Groups whose operations are sent one after the other: merging is impossible, or its document was refused.
    var apart: Set<SequenceKey> = []
    /// Whether to list the queue again: older operations now go before one that was put back, another run has claimed
    /// what was chosen, or an answer has left a value that operations wait for.
    var hasToListAgain = false
    let expiries = OwnExpiries()
    /// The errors of listings that have been reported: a later listing meets them again.
    var toldErrors: Set<SpoolError> = []
    /// Whether there is room to keep values; `nil` before the first check.
    var hasRoomToKeep: Bool?
    /// The older operations that each operation of this pass is merged with, oldest first.
    private var mergedInto: [OperationID: [Entry]] = [:]

    /// Records the operations whose claims a pass has lost. `hasWonAny`: the pass has won other claims.
    func passOver(_ lost: Set<OperationID>, hasWonAny: Bool) {
        claimsLost = hasWonAny ? lost : claimsLost.union(lost)
    }

    /// Returns the older operations that are merged into this one, oldest first; `nil` if there are none.
    func merged(into id: OperationID) -> [Entry]? { mergedInto[id] }

    /// The most operations that one request merges. Bounds the time until the run hears a signal.
    private static let mostMerged = 1_000

    /// Moves the operations that are to be merged out of the superseded ones of a pass. If a key has more than one
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
