import Delivery
import Policy
import Spool

extension Run {
    /// Lists what waits and chooses up to `budget` of what is due, in the order in which to attempt it.
    func choose(budget: Int) throws(SpoolError) -> Pass {
        let now = world.now()
        try book.read(now)
        lookAround(now)
        let order: Chooser.Order = isPlanning ? .shown : hasOrder ? .decided : .elsewhere
        let budget = isPlanning ? budget : min(budget, portion)
        do throws(SpoolError) {
            return try choose(budget: budget, order, now)
        } catch let error where error.isLocked && hasOrder {
            // Whoever holds the names lock keeps back what has an order, and nothing else.
            if !isNamesLockTold { tally.inputOutput(error) }
            isNamesLockTold = true
            return try choose(budget: budget, .elsewhere, now)
        }
    }

    private func choose(
        budget: Int, _ order: Chooser.Order, _ now: Timestamp
    ) throws(SpoolError) -> Pass {
        var chooser = Chooser(
            spool: spool, configuration: configuration, destinations: book.table, options: options, now: now,
            order: order, setAside: setAside, deferred: waiting, apart: apart, parked: book.parked(now))
        return try chooser.choose(budget: budget) { openLane($0, now) }
    }

    // MARK: - Destinations

    /// Within a pass, once a second: a person may have paused or held a destination, or the queue.
    func listenToPeople() {
        guard .now - lastListened >= .seconds(1) else { return }
        lastListened = .now
        book.tell()
        do throws(SpoolError) {
            if try spool.isPaused { tally.summary.end = .paused }
            try book.hear()
            lookAroundAgain()
        } catch {
            tally.inputOutput(error)
        }
    }

    /// The lane of a way's destination, a new one where this run has not met it, as far as the conditions let it go.
    private func openLane(_ way: Ways.Way, _ now: Timestamp) -> Lane {
        let lane = book.lane(to: way.destination, now)
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
}
