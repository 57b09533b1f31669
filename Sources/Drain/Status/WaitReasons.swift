package import Policy
package import Spool

/// The wait reasons of a queue's operations, as a run that began now would see them, by names and kept values.
package struct WaitReasons {
    private let known: KnownDestinations
    private let configuration: Configuration
    private let now: Timestamp
    private let isPaused: Bool
    /// `nil` if no route has an order.
    private var precedence: Precedence?
    private var availabilities: [Digest: Availability] = [:]
    private let waits: [Digest: DestinationWaits]
    /// The chooser, which knows the kept values that operations lack.
    private let chooser: Chooser
    private var kinds: [Kind.Key: Kind] = [:]
    /// The kind of the last name: most names have the kind of the name before.
    private var last: Kind?

    /// The properties that operations of one type and origin share.
    private final class Kind {
        struct Key: Hashable {
            var type: TypeName
            var origin: Digest?
        }

        let key: Key
        let route: Route
        let destination: Destination
        let longestDelay: Duration
        let keptNames: Set<String>
        let parked: [OperationID: Timestamp]

        init(_ key: Key, _ route: Route, _ destination: Destination, _ waits: DestinationWaits) {
            self.key = key
            self.route = route
            self.destination = destination
            parked = waits.parked
            longestDelay = route.longestDelay(asked: waits.asked)
            keptNames = route.keptNames
        }
    }

    /// Lists the queue if a route orders or coalesces, as a run does, but takes no lock. Opens an operation's file
    /// only if its route has a `chain`. `named`: the only operations that the run sends.
    package init(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ known: KnownDestinations, at now: Timestamp,
        named: [OperationID]? = nil
    ) throws(SpoolError) {
        self.known = known
        self.configuration = configuration
        self.now = now
        isPaused = try spool.isPaused
        waits = known.waits(at: now)
        var chooser = Chooser(
            spool: spool, configuration: configuration, destinations: known.table,
            options: RunOptions(ids: named.map { Set($0) }), now: now, authority: .showsOnly, waits: waits)
        precedence = try chooser.precedence()
        self.chooser = chooser
    }

    /// Returns the wait reason of an operation; `nil` if it is in flight or finished.
    package mutating func waiting(of entry: Entry) -> WaitReason? {
        guard entry.state == .new || entry.state == .deferred else { return nil }
        let name = entry.name
        let kind = kind(of: name)
        let (route, destination) = (kind.route, kind.destination)
        let turn = precedence?.position(of: name, of: route, to: destination) ?? .free
        let parkedUntil = kind.parked.isEmpty ? nil : kind.parked[name.id]
        let eligibility = Policy.eligibility(
            of: name, at: now, longestDelay: kind.longestDelay, ignoringBackoff: false)
        if case .superseded(let newer) = turn {
            if !route.mergesPayloads { return .newer(newer) }
            if eligibility.mayBeMerged(gate: name.gate), eligibility != .due || parkedUntil == nil {
                return .merged(newer)
            }
        }
        var own: Timestamp?
        switch eligibility {
        case .held: return .person
        case .deferred(let until): own = until
        case .due: break
        }
        if let failed = known.failedHolder(of: name) { return .failed(failed) }
        if case .blocked(let older) = turn { return .older(older) }
        if let lack = chooser.lack(name, kind.keptNames, route) { return .kept(lack) }
        // An operation behind others of its sequence goes when they have gone, whatever its own schedule allows.
        let attempts = turn == .free ? name.attempts : 0
        if case .blocked(let block) = availability(of: destination), block.stops(attempts: attempts) {
            guard let own, let until = block.until, until < own else { return .destination(block) }
        }
        if own == nil, let parkedUntil { return .witness(until: parkedUntil) }
        return own.map { .time($0) } ?? (isPaused ? .resume : .nothing)
    }

    private mutating func kind(of name: EntryName) -> Kind {
        let key = Kind.Key(type: name.type, origin: name.originDigest)
        if let last, last.key == key { return last }
        let kind = kinds[key] ?? makeKind(key, like: name)
        last = kind
        return kind
    }

    private mutating func makeKind(_ key: Kind.Key, like name: EntryName) -> Kind {
        let destination = known.table.destination(of: name)
        let kind = Kind(
            key, configuration.route(of: name.type), destination, waits[destination.digest] ?? DestinationWaits())
        kinds[key] = kind
        return kind
    }

    private mutating func availability(of destination: Destination) -> Availability {
        if let availability = availabilities[destination.digest] { return availability }
        let availability = known.availability(of: destination, at: now)
        availabilities[destination.digest] = availability
        return availability
    }
}
