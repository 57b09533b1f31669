import Policy

/// What the operations of one type and origin have in common in one listing, worked out once: a million names may follow.
struct Ways {
    final class Way {
        let route: Route
        let destination: Destination
        let longestDelay: Duration
        let isSequential: Bool
        /// Of a type and for a destination that this run is for.
        let isAskedFor: Bool
        /// Where it goes; `nil` as long as nothing is due.
        var lane: Lane?
        /// What of it could still be chosen.
        var reach = Reach.everything
        private let typeBytes: [UInt8]
        private let origin: Digest?

        fileprivate init(_ route: Route, _ destination: Destination, isAskedFor: Bool, _ name: ListedName) {
            self.route = route
            self.destination = destination
            self.isAskedFor = isAskedFor
            longestDelay = route.longestDelay
            isSequential = route.isSequential
            typeBytes = Array(name.typeBytes)
            origin = name.originDigest
        }

        fileprivate func isThat(of name: ListedName) -> Bool {
            origin == name.originDigest && name.typeBytes.elementsEqual(typeBytes)
        }
    }

    private struct Key: Hashable {
        var type: TypeName
        var origin: Digest?
    }

    private let configuration: Configuration
    private let destinations: DestinationTable
    private let types: Set<TypeName>
    private let asked: Set<Digest>
    private var ways: [Key: Way] = [:]
    /// Most names are of the same kind as the one before.
    private var last: Way?

    init(_ configuration: Configuration, _ destinations: DestinationTable, _ options: RunOptions) {
        self.configuration = configuration
        self.destinations = destinations
        types = options.types
        asked = Set(options.destinations.map { Digest(of: $0) })
    }

    mutating func way(of name: ListedName) -> Way {
        if let last, last.isThat(of: name) { return last }
        let key = Key(type: TypeName(name), origin: name.originDigest)
        let way = ways[key] ?? make(key, name)
        last = way
        return way
    }

    private mutating func make(_ key: Key, _ name: ListedName) -> Way {
        let destination = destinations.destination(of: EntryName(name))
        let isAskedFor =
            (types.isEmpty || types.contains(key.type)) && (asked.isEmpty || asked.contains(destination.digest))
        let way = Way(configuration.route(of: key.type), destination, isAskedFor: isAskedFor, name)
        ways[key] = way
        return way
    }
}
