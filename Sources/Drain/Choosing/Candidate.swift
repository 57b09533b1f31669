import Policy
import Spool

/// A due operation, with its destination and its place in its sequence.
///
/// A class, because tens of thousands are sorted and passed on.
final class Candidate {
    let entry: Entry
    let destination: Destination
    let sequence: SequenceKey?
    /// Whether no operation of its sequence precedes it.
    let isHead: Bool

    init(entry: Entry, destination: Destination, sequence: SequenceKey?, isHead: Bool) {
        self.entry = entry
        self.destination = destination
        self.sequence = sequence
        self.isHead = isHead
    }

    convenience init(
        _ name: ListedName, in state: QueueState, _ sequence: SequenceKey?, isHead: Bool, _ kind: OperationKinds.Kind
    ) {
        self.init(
            entry: Entry(state: state, name: EntryName(name)), destination: kind.destination, sequence: sequence,
            isHead: isHead)
    }

    /// The sort key of the last request: the time for which the operation was deferred then.
    var lastRequest: Timestamp {
        if case .retryAt(let time) = entry.name.gate { time } else { Timestamp(microseconds: .min) }
    }

    /// The sort key of age: the older of two candidates has the smaller key.
    var age: (Timestamp, OperationID) { (entry.name.createdAt, entry.name.id) }
}
