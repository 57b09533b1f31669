import Delivery
import Policy
import Spool

extension Run {
    /// What one listing of the directory yields.
    struct Pass {
        var chosen: [Candidate] = []
        /// Due, but beyond the limit.
        var leftDue = 0
        /// Waiting for a time that comes by itself: its own, or that of its destination. What waits for a person does not.
        var waiting = 0
        var nextDue: Timestamp?
        /// Older values of keys, and the newer operation that stands for each.
        var superseded: [(entry: Entry, by: OperationID)] = []
        /// Expired, by their route, behind a destination that is closed.
        var expired: [Candidate] = []
        /// Files in `new/` under names of their own.
        var foreign = 0
        /// How long the listing took: the next one waits in proportion.
        var cost: Duration = .zero

        /// Nothing is to be claimed.
        var isEmpty: Bool { chosen.isEmpty && superseded.isEmpty && expired.isEmpty }

        mutating func mayComeDue(_ moment: Timestamp) {
            nextDue = min(nextDue ?? moment, moment)
        }
    }

    /// Lists what waits and chooses up to `budget` of what is due, in the order in which to attempt it.
    ///
    /// Where operations wait for each other the directory is listed twice: whether one may go depends on all the others.
    func choose(budget: Int) throws(SpoolError) -> Pass {
        let start = ContinuousClock.now
        let now = world.now()
        try readLedger(now)
        let decisions = conditions()
        var pass = Pass()
        var selection = Selection<Digest, Candidate>(limit: isPlanning ? budget : min(budget, portion))
        var ways = Ways(configuration, destinations, options)
        var census = try takeCensus(now, &ways)
        for state in [QueueState.new, .deferred] {
            let foreign = try spool.forEachName(in: state) { name, _ in
                let way = ways.way(of: name)
                guard way.isAskedFor, !isLeftAlone(name) else { return }
                var sequence: SequenceKey?
                var isHead = true
                if way.isSequential {
                    let entry = Entry(state: state, name: EntryName(name))
                    sequence = way.route.sequence(of: entry.name, to: way.destination)
                    // Without the lock another run is at what has an order.
                    if sequence != nil {
                        guard let turn = census?.turn(of: entry.name, of: way.route, to: way.destination) else {
                            return
                        }
                        switch turn {
                        case .free, .inLine: isHead = turn == .free
                        case .blocked: return
                        case .superseded(let newer): return pass.superseded.append((entry, newer))
                        }
                    }
                }
                func candidate() -> Candidate {
                    let entry = Entry(state: state, name: EntryName(name))
                    return Candidate(entry: entry, destination: way.destination, sequence: sequence, isHead: isHead)
                }
                switch eligibility(
                    of: name, at: now, longestDelay: way.longestDelay, ignoringBackoff: ignoresBackoff(of: name))
                {
                case .held: break
                case .deferred(let until):
                    pass.waiting += 1
                    pass.mayComeDue(until)
                case .due:
                    let lane = way.lane ?? openLane(way, now, decisions)
                    if lane.isClosed {
                        if let lifetime = way.route.expiresAfter, name.createdAt.isOfSetClock,
                            name.createdAt + lifetime <= now
                        {
                            return pass.expired.append(candidate())
                        }
                        lane.skipped += 1
                        guard let closure = lane.closure, let until = closure.until else { return }
                        pass.mayComeDue(until)
                        if closure.reason != .held { pass.waiting += 1 }
                        return
                    }
                    lane.offered += 1
                    pass.leftDue += 1
                    guard way.reach.contains(name.createdAt) else { return }
                    let candidate = candidate()
                    way.reach = selection.offer(
                        candidate.entry.name, destination: way.destination.digest, element: candidate)
                }
            }
            if state == .new { pass.foreign = foreign }
        }
        let chosen = selection.chosen()
        pass.chosen = chosen.map(\.element)
        pass.leftDue -= pass.chosen.count
        for candidate in pass.chosen { lane(of: candidate).chosen += 1 }
        let byDestination = Dictionary(grouping: chosen, by: \.destination)
        for (digest, lane) in lanes where lane.offered > lane.chosen {
            let newest = selection.newest(of: digest, besides: byDestination[digest] ?? [])
            lane.newest = newest.map(\.element).filter(\.isHead)
        }
        pass.cost = .now - start
        return pass
    }

    /// `--now` is for what waited before this run: what the run itself has deferred waits like everything else, or it
    /// would go round in circles.
    private func ignoresBackoff(of name: ListedName) -> Bool {
        options.ignoresBackoff && (waiting.isEmpty || !waiting.contains(name.id))
    }

    private func isLeftAlone(_ name: ListedName) -> Bool {
        !leftAlone.isEmpty && leftAlone.contains(name.id)
    }

    // MARK: - Destinations

    /// Takes over what other runs and people have said of destinations since.
    private func readLedger(_ now: Timestamp) throws(SpoolError) {
        tellLedger()
        ledger = try LedgerFile(spool: spool).read()
        if isFirstPass {
            destinations = DestinationTable(configuration, knowing: Array(ledger.destinations.keys))
        }
        for lane in lanes.values {
            lane.state = ledger[lane.destination.name]
            lane.open(at: now, ignoringCoolDown: ignoresCoolDown)
            lane.beginPass()
            releaseByChange(lane, now)
        }
    }

