import Policy
import Spool

/// Chains: what a delivery leaves for later operations of its key, and those that wait for it.
extension Settler {
    /// Row C → N or D: an operation whose kept value has gone since it was chosen waits, and so does one whose answer there
    /// would be no room for. False if it was put back.
    func provide(for member: inout Member, _ maker: RequestMaker) throws(SpoolError) -> Bool {
        let lack = try Drain.provide(maker.keptNames, for: &member.operation, in: spool)
        if lack == nil, try hasRoomToKeep(maker.route) {
            try checkKept(of: member.operation, maker.route, in: spool)
            return true
        }
        operations.setAside.insert(member.name.id)
        try putBack(member)
        return false
    }

    /// Whether what an answer leaves can be kept. Without room a delivery would be repeated by every run, so nothing is sent
    /// that has an answer to keep. Throws once what is in the way, and is false in the rest of the run.
    private func hasRoomToKeep(_ route: Route) throws(SpoolError) -> Bool {
        if route.keep.isEmpty { return true }
        if let known = operations.hasRoomToKeep { return known }
        do throws(SpoolError) {
            try spool.proveRoomToKeep()
        } catch {
            noteLackOfRoom(error)
            throw error
        }
        operations.hasRoomToKeep = true
        return true
    }

    /// A lock that another process holds says nothing about room.
    private func noteLackOfRoom(_ error: SpoolError) {
        if !error.isLocked { operations.hasRoomToKeep = false }
    }

    /// Makes durable what a delivery leaves for its key. Its file is in row C until this has returned: after a crash the
    /// operation is sent again, and its answer is kept anew.
    ///
    /// Those that have waited for it may be sent in this run.
    func keep(_ kept: KeptValues, of operation: Operation) throws(SpoolError) {
        guard !kept.isEmpty, let key = operation.header.key else { return }
        settleDecided()
        let lacking: Set<String>
        do throws(SpoolError) {
            lacking = try spool.keep(kept, of: operation.header.id, for: key, at: world.now())
        } catch {
            noteLackOfRoom(error)
            throw error
        }
        for name in lacking.sorted() {
            tally.tell(.notKept(operation.header.id, name: name, reason: kept.unkept[name] ?? .missing))
        }
        if configuration.sendsKeptValues, !kept.values.isEmpty { operations.hasToListAgain = true }
    }

    /// Settles an operation that has expired, or has waited too long for a kept value; `nil` if it may wait.
    func settlementOfAge(_ operation: Operation, _ maker: RequestMaker) throws(SpoolError) -> Settlement? {
        if let settlement = Settlement.decide(onExpiryOf: operation, route: maker.route, now: world.now()) {
            return settlement
        }
        var operation = operation
        guard let lack = try Drain.provide(maker.keptNames, for: &operation, in: spool) else { return nil }
        return Settlement.decide(onLackOf: lack, for: operation, route: maker.route, now: world.now())
    }
}
