import Policy
import Spool

/// Settles operations without an attempt: older values replaced by a newer one, and expired operations.
extension Settling {
    /// Row N, D → gone: removes superseded operations, durably before the newer ones are sent, so no older value comes
    /// back behind a newer value. First opens each newer file: what no run sends takes no good file with it. A file
    /// that the system does not let this run read or claim is set aside, and its sequence waits. What is sent before
    /// its time (`run ID`) replaces older values with its delivery.
    ///
    /// Removes all older values of the operations that may be sent in this pass, and up to `limit` of other keys. An
    /// older value that cannot be removed is with another process. Its whole sequence then waits: an operation added
    /// meanwhile may have been chosen beside the newer value. A signal or the time limit ends the removal between two
    /// values; the sequences of the rest wait. What waits counts as left due.
    mutating func supersede(_ pass: inout Pass, limit: Int, _ stop: inout StopCheck) {
        operations.unsound = []
        if pass.superseded.isEmpty { return }
        let candidates = pass.chosen + book.destinations.values.flatMap(\.newest)
        let newest = Dictionary(
            candidates.map { ($0.entry.name.id, $0.entry) }, uniquingKeysWith: { first, _ in first })
        let first = pass.superseded.filter { newest[$0.newer] != nil }
        let others = pass.superseded.filter { newest[$0.newer] == nil }.prefix(limit)
        let chosen = Set(newest.keys)
        // Whether the file can be sent as an operation.
        var areSound: [OperationID: Bool] = [:]
        var patience = QueueView.patience
        var waiting = pass.unlisted
        var hasToStop = false
        for older in first + others where !operations.setAside.contains(older.newer) {
            // A newer value in flight removes nothing: its server may refuse it, and `send` then keeps no file.
            guard let newer = newest[older.newer] ?? pass.newer[older.newer] else { continue }
            if chosen.contains(older.newer), !rule.mayReplace(newer.name) { continue }
            hasToStop = hasToStop || stop.stopIfAsked(&self)
            var (isRemoved, opened) = (false, older.newer)
            do throws(SpoolError) {
                if areSound[older.newer] == nil { areSound[older.newer] = try spool.successor(newer, rule) != nil }
                opened = older.entry.name.id
                if !hasToStop, areSound[older.newer]! { isRemoved = try supersede(older, by: newer.name, patience) }
            } catch {
                setAside([opened], because: error)
            }
            if !isRemoved {
                // Another process that keeps the names lock costs one patience, not one for each value.
                patience = .zero
                waiting.insert(older.sequence)
            } else if !pass.unlisted.isEmpty {
                // There is room for the operations left out by this pass.
                hasToListAgain = true
            }
        }
        operations.unsound = Set(areSound.filter { !$0.value }.keys)
        syncOrEndRun()
        if waiting.isEmpty { return }
        let isUnsound: (Candidate) -> Bool = { candidate in
            areSound[candidate.entry.name.id] == false
        }
        let isWaiting: (Candidate) -> Bool = { candidate in
            (candidate.sequence.map(waiting.contains) ?? false) && !isUnsound(candidate)
        }
        let left = pass.chosen.filter(isWaiting)
        pass.chosen.removeAll(where: isWaiting)
        pass.leftDue += left.count
        for candidate in left { book[candidate].chosen -= 1 }
        // The run takes up a newer operation that no run can send, and finds the older ones in the next listing. A
        // newer operation that waits changes nothing: the listings would never end.
        if pass.chosen.contains(where: isUnsound) { hasToListAgain = true }
        for destination in book.destinations.values { destination.newest.removeAll(where: isWaiting) }
    }

    /// Removes an older value, if the newer one still waits; quarantines what is no regular file. Returns false if
    /// another process has either.
    private mutating func supersede(
        _ older: Pass.Superseded, by newer: EntryName, _ patience: Duration
    ) throws(SpoolError) -> Bool {
        guard let claim = try spoolRun.claim(older.entry) else { return false }
        if let reason = try spoolRun.objection(to: claim) {
            try quarantine(claim, reason)
            return true
        }
        guard try spoolRun.supersede(claim, byWaiting: newer, rule, patience: patience, at: world.now()) else {
            try putBack(claim)
            return false
        }
        operations.deferred.remove(Age(older.entry.name))
        noteSuperseded(older.entry.name, by: older.newer)
        return true
    }

    /// Does what is left of a delivery by a dead run, except with its file. Its destination learns of the delivery,
    /// which may have been the probe of a hold.
    mutating func finishDelivery(of claim: Claim, url: String?, began: Timestamp?) throws(SpoolError) {
        try supersedeDeadLetters(by: claim)
        let destination = book.table.destination(of: claim.name, url: url)
        if let began { try book.take([(destination, .delivered(began: began, at: began))]) }
    }

    /// Row X, Q → gone: removes the dead letters of a key whose newer value is delivered, and what may wait of it.
    /// After an error the newer one must stay, with its mark: no dead letter comes back into the queue before the next
    /// recovery has removed them.
    mutating func supersedeDeadLetters(by newer: Claim) throws(SpoolError) {
        if !rule.mayLeaveOlder(newer.name), try !proposals.lookForDeadLetters(of: newer.name, by: rule) { return }
        let removed = try spool.supersedeDeadLetters(
            by: spoolRun.successor(sent: newer), rule, patience: QueueView.patience, at: world.now())
        for entry in removed { noteSuperseded(entry.name, by: newer.name.id) }
    }

    /// Counts and reports an operation removed for a newer one of its key.
    func noteSuperseded(_ name: EntryName, by newer: OperationID) {
        tally.summary.superseded += 1
        tally.tell(.superseded(name, by: newer, destination: book.table.destination(of: name).name))
    }

    /// Row N, D → X: fails the expired operations of a pass, at most `most` of them. Returns the number of operations
    /// taken up. A signal or the time limit ends this between two operations; the rest stays in place. If `most` are
    /// more than a listing has in memory, or if older values have waited for one of them, the run lists again.
    mutating func failExpired(_ pass: inout Pass, atMost most: Int, _ stop: inout StopCheck) -> Int {
        let count = min(most, pass.expired.count)
        pass.leftExpired += pass.expired.count - count
        if pass.leftExpired > 0, count > 0, count < most { hasToListAgain = true }
        for (done, candidate) in pass.expired.prefix(count).enumerated() {
            if stop.stopIfAsked(&self) {
                pass.leftExpired += count - done
                return done
            }
            do throws(SpoolError) {
                let hasFailed = try failIfExpired(candidate)
                if hasFailed, pass.newer[candidate.entry.name.id] != nil { hasToListAgain = true }
            } catch {
                setAside([candidate.entry.name.id], because: error)
            }
        }
        return count
    }

    /// Returns false if the operation stays: another run has it, or it may wait.
    private mutating func failIfExpired(_ candidate: Candidate) throws(SpoolError) -> Bool {
        guard let taken = try spoolRun.take(candidate.entry) else { return false }
        let (claim, file) = (taken.claim, taken.file)
        let destination = book[candidate]
        let maker = book.maker(of: claim.name.type, to: destination)
        if case .notAnOperation(let reason) = file {
            try quarantine(claim, reason)
            return true
        }
        guard case .operation(let stored) = file, let settlement = try settlementOfAge(stored.operation, maker) else {
            try putBack(claim)
            return false
        }
        let attempt = Attempt(members: [], destination: destination, maker: maker, began: world.now())
        try apply(settlement, Member(claim: claim, operation: stored.operation), attempt, isSent: false)
        return true
    }
}
