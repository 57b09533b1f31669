import Policy
import Spool

/// A run's record of single operations: those that it has deferred, has set aside, or sends alone.
final class OperationBook {
    /// Operations that this run deferred or parked, and has not seen through since.
    var deferred: Set<OperationID> = []
    /// Operations that this run could not read or settle. The next run tries them again.
    var setAside: Set<OperationID> = []
    /// Operations whose claims were lost in the last pass, and in those before it that won none: the next listing passes them
    /// over. Most are in the hands of a rival; a name that nobody can claim must keep a run neither from the others nor from
    /// its end.
    var lost: Set<OperationID> = []
    /// Groups whose operations cannot be merged, or whose merged document was refused: sent one after the other.
    var apart: Set<SequenceKey> = []
    /// The queue has to be listed again: an operation was put back so that older ones go before it, or rivals have taken
    /// what was chosen.
    var hasToListAgain = false
    let expiries = OwnExpiries()
    /// Whether there is room to keep what answers leave; `nil` until that is first asked.
    var hasRoomToKeep: Bool?
    /// The older operations that each operation of this pass is merged with, oldest first.
    private var mergedInto: [OperationID: [Entry]] = [:]

    /// Notes the operations whose claims a pass has lost.
    func passOver(_ lost: Set<OperationID>, haveOthersBegun: Bool) {
        self.lost = haveOthersBegun ? lost : self.lost.union(lost)
    }

    /// Returns the older operations that this one is merged with, oldest first; `nil` where there are none.
    func merged(into id: OperationID) -> [Entry]? { mergedInto[id] }

    /// Moves the operations that are to be merged out of those that a newer one replaces.
    func takeMerged(of pass: inout Pass) {
        mergedInto = [:]
        for older in pass.superseded where older.isMerged { mergedInto[older.newer, default: []].append(older.entry) }
        if mergedInto.isEmpty { return }
        for id in mergedInto.keys {
            mergedInto[id]!.sort { ($0.name.createdAt, $0.name.id) < ($1.name.createdAt, $1.name.id) }
        }
        pass.superseded.removeAll(where: \.isMerged)
    }
}
