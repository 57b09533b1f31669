/// The destinations of a configuration, and the destination of an entry from its name alone, for a million names in a
/// run: the route's as the configuration is today, or the operation's own.
///
/// A route leads to the place that it names with `destination`, else to the origin of its url. Routes that name the same
/// place share it, whatever their origins: so the user has said. An operation with a url of its own goes to the
/// destination that is that origin, also where its route names another; but where the origin is the route's own, to the
/// route's.
package struct DestinationTable: Sendable {
    package struct Lead: Hashable, Sendable {
        /// `nil` for the default route.
        package var type: TypeName?
        package var route: Route

        package init(type: TypeName?, route: Route) {
            self.type = type
            self.route = route
        }
    }

    private struct Place {
        var destination: Destination
        var origin: Digest?

        init(_ route: Route) {
            let name = route.origin?.description
            origin = name.map { Digest(of: $0) }
            destination = Destination(named: route.destination ?? name ?? "no url")
        }
    }

    private let byType: [TypeName: Place]
    private let fallback: Place
    private let names: [Digest: String]
    private let settings: [Digest: DestinationSettings]
    private let transportOfEnvironment: Transport?
    private let leads: [Digest: [Lead]]
    /// The routes whose operations may bring a url of their own.
    private let open: [Lead]

    /// `names` are those of destinations that are known from elsewhere, for entries that carry only a digest.
    package init(_ configuration: Configuration, knowing names: [String] = []) {
        let fallback = Place(configuration.defaultRoute)
        let byType = configuration.routes.mapValues { Place($0) }
        self.fallback = fallback
        self.byType = byType

        var known: [Digest: String] = [:]
        var settings: [Digest: DestinationSettings] = [:]
        // In order, so that of two spellings of one origin always the same decides.
        for (name, value) in configuration.destinations.sorted(by: { $0.key < $1.key }) {
            let name = Origin(url: name)?.description ?? name
            settings[Digest(of: name)] = value
            known[Digest(of: name)] = name
        }
        let all = [configuration.defaultRoute] + configuration.routes.values
        for name in names + all.compactMap({ $0.origin?.description })
            + ([fallback] + byType.values).map({
                $0.destination.name
            })
        {
            known[Digest(of: name)] = name
        }
        self.names = known
        self.settings = settings
        transportOfEnvironment = configuration.transportOfEnvironment

        let types = configuration.routes.keys.sorted()
        let routes =
            [Lead(type: nil, route: configuration.defaultRoute)]
            + types.map { Lead(type: $0, route: configuration.routes[$0]!) }
        leads = Dictionary(grouping: routes.filter { $0.route.leadsSomewhere }) {
            ($0.type.flatMap { byType[$0] } ?? fallback).destination.digest
        }
        open = routes.filter { $0.route.overrides.contains(.url) }
    }

    package func destination(of name: EntryName) -> Destination {
        let place = byType[name.type] ?? fallback
        guard let digest = name.originDigest, digest != place.origin else { return place.destination }
        return destination(of: digest)
    }

    /// The destination of that digest, by whatever name is known for it.
    package func destination(of digest: Digest) -> Destination {
        Destination(digest: digest, name: names[digest] ?? "origin \(digest)")
    }

    /// The destination that a person means by that name: one that is known, or any origin (`https://api.example.com`, in
    /// any spelling); else `nil`.
    package func destination(named name: String) -> Destination? {
        if names[Digest(of: name)] != nil { return Destination(named: name) }
        return (Origin(url: name)?.description).map { Destination(named: $0) }
    }

    /// How it is to be treated; the usual way where the configuration says nothing of it.
    package func settings(of destination: Destination) -> DestinationSettings {
        var settings = settings[destination.digest] ?? DestinationSettings()
        settings.transportOfEnvironment = transportOfEnvironment
        return settings
    }

    /// Returns the settings of the origin of a token's endpoint.
    package func settings(ofEndpointOf oauth2: OAuth2) -> DestinationSettings {
        Origin(url: oauth2.tokenURL).map { settings(of: Destination(named: $0.description)) } ?? DestinationSettings()
    }

    /// The routes by which operations get there, the default route first, then in the order of their types: what a hold
    /// can be blamed on. Where no route leads there by itself, those whose operations may bring their own url.
    package func routes(of destination: Digest) -> [Lead] {
        leads[destination] ?? open
    }
}

extension Route {
    /// The origin of the route's url; `nil` where it has no url, or one that cannot be requested.
    package var origin: Origin? {
        url.flatMap { Origin(url: $0) }
    }

    fileprivate var leadsSomewhere: Bool { destination != nil || origin != nil }
}
