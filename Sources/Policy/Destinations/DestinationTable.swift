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
        var origin: Destination?

        init(_ route: Route) {
            origin = route.origin.map { Destination(named: $0.description) }
            destination = route.destination.map { Destination(named: $0) } ?? origin ?? Destination(named: "no url")
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
    /// The origins of the endpoints of tokens.
    private let endpoints: Set<Digest>

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
            let destination = Destination(named: Origin(url: name)?.description ?? name)
            settings[destination.digest] = value
            known[destination.digest] = destination.name
        }
        for place in [fallback] + byType.values {
            known[place.destination.digest] = place.destination.name
            if let origin = place.origin { known[origin.digest] = origin.name }
        }
        for name in names { known[Digest(of: name)] = name }
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
        endpoints = Set(
            configuration.secrets.values.compactMap { source in
                guard case .oauth2(let oauth2) = source else { return nil }
                return Origin(url: oauth2.tokenURL).map { Digest(of: $0.description) }
            })
    }

    package func destination(of name: EntryName) -> Destination {
        destination(of: name.type, origin: name.originDigest)
    }

    /// Returns the destination of an operation that has been read, and whose own url may be all that names it.
    package func destination(of name: EntryName, url: String?) -> Destination {
        let destination = destination(of: name)
        guard let origin = url.flatMap({ Origin(url: $0)?.description }), Digest(of: origin) == destination.digest
        else { return destination }
        return Destination(named: origin)
    }

    /// Returns the destination of operations of a type, with the origin of their own url if they have one.
    package func destination(of type: TypeName, origin: Digest?) -> Destination {
        let place = byType[type] ?? fallback
        guard let origin, origin != place.origin?.digest else { return place.destination }
        return destination(of: origin)
    }

    /// Returns the destination with this digest, under its name if the name is known.
    package func destination(of digest: Digest) -> Destination {
        Destination(digest: digest, name: names[digest] ?? "origin \(digest)")
    }

    /// Returns the destination that a person means by a name: a known destination, or any origin
    /// (`https://api.example.com`, in any spelling); otherwise `nil`.
    ///
    /// A host and port name an origin if they fit only one.
    package func destination(named name: String) -> Destination? {
        if names[Digest(of: name)] != nil { return Destination(named: name) }
        if let origin = Origin(url: name) { return Destination(named: origin.description) }
        let fitting = names.values.filter { $0.ends(with: "://\(name.lowercased())") }
        return fitting.count == 1 ? Destination(named: fitting.first!) : nil
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

    /// Whether a route leads to the destination, or its tokens come from there.
    package func isNamed(_ destination: Digest) -> Bool { leads[destination] != nil || endpoints.contains(destination) }

    /// Returns the routes that lead to the destination, which a hold can be blamed on: the default route first, then in
    /// the order of their types. If no route leads there, returns those whose operations may have their own url.
    package func routes(of destination: Digest) -> [Lead] { leads[destination] ?? open }
}

extension Route {
    /// The origin of the route's url; `nil` if there is no url, or one that cannot be requested.
    package var origin: Origin? { url.flatMap { Origin(url: $0) } }

    fileprivate var leadsSomewhere: Bool { destination != nil || origin != nil }
}
