import Delivery
import Policy
import Spool

extension Run {
    /// Lists what waits and chooses up to `budget` of what is due, in the order in which to attempt it.
    func choose(budget: Int) throws(SpoolError) -> Pass {
        let now = world.now()
        try readLedger(now)
        lookAround(now)
        let order: Chooser.Order = isPlanning ? .shown : hasOrder ? .decided : .elsewhere
        let budget = isPlanning ? budget : min(budget, portion)
        do throws(SpoolError) {
            return try choose(budget: budget, order, now)
        } catch let error where error.isLocked && hasOrder {
            // Whoever holds the names lock keeps back what has an order, and nothing else.
            if !isNamesLockTold { inputOutput(error) }
            isNamesLockTold = true
            return try choose(budget: budget, .elsewhere, now)
        }
    }

    private func choose(
        budget: Int, _ order: Chooser.Order, _ now: Timestamp
    ) throws(SpoolError) -> Pass {
        var chooser = Chooser(
            spool: spool, configuration: configuration, destinations: destinations, options: options, now: now,
            order: order, leftAlone: leftAlone, deferred: waiting, apart: apart, parked: parked(now))
        return try chooser.choose(budget: budget) { openLane($0, now) }
    }

    // MARK: - Destinations

    /// Takes over what other runs and people have said of destinations since.
    private func readLedger(_ now: Timestamp) throws(SpoolError) {
        tellLedger()
        ledger = try LedgerFile(spool: spool).read()
        if isFirstPass {
            destinations = DestinationTable(configuration, knowing: Array(ledger.destinations.keys))
        }
        // What was blamed when they were parked may have changed.
        for (name, state) in ledger.destinations where !state.parking.isEmpty && lanes[Digest(of: name)] == nil {
            _ = makeLane(Destination(named: name), now)
        }
        for lane in lanes.values {
            lane.state = ledger[lane.destination.name]
            lane.open(at: now, ignoringCoolDown: ignoresCoolDown)
            lane.beginPass()
            releaseByChange(lane, now)
        }
    }

    private func parked(_ now: Timestamp) -> [Digest: [OperationID: Timestamp]] {
        lanes.compactMapValues { lane in
            lane.state.parking.isEmpty ? nil : lane.state.parking.waits(lane.settings, at: now)
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
            for lane in lanes.values { lane.hear(heard[lane.destination.name]) }
            lookAroundAgain()
        } catch {
            inputOutput(error)
        }
    }

    /// The lane of a way's destination, a new one where this run has not met it, as far as the conditions let it go.
    private func openLane(_ way: Ways.Way, _ now: Timestamp) -> Lane {
        let lane = lanes[way.destination.digest] ?? makeLane(way.destination, now)
        pass(lane)
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
        let state = lane.state
        if state.hold == nil && state.parking.isEmpty { return }
        let blamed = state.hold == nil ? state.parking.blamed : state.hold?.blamed
        let wasAnswer = state.hold == nil || state.hold?.status != nil
        if blame.hasChanged(
            since: blamed, wasAnswer: wasAnswer, of: lane.destination, salt: ledger.salt(using: &world.generator))
        {
            note(.blameChanged, in: lane, at: now)
        }
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
}
