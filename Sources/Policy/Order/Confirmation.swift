/// Confirms a choice where two listings have not seen the same names: fed with every name of the queue once more, it then
/// says which of those that were chosen are sent.
///
/// Of each sequence in doubt those are sent that stand before every other name of it, so none overtakes an older one. The
/// third listing has every name that stood there when the second one ended, unless it was renamed meanwhile; one that was
/// added after that entered behind what was chosen. A name is superseded only where the one that supersedes it is still
/// there; otherwise it stays, and nothing newer is sent before it.
package struct Confirmation: Sendable {
    private let sequences: Set<SequenceKey>
    private let chosen: Set<EntryName>
    /// The names that are to be taken away, each with the operation that supersedes it.
    private let superseded: [EntryName: OperationID]
    private let newer: Set<OperationID>
    /// The operations among `newer` that are still there.
    private var present: Set<OperationID> = []
    /// The oldest of each sequence that is neither chosen nor superseded.
    private var oldestOther: [SequenceKey: Age] = [:]
    /// The oldest of each sequence that each newer operation supersedes.
    private var oldestSuperseded: [SequenceKey: [OperationID: Age]] = [:]

    package init(of sequences: Set<SequenceKey>, chosen: Set<EntryName>, superseded: [EntryName: OperationID]) {
        self.sequences = sequences
        self.chosen = chosen
        self.superseded = superseded
        newer = Set(superseded.values)
    }

    /// Takes in one name that waits or is out of reach.
    package mutating func note(_ name: EntryName, of route: Route, to destination: Destination) {
        guard let sequence = route.sequence(of: name, to: destination), sequences.contains(sequence) else { return }
        if newer.contains(name.id) { present.insert(name.id) }
        if chosen.contains(name) { return }
        let age = Age(name)
        if let newer = superseded[name] {
            oldestSuperseded[sequence, default: [:]].merge([newer: age], uniquingKeysWith: min)
        } else {
            oldestOther[sequence] = min(oldestOther[sequence] ?? age, age)
        }
    }

    /// Whether a name that was chosen may be sent in this pass.
    package func confirms(_ name: EntryName, in sequence: SequenceKey?) -> Bool {
        guard let sequence else { return true }
        if let other = oldestOther[sequence], other <= Age(name) { return false }
        let staying = oldestSuperseded[sequence]?.filter { !present.contains($0.key) } ?? [:]
        return staying.values.allSatisfy { Age(name) < $0 }
    }

    /// Whether a name may be taken away because of a newer one.
    package func confirms(supersededBy newer: OperationID, in sequence: SequenceKey?) -> Bool {
        guard let sequence, sequences.contains(sequence) else { return true }
        return present.contains(newer)
    }
}
