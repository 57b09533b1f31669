import Policy

/// What the operations of one type and origin have in common in one listing, worked out once: a million names may follow.
struct Ways {
    final class Way {
        enum Passage {
            case open
            case closed(Opening.Closure?)
        }

        let route: Route
        let destination: Destination
        let longestDelay: Duration
        let isSequential: Bool
        /// Whether anything may go there; `nil` as long as nothing is due.
        var passage: Passage?
        /// Due, and passed over because it is closed; due, and offered to be chosen.
        var skipped = 0
        var offered = 0

        fileprivate init(_ route: Route, _ destination: Destination) {
            self.route = route
            self.destination = destination
            longestDelay = route.longestDelay
            isSequential = route.isSequential
        }
    }

    private struct Key: Hashable {
        var type: TypeName
        var origin: Digest?
    }

    private let configuration: Configuration
    private let destinations: DestinationTable
    private var ways: [Key: Way] = [:]
    /// Most names are of the same kind as the one before.
    private var last: (key: Key, way: Way)?

    init(_ configuration: Configuration, _ destinations: DestinationTable) {
        self.configuration = configuration
        self.destinations = destinations
    }

    var all: some Sequence<Way> { ways.values }

    mutating func way(of name: EntryName) -> Way {
        let key = Key(type: name.type, origin: name.originDigest)
        if let last, last.key == key { return last.way }
        let way = ways[key] ?? Way(configuration.route(of: name.type), destinations.destination(of: name))
        ways[key] = way
        last = (key, way)
        return way
    }
}
