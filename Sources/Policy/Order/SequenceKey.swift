/// A sequence: operations attempted one after the other, never two at once. All go to one destination.
package enum SequenceKey: Hashable, Sendable {
    /// All operations of the destination on routes with `ordering: strict`, whatever their type.
    case destination(Digest)
    /// Operations of one key to one destination: of one type, or of every type whose route orders by key (`nil`).
    case key(Digest, of: TypeName?, to: Digest)
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

extension Route {
    /// Returns the sequence of an entry of this route; `nil` if the entry waits for no other.
    ///
    /// - `strict`: all operations of strict routes to one destination are one sequence, so one type creates a customer
    ///   before another type adds an order to it. Other routes to the destination take no part.
    /// - `key`: the operations of one key, of any type: one type inserts a note before another type updates it.
    /// - Coalescing with ordering `any` or `newest`: the operations of one type and key. A profile does not replace its
    ///   settings.
    ///
    /// Without a key, an operation is in no sequence unless its route is strict. An operation whose own url leads to
    /// another destination is in another sequence: it changes something else.
    package func sequence(of name: some SequencedName, to destination: Destination) -> SequenceKey? {
        switch ordering {
        case .strict: .destination(destination.digest)
        case .key: name.keyDigest.map { .key($0, of: nil, to: destination.digest) }
        case .any, .newest: coalesce ? group(of: name, to: destination) : nil
        }
    }

    /// Returns the group whose newest operation replaces the others if the route coalesces; `nil` without a key.
    package func group(of name: some SequencedName, to destination: Destination) -> SequenceKey? {
        name.keyDigest.map { .key($0, of: name.type, to: destination.digest) }
    }
}
