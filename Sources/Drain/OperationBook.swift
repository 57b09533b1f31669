import Policy
import Spool

/// What a run knows of single operations: which of them it has deferred, has set aside, or sends apart.
final class OperationBook {
    /// Operations that this run deferred or parked, and has not seen through since.
    var deferred: Set<OperationID> = []
    /// Operations that this run could not read or settle. The next run tries them again.
    var setAside: Set<OperationID> = []
    /// Groups whose operations cannot be merged, or whose merged document was refused: sent one after the other.
    var apart: Set<SequenceKey> = []
    /// An operation was put back so that older ones go before it: the queue has to be listed again.
    var hasToListAgain = false
    /// The older operations that each operation of this pass is merged with, oldest first.
    private var mergedInto: [OperationID: [Entry]] = [:]

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