    /// Within a pass, once a second: a person may have paused or held a destination, or the queue.
    func listenToPeople() {
        guard .now - lastListened >= .seconds(1) else { return }
        lastListened = .now
        tellLedger()
        do throws(SpoolError) {
            if try spool.isPaused { summary.end = .paused }
            let heard = try LedgerFile(spool: spool).read()
            for lane in lanes.values {
                let state = heard[lane.destination.name]
                if state.isPaused { lane.closure = Opening.Closure(.paused) }
                if state.hold?.isByHand == true { lane.closure = Opening.Closure(.held) }
            }
        } catch {
            inputOutput(error)
        }
    }

    /// The lane of a way's destination, a new one where this run has not met it, as far as the conditions let it go.
    private func openLane(_ way: Ways.Way, _ now: Timestamp, _ decisions: (any: String?, local: String?)) -> Lane {
        let lane = lanes[way.destination.digest] ?? makeLane(way.destination, now)
        let reason = lane.isLocal ? decisions.local : decisions.any
        lane.lacksConditions = reason != nil
        summary.conditions = reason ?? summary.conditions
        way.lane = lane
        if !lane.isClosed { prepareSink(for: way.route, lane.settings) }
        return lane
    }

    /// An agent begins while the rest is listed and claims are made durable.
    private func prepareSink(for route: Route, _ settings: DestinationSettings) {
        if sink != nil || isPlanning { return }
        if let choice = try? route.transportChoice(settings: settings, available: world.transports) {
            openSink().prepare(choice.transport)
        }
    }

    private func makeLane(_ destination: Destination, _ now: Timestamp) -> Lane {
        let lane = Lane(destination, destinations.settings(of: destination), ledger[destination.name])
        lane.open(at: now, ignoringCoolDown: ignoresCoolDown)
        lanes[destination.digest] = lane
        if lane.pace.interval > .zero { paced.insert(destination.digest) }
        releaseByChange(lane, now)
        return lane
    }

    /// A hold ends when what it was blamed on has changed: the credential, or the configuration of the destination.
    private func releaseByChange(_ lane: Lane, _ now: Timestamp) {
        guard let hold = lane.state.hold,
            blame.hasChanged(since: hold, of: lane.destination, salt: ledger.salt(using: &world.generator))
        else { return }
        note(.blameChanged, in: lane, at: now)
    }

    /// What a hold of this destination is blamed on.
    func fingerprint(of destination: Destination) -> String {
        blame.fingerprint(of: destination, salt: ledger.salt(using: &world.generator))
    }

    private var blame: Blame {
        Blame(configuration: configuration, destinations: destinations, credentials: world.credentials)
    }

    /// Tells the ledger what has been learned since. Losing it costs a probe, so an error is told, once, and nothing more.
    func tellLedger() {
        var events: [(destination: String, event: DestinationEvent)] = []
        for lane in lanes.values {
            events += lane.events.map { (lane.destination.name, $0) }
            lane.events = []
        }
        if events.isEmpty { return }
        let start = ContinuousClock.now
        defer { ledgerPause = .now + start.duration(to: .now) * 20 }
        do throws(SpoolError) {
            let named = Dictionary(
                lanes.values.map { ($0.destination.name, $0.settings) }, uniquingKeysWith: { first, _ in first })
            ledger = try LedgerFile(spool: spool).record(
                events, settings: { named[$0] ?? DestinationSettings() }, salt: ledger.salt, at: world.now(),
                durable: false)
        } catch {
            if !isLedgerLost { inputOutput(error) }
            isLedgerLost = true
        }
    }

    /// Why nothing may be attempted now, elsewhere and on this machine itself: no network is no reason there.
    private func conditions() -> (any: String?, local: String?) {
        let asked = configuration.conditions
        if asked.asksNothing { return (nil, nil) }
        let surroundings = world.surroundings(asked)
        var spacing: Duration?
        func reason(_ conditions: Conditions) -> String? {
            switch conditions.decision(in: surroundings) {
            case .wait(let reason): return reason
            case .go(let wanted):
                spacing = spacing ?? wanted
                return nil
            }
        }
        let reasons = (reason(asked), reason(Conditions(power: asked.power)))
        if let spacing, pace.interval < spacing { pace = Pace(interval: spacing) }
        return reasons
    }

    // MARK: - Sequences

    /// Where operations stand that wait for each other; `nil` where none do, or where another run is at them.
    private func takeCensus(_ now: Timestamp, _ ways: inout Ways) throws(SpoolError) -> Census? {
        guard configuration.hasSequentialRoutes, sequenceLock != nil || isPlanning else { return nil }
        var census = Census()
        // What moves meanwhile is seen at least once.
        for state in [QueueState.claimed, .new, .deferred, .claimed] {
            try spool.forEachName(in: state) { name, _ in
                let way = ways.way(of: name)
                guard way.isSequential else { return }
                let isOutOfReach = state == .claimed || !way.isAskedFor || isLeftAlone(name)
                let eligibility = eligibility(
                    of: name, at: now, longestDelay: way.longestDelay, ignoringBackoff: ignoresBackoff(of: name))
                census.note(
                    EntryName(name), isOutOfReach ? .outOfReach : .waiting(eligibility), of: way.route,
                    to: way.destination)
            }
        }
        return census
    }
}
