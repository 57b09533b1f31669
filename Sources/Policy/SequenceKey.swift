/// Names operations that are attempted one after the other, never two at once. All of a sequence go to one destination.
package enum SequenceKey: Hashable, Sendable {
    /// What goes to the destination on routes with `ordering: strict`, whatever its type.
    case destination(Digest)
    /// Operations of one type and one key to one destination.
    case key(Digest, of: TypeName, to: Digest)
}

extension Route {
    /// The sequence that an entry of this route belongs to; `nil` where it waits for no other.
    ///
    /// - `strict` orders the destination: all operations of the routes that say so and lead to the same destination are
    ///   one sequence, so a customer that is created by one type comes before the order that another type adds to it. Routes
    ///   to the same destination that do not say so take no part in it.
    /// - `key`, and coalescing with any ordering but `strict`: those of one type and key. An operation without a key is
    ///   in no sequence. An operation whose own url leads elsewhere is in another one: it is another thing that it changes.
    package func sequence(of name: EntryName, to destination: Destination) -> SequenceKey? {
        switch ordering {
        case .strict: .destination(destination.digest)
        case .key: group(of: name, to: destination)
        case .any: coalesce ? group(of: name, to: destination) : nil
        }
    }

    /// The operations of which the newest replaces the others where the route coalesces; `nil` without a key.
    func group(of name: EntryName, to destination: Destination) -> SequenceKey? {
        name.keyDigest.map { .key($0, of: name.type, to: destination.digest) }
    }
}
