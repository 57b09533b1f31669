/// Names operations that are attempted one after the other, never two at once. All of a sequence go to one destination.
package enum SequenceKey: Hashable, Sendable {
    /// All operations of the destination on routes with `ordering: strict`, whatever their type.
    case destination(Digest)
    /// Operations of one key to one destination: of one type, or of every type whose route orders by key (`nil`).
    case key(Digest, of: TypeName?, to: Digest)
}

/// What a name says of an operation's place among others: a name to keep, or one of a listing.
package protocol SequencedName {
    var createdAt: Timestamp { get }
    var id: OperationID { get }
    var type: TypeName { get }
    var keyDigest: Digest? { get }
    var gate: EntryName.Gate { get }
}

extension EntryName: SequencedName {}

extension ListedName: SequencedName {
    package var type: TypeName { TypeName(self) }
}

extension Route {
    /// The sequence that an entry of this route belongs to; `nil` where it waits for no other.
    ///
    /// - `strict` orders the destination: all operations of the routes that say so and lead to the same destination are
    ///   one sequence, so a customer that is created by one type comes before the order that another type adds to it. Routes
    ///   to the same destination that do not say so take no part in it.
    /// - `key`: those of one key, whatever their types: a note that one type inserts is there before another updates it.
    /// - Coalescing with ordering `any` or `newest`: those of one type and key; a profile is not replaced by its settings.
    ///
    /// An operation without a key is in no sequence. One whose own url leads elsewhere is in another: it is another thing
    /// that it changes.
    package func sequence(of name: some SequencedName, to destination: Destination) -> SequenceKey? {
        switch ordering {
        case .strict: .destination(destination.digest)
        case .key: name.keyDigest.map { .key($0, of: nil, to: destination.digest) }
        case .any, .newest: coalesce ? group(of: name, to: destination) : nil
        }
    }

    /// The operations of which the newest replaces the others where the route coalesces; `nil` without a key.
    package func group(of name: some SequencedName, to destination: Destination) -> SequenceKey? {
        name.keyDigest.map { .key($0, of: name.type, to: destination.digest) }
    }
}
