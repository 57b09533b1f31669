/// The destinations of a configuration. Finds the destination of an entry by the entry's name alone, for a million
/// names in a run. The current configuration decides.
///
/// A route leads to the destination that it names, otherwise to the origin of its url. Routes that name the same
/// destination share it, whatever their origins. An operation with its own url goes to the origin of that url, even if
/// its route names a destination. If that origin is the route's own, the operation goes to the route's destination.
package struct DestinationTable: Sendable {
    package struct Lead: Hashable, Sendable {
        /// `nil` for the default route.
        package var type: TypeName?
        package var route: Route
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
    /// The routes whose operations may have their own url.
    private let open: [Lead]

    /// Creates the table. `names` are destinations known from elsewhere, for entries that carry only a digest.
    package init(_ configuration: Configuration, knowing names: [String] = []) {
        let fallback = Place(configuration.defaultRoute)
        let byType = configuration.routes.mapValues { Place($0) }
        self.fallback = fallback
        self.byType = byType

        var known: [Digest: String] = [:]
        var settings: [Digest: DestinationSettings] = [:]
        // Sorted, so that of two spellings of one origin the same spelling always decides.
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

    /// Returns the destination with this digest, under its name if the name is known.
    package func destination(of digest: Digest) -> Destination {
        Destination(digest: digest, name: names[digest] ?? "origin \(digest)")
    }

    /// Returns the destination that a person means by a name: a known destination, or any origin
    /// (`https://api.example.com`, in any spelling); otherwise `nil`.
    package func destination(named name: String) -> Destination? {
        if names[Digest(of: name)] != nil { return Destination(named: name) }
        return (Origin(url: name)?.description).map { Destination(named: $0) }
    }

    /// Returns the settings of a destination; the defaults if the configuration has none.
    package func settings(of destination: Destination) -> DestinationSettings {
        var settings = settings[destination.digest] ?? DestinationSettings()
        settings.transportOfEnvironment = transportOfEnvironment
        return settings
    }

    /// Returns the settings of the origin of a token's endpoint.
    package func settings(ofEndpointOf oauth2: OAuth2) -> DestinationSettings {
        Origin(url: oauth2.tokenURL).map { settings(of: Destination(named: $0.description)) } ?? DestinationSettings()
    }

    /// Returns the routes that lead to the destination, which a hold can be blamed on: the default route first, then in
    /// the order of their types. If no route leads there, returns those whose operations may have their own url.
    package func routes(of destination: Digest) -> [Lead] {
        leads[destination] ?? open
    }
}

extension Route {
    /// The origin of the route's url; `nil` if there is no url, or one that cannot be requested.
    package var origin: Origin? {
        url.flatMap { Origin(url: $0) }
    }

    fileprivate var leadsSomewhere: Bool { destination != nil || origin != nil }
}
