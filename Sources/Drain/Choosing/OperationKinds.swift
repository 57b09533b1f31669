import Policy

/// The properties that operations of one type and origin share, computed once for a listing of up to a million names.
struct OperationKinds {
    final class Kind {
        let route: Route
        let destination: Destination
        let longestDelay: Duration
        /// The age from which a waiting operation fails (`WaitBound.expiry`).
        let expiresAfter: Duration?
        /// The same for an operation that waits for a kept value (`WaitBound.age`).
        let longestAge: Duration?
        let order: RouteOrder
        /// The kept values needed by requests of the route.
        let keptNames: Set<String>
        /// Whether answers to operations of the route leave values for others.
        let leavesValues: Bool
        /// Whether its operations, whose key is their chain, wait for older ones of the key.
        var isInLineOfKey: Bool { order.ordering.isStrict && route.chain == nil }
        /// Whether this run sends operations of this type to this destination.
        let isAskedFor: Bool
        /// The destination's operations waiting for a witness, and until when.
        let parked: [Age: Timestamp]
        /// What blocks its destination; `nil` if nothing does, or if a run asks the destination itself.
        let block: Availability.Block?
        /// Why this machine sends nothing to its destination now, likewise.
        let refusal: String?
        /// Whether the listing decides its order.
        var isDecided = false
        /// Its destination within the run; `nil` before the first due or expired operation.
        var runDestination: RunDestination?
        /// The sort keys that the selection of each rank (`Peers.rank`) can still use. They shrink during a listing.
        var bounds: [SortKeyBounds]
        fileprivate let key: Key
        private let typeBytes: [UInt8]

        fileprivate init(
            _ key: Key, _ route: Route, _ destination: Destination, isAskedFor: Bool, _ waits: DestinationWaits,
            _ block: Availability.Block?, _ refusal: String?, ranks: Int
        ) {
            self.key = key
            self.refusal = refusal
            self.block = block
            bounds = Array(repeating: .everything, count: ranks)
            self.route = route
            self.destination = destination
            self.isAskedFor = isAskedFor
            parked = waits.parked
            longestDelay = route.longestDelay(asked: waits.asked)
            expiresAfter = route.expiresAfter
            longestAge = [route.expiresAfter, route.retry.maxAge].compactMap(\.self).min()
            order = route.order
            keptNames = route.keptNames
            leavesValues = !route.keep.isEmpty
            // As in a name, which leaves out the default type.
            typeBytes = key.type == .default ? [] : Array(key.type.description.utf8)
        }

        fileprivate func covers(_ name: ListedName) -> Bool {
            key.origin == name.originDigest && name.typeBytes.elementsEqual(typeBytes)
        }
    }

    fileprivate struct Key: Hashable {
        var type: TypeName
        var origin: Digest?
    }

    private let configuration: Configuration
    private let destinations: DestinationTable
    private let types: Set<TypeName>
    private let asked: Set<Digest>
    private let waits: [Digest: DestinationWaits]
    private let known: KnownDestinations?
    private let now: Timestamp
    private let ranks: Int
    private var kinds: [Key: Kind] = [:]
    /// The kind of the last name: most names have the kind of the name before.
    private var last: Kind?

    init(
        _ configuration: Configuration, _ destinations: DestinationTable, _ options: RunOptions,
        waits: [Digest: DestinationWaits], _ known: KnownDestinations?, at now: Timestamp, ranks: Int
    ) {
        self.known = known
        self.now = now
        self.ranks = ranks
        self.configuration = configuration
        self.destinations = destinations
        self.waits = waits
        types = options.types
        asked = Set(options.destinations.map { Digest(of: $0) })
    }

    mutating func kind(of name: ListedName) -> Kind {
        if let last, last.covers(name) { return last }
        let kind = kinds[Key(type: TypeName(name), origin: name.originDigest)] ?? kind(of: EntryName(name))
        last = kind
        return kind
    }

    mutating func kind(of name: EntryName) -> Kind { kind(of: Key(type: name.type, origin: name.originDigest)) }

    /// The kinds met that have an order, and that the run sends.
    var ordered: [Kind] { kinds.values.filter { $0.order.isSequential && $0.isAskedFor } }

    /// Meets the kinds whose destinations the routes name, before a listing meets their operations.
    mutating func meetRoutes(of configuration: Configuration) {
        for type in [.default] + configuration.routes.keys { _ = kind(of: Key(type: type, origin: nil)) }
    }

    private mutating func kind(of key: Key) -> Kind {
        if let last, last.key == key { return last }
        if let kind = kinds[key] {
            last = kind
            return kind
        }
        let destination = destinations.destination(of: key.type, origin: key.origin)
        let isAskedFor =
            (types.isEmpty || types.contains(key.type)) && (asked.isEmpty || asked.contains(destination.digest))
        var block: Availability.Block?
        if case .blocked(let found)? = known?.availability(of: destination, at: now) { block = found }
        let kind = Kind(
            key, configuration.route(of: key.type), destination, isAskedFor: isAskedFor,
            waits[destination.digest] ?? DestinationWaits(), block,
            known?.refusal(of: destination), ranks: ranks)
        kinds[key] = kind
        last = kind
        return kind
    }
}
