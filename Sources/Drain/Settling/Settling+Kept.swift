import Policy
import Spool

/// Settling of chains: the values left by a delivery for later operations of its key.
extension Settling {
    /// Gives an operation its kept values. Row C → N or D, and false, if a value has gone since the operation was
    /// chosen, or if there is no room to keep its answer.
    mutating func fillOrPutBack(_ member: Member, _ maker: RequestMaker) throws(SpoolError) -> Bool {
        if !maker.isInChains { return true }
        let missing = try fillKeptValues(maker.keptNames, of: &member.operation, maker.route, in: spool)
        if missing == nil, try provesRoomToKeep(maker.route) {
            try checkKept(of: member.operation, maker.route, in: spool)
            return true
        }
        operations.setAside.insert(member.name.id)
        try putBack(member)
        return false
    }

    /// How long a proof of room counts.
    private static let roomCounts = Duration.seconds(1)

    /// Whether values of an answer can be kept. Without room no operation whose answer is to be kept is sent, because
    /// every run would deliver it again. Throws an error, and then returns false for a second.
    private mutating func provesRoomToKeep(_ route: Route) throws(SpoolError) -> Bool {
        if route.keep.isEmpty { return true }
        if let known = roomToKeep, world.clock.instant() < known.until { return known.isThere }
        do throws(SpoolError) {
            try spool.proveRoomToKeep(values: configuration.mostKept)
        } catch {
            noteLackOfRoom(error)
            throw error
        }
        roomToKeep = (true, world.clock.instant() + Self.roomCounts)
        return true
    }

    /// Notes an error as lack of room, unless another process holds a lock: that says nothing about room.
    private mutating func noteLackOfRoom(_ error: SpoolError) {
        if !error.isLocked { roomToKeep = (false, world.clock.instant() + Self.roomCounts) }
    }

    /// Makes the values left by a delivery for its chain durable. The operation's file stays in row C until this
    /// returns: after a death of the process, recovery keeps the values that the record in the file has; after a power
    /// cut the operation is sent again, and its answer is kept anew.
    ///
    /// This run may send the operations that have waited for the values.
    mutating func keep(_ kept: KeptValues, of operation: Operation, _ maker: RequestMaker) throws(SpoolError) {
        guard !kept.isEmpty, let chain = maker.route.chainOrNone(of: operation) else { return }
        // This takes long, so the collected outcomes are applied first.
        settleDecided()
        let notStored: Set<String>
        do throws(SpoolError) {
            let age = Age(createdAt: operation.header.createdAt, id: operation.header.id)
            notStored = try spool.keep(kept, of: age, for: chain, at: world.now())
        } catch {
            noteLackOfRoom(error)
            throw error
        }
        for name in notStored.sorted() {
            tally.tell(.notKept(operation.header.id, name: name, reason: kept.unkept[name] ?? .missing))
        }
        if configuration.sendsKeptValues, !kept.values.isEmpty { hasToListAgain = true }
    }

    /// Returns the settlement of an operation that has waited too long; `nil` if it may wait.
    func settlementOfAge(_ operation: Operation, _ maker: RequestMaker) throws(SpoolError) -> Settlement? {
        var filled = operation
        let lack = try fillKeptValues(maker.keptNames, of: &filled, maker.route, in: spool)
        return Settlement.decide(onAgeOf: operation, lacking: lack, route: maker.route, now: world.now())
    }
}
