/// Confirms a choice after two listings with different names. Takes in every name of the queue once more, then says
/// which of the chosen operations may be sent.
///
/// Confirms an operation of a sequence in doubt if it precedes every name that is neither chosen nor superseded, so
/// none overtakes an older one. The third listing has every name that was there at the end of the second listing,
/// unless it was renamed meanwhile; a name added later stands behind the chosen ones. If the third listing has a file
/// without a name, that file may stand before any operation, and no operation of a sequence in doubt is sent.
///
/// A name is superseded only if the newer operation is still there. Otherwise the name stays, and no newer operation is
/// sent first.
package struct Confirmation: Sendable {
    private let sequences: Set<SequenceKey>
    private let chosen: Set<EntryName>
    /// The superseded names, each with the superseding operation.
    private let superseded: [EntryName: OperationID]
    private let newer: Set<OperationID>
    /// The operations among `newer` that the third listing has met.
    private var present: Set<OperationID> = []
    private var hasUnnamed = false
    /// The oldest name of each sequence that is neither chosen nor superseded.
    private var oldestOther: [SequenceKey: Age] = [:]
    /// The oldest name that each newer operation supersedes, by sequence.
    private var oldestSuperseded: [SequenceKey: [OperationID: Age]] = [:]

    package init(of sequences: Set<SequenceKey>, chosen: Set<EntryName>, superseded: [EntryName: OperationID]) {
        self.sequences = sequences
        self.chosen = chosen
        self.superseded = superseded
        newer = Set(superseded.values)
    }

    /// Takes in a name that waits or is out of reach.
    package mutating func note(_ name: EntryName, of order: RouteOrder, to destination: Destination) {
        guard let sequence = order.sequence(of: name, to: destination), sequences.contains(sequence) else { return }
        if newer.contains(name.id) { present.insert(name.id) }
        if chosen.contains(name) { return }
        let age = Age(name)
        if let newer = superseded[name] {
            oldestSuperseded[sequence, default: [:]].merge([newer: age], uniquingKeysWith: min)
        } else {
            oldestOther[sequence] = min(oldestOther[sequence] ?? age, age)
        }
    }

    /// Takes in a file without a name.
    package mutating func noteUnnamed() { hasUnnamed = true }

    /// Whether a chosen operation may be sent in this pass.
    package func confirms(_ name: EntryName, in sequence: SequenceKey?) -> Bool {
        guard let sequence else { return true }
        if hasUnnamed, sequences.contains(sequence) { return false }
        if let other = oldestOther[sequence], other <= Age(name) { return false }
        let staying = oldestSuperseded[sequence]?.filter { !present.contains($0.key) } ?? [:]
        return staying.values.allSatisfy { Age(name) < $0 }
    }

    /// Whether an operation may be settled as superseded by `newer`.
    package func confirms(supersededBy newer: OperationID, in sequence: SequenceKey?) -> Bool {
        guard let sequence, sequences.contains(sequence) else { return true }
        return present.contains(newer)
    }
}
