/// The sequences in which a dead letter, or an operation in quarantine, holds the operations behind it (`onFailure:
/// "hold"`). Takes in the names in `failed/` and `quarantine/`, then answers. The file itself is the only record of the
/// hold.
package struct FailedSequences: Sendable {
    /// The oldest dead letter of each sequence.
    private var failed: [SequenceKey: Age] = [:]

    package init() {}

    package var isEmpty: Bool { failed.isEmpty }

    /// Takes in the name of a dead letter.
    package mutating func note(_ name: EntryName, of order: RouteOrder, to destination: Destination) {
        guard order.holdsBehindFailed, let sequence = order.sequence(of: name, to: destination) else { return }
        failed[sequence] = min(failed[sequence] ?? Age(name), Age(name))
    }

    /// Returns the dead letter that an operation is held behind; `nil` if there is none.
    package func holder(of name: some SequencedName, of order: RouteOrder, to destination: Destination) -> OperationID?
    {
        if failed.isEmpty { return nil }
        guard let sequence = order.sequence(of: name, to: destination), let oldest = failed[sequence],
            oldest < Age(name)
        else { return nil }
        return oldest.id
    }
}
