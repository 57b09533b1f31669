/// A sequence: operations attempted one after the other, never two at once. All go to one destination.
package enum SequenceKey: Hashable, Sendable {
    /// All operations of the destination on routes with `ordering: strict`, whatever their type.
    case destination(Digest)
    /// Operations of one key to one destination: of one type, or of every type whose route orders by key (`nil`).
    case key(Digest, of: TypeName?, to: Digest)

    package var destination: Digest {
        switch self {
        case .destination(let digest), .key(_, of: _, to: let digest): digest
        }
    }
}

/// The parts of an `EntryName` or a `ListedName` that decide whether an operation goes, and its place among others.
package protocol SequencedName {
    var createdAt: Timestamp { get }
    var id: OperationID { get }
    var type: TypeName { get }
    var keyDigest: Digest? { get }
    var gate: EntryName.Gate { get }
    var isHeld: Bool { get }
    var attempts: Int { get }
    var entryName: EntryName { get }
}

extension EntryName: SequencedName {
    package var entryName: EntryName { self }
}

extension ListedName: SequencedName {
    package var type: TypeName { TypeName(self) }
    package var entryName: EntryName { EntryName(self) }
}
