/// The sequences in which an operation failed for good and holds those behind it (`onFailure: "hold"`): fed with the names
/// in `failed/`, then asked. The failed operation itself is the only record of it.
package struct FailedSequences: Sendable {
    /// The oldest of each sequence.
    private var failed: [SequenceKey: Age] = [:]

    package init() {}

    package var isEmpty: Bool { failed.isEmpty }

    /// Takes in the name of an operation that failed for good.
    package mutating func note(_ name: EntryName, of route: Route, to destination: Destination) {
        guard route.holdsBehindFailed, let sequence = route.sequence(of: name, to: destination) else { return }
        failed[sequence] = min(failed[sequence] ?? Age(name), Age(name))
    }

    /// The failed operation that an operation is held behind; `nil` where it is held behind none.
    package func holder(of name: some SequencedName, of route: Route, to destination: Destination) -> OperationID? {
        if failed.isEmpty { return nil }
        guard let sequence = route.sequence(of: name, to: destination), let oldest = failed[sequence],
            oldest < Age(name)
        else { return nil }
        return oldest.id
    }
}
