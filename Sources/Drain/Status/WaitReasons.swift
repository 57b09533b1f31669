package import Policy
package import Spool

/// Says of every operation of a queue what it waits for, as a run that began now would see it: from names alone.
package struct WaitReasons {
    private let known: KnownDestinations
    private let configuration: Configuration
    private let now: Timestamp
    private let isPaused: Bool
    /// `nil` where no route has an order.
    private var precedence: Precedence?
    private var availabilities: [Digest: Availability] = [:]
    private let parked: [Digest: [OperationID: Timestamp]]
    /// Looks for what operations need of earlier answers.
    private let chooser: Chooser
    private var keptNames: [TypeName: Set<String>] = [:]

    /// Lists the queue once where a route orders or coalesces, as a run does, but takes no lock. Never opens a file.
    /// `named`: the run sends these operations and no others.
    package init(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ known: KnownDestinations, at now: Timestamp,
        named: [OperationID]? = nil
    ) throws(SpoolError) {
        self.known = known
        self.configuration = configuration
        self.now = now
        isPaused = try spool.isPaused
        parked = known.parked(at: now)
        var chooser = Chooser(
            spool: spool, configuration: configuration, destinations: known.table,
            options: RunOptions(ids: named.map { Set($0) }), now: now, order: .shown, parked: parked)
        precedence = try chooser.precedence()
        self.chooser = chooser
    }

    /// `nil` where it does not wait: it is being attempted, or it is over.
    package mutating func waiting(of entry: Entry) -> WaitReason? {
        guard entry.state == .new || entry.state == .deferred else { return nil }
        let name = entry.name
        let route = configuration.route(of: name.type)
        let destination = known.table.destination(of: name)
        let turn = precedence?.turn(of: name, of: route, to: destination) ?? .free
        let isParked = parked[destination.digest]?[name.id] != nil
        let eligibility = eligibility(of: name, route)
        if case .superseded(let newer) = turn {
            if !route.mergesPayloads { return .newer(newer) }
            if eligibility.mayBeMerged(gate: name.gate), eligibility != .due || !isParked { return .merged(newer) }
        }
        var own: Timestamp?
        switch eligibility {
        case .held: return .person
        case .deferred(let until): own = until
        case .due: break
        }
        if let failed = known.failedHolder(of: name) { return .failed(failed) }
        if case .blocked(let older) = turn { return .older(older) }
        if let lack = chooser.lack(name.keyDigest, keptNames(of: name.type, route)) { return .kept(lack) }
        if case .closed(let block) = availability(of: destination) {
            guard let own, let until = block.until, until < own else { return .destination(block) }
        }
        if own == nil, let until = parked[destination.digest]?[name.id] { return .witness(until: until) }
        return own.map { .time($0) } ?? (isPaused ? .resume : .nothing)
    }

    private mutating func keptNames(of type: TypeName, _ route: Route) -> Set<String> {
        if let names = keptNames[type] { return names }
        let names = route.keptNames
        keptNames[type] = names
        return names
    }

    private func eligibility(of name: EntryName, _ route: Route) -> Eligibility {
        Policy.eligibility(of: name, at: now, longestDelay: route.longestDelay, ignoringBackoff: false)
    }

    private mutating func availability(of destination: Destination) -> Availability {
        if let availability = availabilities[destination.digest] { return availability }
        let availability = known.availability(of: destination, at: now)
        availabilities[destination.digest] = availability
        return availability
    }
}
