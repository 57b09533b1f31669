import Policy
import Spool

/// Settles operations without an attempt: older values that a newer one replaces, and expired operations.
extension Settler {
    /// Row N, D → gone: removes superseded operations, durably before the newer ones are sent, so no older value comes
    /// back behind a newer one. One that cannot be removed is with another process. Its whole sequence then waits: an
    /// operation that was added meanwhile may have been chosen beside the newer one.
    ///
    /// Removes all older values of the chosen operations, and up to `limit` of other keys. A signal or the time limit
    /// ends this between two of them; the sequences of the rest wait.
    func supersede(_ pass: inout Pass, limit: Int, _ stop: StopCheck) {
        operations.takeMerged(of: &pass)
        if pass.superseded.isEmpty { return }
        let chosen = Set(pass.chosen.map(\.entry.name.id))
        let first = pass.superseded.filter { chosen.contains($0.newer) }
        let others = pass.superseded.filter { !chosen.contains($0.newer) }
        // A newer value whose older ones stay is no sample: they would be sent behind it.
        var waiting = Set(others.dropFirst(limit).map(\.sequence))
        var hasToStop = false
        do throws(SpoolError) {
            for older in first + others.prefix(limit) {
                hasToStop = hasToStop || stop.mustStop()
                if hasToStop {
                    waiting.insert(older.sequence)
                } else if try !supersede(older) {
                    waiting.insert(older.sequence)
                }
            }
            try sync()
        } catch {
            tally.endRun(because: error)
        }
        if waiting.isEmpty { return }
        let isWaiting: (Candidate) -> Bool = { $0.sequence.map(waiting.contains) ?? false }
        pass.chosen.removeAll(where: isWaiting)
        for destination in book.destinations.values { destination.newest.removeAll(where: isWaiting) }
    }

    /// Removes an older value. Returns false if another process has it.
    private func supersede(_ older: Pass.Superseded) throws(SpoolError) -> Bool {
        guard let claim = try spoolRun.claim(older.entry) else { return false }
        _ = try spoolRun.settle(claim, .superseded, record: nil, now: world.now())
        tally.summary.superseded += 1
        let name = older.entry.name
        tally.tell(.superseded(name, by: older.newer, destination: book.table.destination(of: name).name))
        return true
    }

    /// Row N, D → X: fails the expired operations of a pass. A signal or the time limit ends this between two
    /// operations; the rest stays where it is.
    func expire(_ pass: inout Pass, _ sender: RequestSender, _ stop: StopCheck) {
        for (done, candidate) in pass.expired.enumerated() {
            if stop.mustStop() {
                pass.leftExpired += pass.expired.count - done
                return
            }
            do throws(SpoolError) {
                try expire(candidate, sender)
            } catch {
                setAside([candidate.entry.name.id], because: error)
            }
        }
    }

    private func expire(_ candidate: Candidate, _ sender: RequestSender) throws(SpoolError) {
        guard let claim = try spoolRun.claim(candidate.entry) else { return }
        let destination = book[candidate]
        let maker = sender.maker(of: claim.name.type, to: destination)
        guard case .operation(let stored) = try spoolRun.read(claim, limits: configuration.limits),
            let settlement = try settlementOfAge(stored.operation, maker)
        else { return try putBack(claim) }
        let attempt = Attempt(members: [], destination: destination, maker: maker, began: world.now())
        try apply(settlement, Member(claim: claim, operation: stored.operation), attempt, isSent: false)
    }
}
