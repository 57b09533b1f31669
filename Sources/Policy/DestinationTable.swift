/// Finds the destination of an entry from its name alone, for a million names in a run.
package struct DestinationTable: Sendable {
    private let defaultKey: Digest?
    private let keys: [TypeName: Digest?]

    package init(_ configuration: Configuration) {
        defaultKey = configuration.defaultRoute.origin?.digest
        keys = configuration.routes.mapValues { $0.origin?.digest }
    }

    /// The digest of the destination's origin: of the operation's own url where the name has it, else of the route its
    /// type has today. `nil` when there is no url for this type, so that nothing can be sent.
    package func key(of name: EntryName) -> Digest? {
        if let own = name.originDigest { return own }
        return keys[name.type] ?? defaultKey
    }
}

extension Route {
    /// The destination of the route; `nil` where it has no url, or one that cannot be requested.
    package var origin: Origin? {
        url.flatMap { Origin(url: $0) }
    }
}
