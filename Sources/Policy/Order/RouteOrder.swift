/// What a route says about the order of its operations: the few bytes that are asked for each name of a listing.
package struct RouteOrder: Hashable, Sendable {
    package let ordering: Ordering
    /// Whether a newer operation of the same key replaces older ones, or carries their changes.
    package let coalesces: Bool
    package let mergesPayloads: Bool
    /// How long a value waits for a newer one of its key; `nil` if it does not.
    let debounce: Debounce?
    private let onFailure: OnFailure

    fileprivate init(_ route: Route) {
        ordering = route.ordering
        coalesces = route.coalesce
        mergesPayloads = route.mergesPayloads
        debounce = route.coalesce ? route.debounce.map(Debounce.init) : nil
        onFailure = route.onFailure
    }

    /// Whether operations of one key, or of the whole destination, wait for each other.
    package var isSequential: Bool { coalesces || ordering.isStrict }

    /// Whether a newer operation supersedes older ones, which are not sent.
    package var replacesOlder: Bool { coalesces && !mergesPayloads }

    /// Whether a dead letter holds the operations behind it in its sequence.
    package var holdsBehindFailed: Bool { onFailure == .hold && ordering.isStrict }

    /// Returns the sequence of an entry of the route; `nil` if the entry waits for no other.
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
        case .any, .newest: coalesces ? group(of: name, to: destination) : nil
        }
    }

    /// Returns the group whose newest operation replaces the others if the route coalesces; `nil` without a key.
    package func group(of name: some SequencedName, to destination: Destination) -> SequenceKey? {
        name.keyDigest.map { .key($0, of: name.type, to: destination.digest) }
    }
}

extension Route {
    package var order: RouteOrder { RouteOrder(self) }
    package var isSequential: Bool { order.isSequential }
    package var holdsBehindFailed: Bool { order.holdsBehindFailed }
}
