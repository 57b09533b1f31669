/// A named place that requests go to, as a run tells one from another.
package struct Destination: Hashable, Sendable {
    /// Of the origin's text, so that a name's `o=` and a route's url meet.
    package var digest: Digest
    /// The origin; where only its digest is known, or where there is no url, what stands for it.
    package var name: String
}

/// Finds the destination of an entry from its name alone, for a million names in a run: the route's as the configuration
/// is today, or the operation's own.
package struct DestinationTable: Sendable {
    private let byType: [TypeName: Destination]
    private let fallback: Destination
    private let names: [Digest: String]

    package init(_ configuration: Configuration) {
        let fallback = Self.destination(of: configuration.defaultRoute)
        let byType = configuration.routes.mapValues(Self.destination)
        self.fallback = fallback
        self.byType = byType
        names = Dictionary(
            ([fallback] + byType.values).map { ($0.digest, $0.name) }, uniquingKeysWith: { first, _ in first })
    }

    package func destination(of name: EntryName) -> Destination {
        if let digest = name.originDigest {
            return Destination(digest: digest, name: names[digest] ?? "origin \(digest)")
        }
        return byType[name.type] ?? fallback
    }

    private static func destination(of route: Route) -> Destination {
        let name = route.origin?.description ?? "no url"
        return Destination(digest: Digest(of: name), name: name)
    }
}

extension Route {
    /// The destination of the route; `nil` where it has no url, or one that cannot be requested.
    package var origin: Origin? {
        url.flatMap { Origin(url: $0) }
    }
}
