import Policy
import Spool

/// Settles operations without an attempt: older values replaced by a newer one, and expired operations.
extension Settling {
    /// Row N, D → gone: removes superseded operations, durably before the newer ones are sent, so no older value comes
    /// back behind a newer value. First opens each newer file: a damaged file takes no good file with it.
    ///
    /// Removes all older values of the operations that may be sent in this pass, and up to `limit` of other keys. An
    /// older value that cannot be removed is with another process. Its whole sequence then waits: an operation added
    /// meanwhile may have been chosen beside the newer value. A signal or the time limit ends the removal between two
    /// values; the sequences of the rest wait.
    mutating func supersede(_ pass: inout Pass, limit: Int, _ stop: inout StopCheck) {
        if pass.superseded.isEmpty { return }
        let candidates = pass.chosen + book.destinations.values.flatMap(\.newest)
        let newest = Dictionary(
            candidates.map { ($0.entry.name.id, $0.entry) }, uniquingKeysWith: { first, _ in first })
        let first = pass.superseded.filter { newest[$0.newer] != nil }
        let others = pass.superseded.filter { newest[$0.newer] == nil }.prefix(limit)
        var isSound: [OperationID: Bool] = [:]
        var waiting = pass.unlisted
        var hasToStop = false
        do throws(SpoolError) {
            for older in first + others {
                // A newer value in flight removes nothing: its server may refuse it, and `send` then keeps no file.
                guard let newer = newest[older.newer] ?? pass.newer[older.newer] else { continue }
                hasToStop = hasToStop || stop.mustStop(&self)
                if isSound[older.newer] == nil { isSound[older.newer] = try self.isSound(newer) }
                if hasToStop || isSound[older.newer] == false {
                    waiting.insert(older.sequence)
                } else if try !supersede(older) {
                    waiting.insert(older.sequence)
                } else if !pass.unlisted.isEmpty {
                    // There is room for the operations left out by this pass.
                    hasToListAgain = true
                }
            }
            try sync()
        } catch {
            tally.endRun(because: error)
        }
        if waiting.isEmpty { return }
        let isWaiting: (Candidate) -> Bool = { candidate in
            (candidate.sequence.map(waiting.contains) ?? false) && isSound[candidate.entry.name.id] != false
        }
        pass.chosen.removeAll(where: isWaiting)
        // The run still takes up a newer file that is no operation, and so finds the older ones in its next listing. A
        // newer file that waits itself changes nothing: to list again for such a file would never end.
        if pass.chosen.contains(where: { isSound[$0.entry.name.id] == false }) { hasToListAgain = true }
        for destination in book.destinations.values { destination.newest.removeAll(where: isWaiting) }
    }

    /// Whether a file can be sent as an operation.
    private func isSound(_ entry: Entry) throws(SpoolError) -> Bool {
        if case .operation = try spool.read(entry) { true } else { false }
    }

    /// Removes an older value. Returns false if another process has it.
    private mutating func supersede(_ older: Pass.Superseded) throws(SpoolError) -> Bool {
        guard let claim = try spoolRun.claim(older.entry) else { return false }
        _ = try spoolRun.settle(claim, .superseded, record: nil, now: world.now())
        noteSuperseded(older.entry.name, by: older.newer)
        return true
    }

    /// Row X → gone: removes the dead letters of a key whose newer value is delivered.
    mutating func supersedeDeadLetters(by newer: EntryName) {
        do throws(SpoolError) {
            for entry in try deadLetters.supersede(by: newer) { noteSuperseded(entry.name, by: newer.id) }
        } catch {
            // The newer value is delivered all the same.
            tally.inputOutput(error)
        }
    }

    /// Counts and reports an operation removed for a newer one of its key.
    func noteSuperseded(_ name: EntryName, by newer: OperationID) {
        tally.summary.superseded += 1
        tally.tell(.superseded(name, by: newer, destination: book.table.destination(of: name).name))
    }

    /// Row N, D → X: fails the expired operations of a pass, at most `most` of them. Returns the number of operations
    /// taken up. A signal or the time limit ends this between two operations; the rest stays in place. If `most` are
    /// more than a listing has in memory, the run lists again.
    mutating func expire(_ pass: inout Pass, atMost most: Int, _ stop: inout StopCheck) -> Int {
        let count = min(most, pass.expired.count)
        pass.leftExpired += pass.expired.count - count
        if pass.leftExpired > 0, count > 0, count < most { hasToListAgain = true }
        for (done, candidate) in pass.expired.prefix(count).enumerated() {
            if stop.mustStop(&self) {
                pass.leftExpired += count - done
                return done
            }
            do throws(SpoolError) {
                try expire(candidate)
            } catch {
                setAside([candidate.entry.name.id], because: error)
            }
        }
        return count
    }

    private mutating func expire(_ candidate: Candidate) throws(SpoolError) {
        guard let (claim, file) = try spoolRun.take(candidate.entry) else { return }
        let destination = book[candidate]
        let maker = book.maker(of: claim.name.type, to: destination)
        guard case .operation(let stored) = file, let settlement = try settlementOfAge(stored.operation, maker) else {
            return try putBack(claim)
        }
        let attempt = Attempt(members: [], destination: destination, maker: maker, began: world.now())
        try apply(settlement, Member(claim: claim, operation: stored.operation), attempt, isSent: false)
    }
}
