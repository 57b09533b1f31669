import Policy
import Spool

/// Claims and reads operations just before they are sent, so that runs can share a queue, and puts them into attempts:
/// alone, in a batch, or merged with older ones of their key.
extension Dispatch {
    /// Claims and reads an operation, and others if its route sends batches. Returns `nil` if there is nothing to send.
    mutating func claim(_ candidate: Candidate, to destination: RunDestination, isSample: Bool) -> Attempt? {
        let maker = book.maker(of: candidate.entry.name.type, to: destination)
        guard let first = claim(candidate, destination, maker) else { return nil }
        let attempt = Attempt(members: [first], destination: destination, maker: maker, began: clock.now())
        attempt.isSample = isSample
        if destination.control.isHeld { attempt.probe = .planned }
        if maker.sendsBatches, !isSample, !attempt.isProbe, !isSentAlone(first, maker.route) {
            fill(attempt)
        }
        return attempt
    }

    // MARK: - Several at once

    /// Claims and reads the next operations to begin, together. An operation that must wait for a sync is claimed at
    /// its turn.
    mutating func takeTogether(_ dequeued: [DequeuedOperation]) {
        sender.flush()
        var ids = Set<OperationID>(minimumCapacity: dequeued.count)
        // Two files with the same id are a copy and its original, or the two names of an interrupted move. The second
        // is claimed alone, at its turn: two claims at once would each remove the other's name.
        let together = dequeued.filter {
            !settling.mustSync(before: $0.candidate.sequence) && ids.insert($0.candidate.entry.name.id).inserted
        }
        let leavesBodies = together.allSatisfy {
            book.maker(of: $0.candidate.entry.name.type, to: $0.destination).leavesBodies
        }
        let outcomes = settling.spoolRun.take(together.map(\.candidate.entry), leavingBodies: leavesBodies)
        for (operation, outcome) in zip(together.reversed(), outcomes.reversed()) {
            taken.append((operation.candidate, outcome))
        }
    }

    /// Puts back operations claimed by `takeTogether` and not begun.
    mutating func putBackTaken() {
        if taken.isEmpty { return }
        var claims: [Claim] = []
        for (candidate, outcome) in taken {
            do throws(SpoolError) {
                if let taken = try outcome.get() { claims.append(taken.claim) }
            } catch {
                settling.setAside([candidate.entry.name.id], because: error)
            }
        }
        taken = []
        settling.putBack(claims)
    }

    /// Claims and reads an operation, unless `takeTogether` has. Returns `nil` if another run was first.
    private mutating func take(
        _ candidate: Candidate, _ maker: RequestMaker, from spoolRun: SpoolRun
    ) throws(SpoolError) -> SpoolRun.Taken? {
        if let place = taken.lastIndex(where: { $0.candidate === candidate }) {
            return try taken.remove(at: place).outcome.get()
        }
        return try spoolRun.take(candidate.entry, leavingBodies: maker.leavesBodies)
    }

    // MARK: - One operation

    /// Claims and reads one operation, unless `takeTogether` has. Returns `nil` if another run was first, if the file
    /// is not an operation, or if its request lacks something.
    private mutating func claim(
        _ candidate: Candidate, _ destination: RunDestination, _ maker: RequestMaker
    ) -> Member? {
        let id = candidate.entry.name.id
        if let member = queue.takeClaimed(id) { return member }
        queue.claimTries += 1
        do throws(SpoolError) {
            let waitsForSync = settling.mustSync(before: candidate.sequence)
            if waitsForSync { sender.flush() }
            if !waitsForSync || settling.syncOrEndRun() {
                if let given { return try ready(given, candidate, destination, maker) }
                if let taken = try take(candidate, maker, from: settling.spoolRun) {
                    return try member(taken, candidate, destination, maker)
                }
                queue.lostClaimCount += 1
                queue.claimsLost.insert(id)
            }
        } catch {
            // The end of the run puts the claim back, if any; nothing has been sent.
            settling.setAside([id], because: error)
        }
        queue.advance(candidate.sequence, continues: false)
        return nil
    }

    private mutating func member(
        _ taken: SpoolRun.Taken, _ candidate: Candidate, _ destination: RunDestination, _ maker: RequestMaker
    ) throws(SpoolError) -> Member? {
        let claim = taken.claim
        switch taken.file {
        case .operation(let stored):
            let member = Member(claim: claim, operation: stored.operation, sequence: candidate.sequence)
            return try ready(member, candidate, destination, maker)
        case .notAnOperation(let reason):
            try settling.quarantine(claim, reason)
            if queue.merged[candidate.entry.name.id] != nil {
                // The older operations to be carried come next in the order.
                settling.hasToListAgain = true
                queue.advance(candidate.sequence, continues: false)
            } else {
                queue.advance(candidate.sequence, continues: !maker.route.holdsBehindFailed)
            }
        case .newerFormat(let version):
            try settling.putBack(claim)
            throw SpoolError(kind: .newerFormat(version), verb: "send", path: candidate.entry.path, code: 0)
        }
        return nil
    }

    /// Returns a claimed operation with all that its request needs; `nil` if something is missing.
    private mutating func ready(
        _ member: Member, _ candidate: Candidate, _ destination: RunDestination, _ maker: RequestMaker
    ) throws(SpoolError) -> Member? {
        guard
            book.takeName(
                of: member.operation, attempts: member.name.attempts, for: destination, at: clock.now())
        else {
            try settling.putBack(member)
            queue.advance(candidate.sequence, continues: false)
            return nil
        }
        guard try settling.fillOrPutBack(member, maker) else {
            queue.advance(candidate.sequence, continues: false)
            return nil
        }
        switch try merge(into: member, maker) {
        case .whole: return member
        case .impossible: try sendApart([member], destination)
        case .outdated:
            try settling.putBack(member)
            queue.advance(candidate.sequence, continues: false)
        }
        return nil
    }

    // MARK: - Before a request

    /// Asks the last questions before a request: has an operation expired, could sending it again do harm. The answers
    /// count from here, however long ago the operations were claimed: a batch may have left them for the next batch, or
    /// another attempt of them may have ended without an answer.
    ///
    /// Settles operations that must not be sent, and puts back the operations that cannot go without them. Returns
    /// false if no request is left.
    mutating func settleUnsendable(of attempt: Attempt) throws(SpoolError) -> Bool {
        var settled: [Member] = []
        for member in attempt.members where try settleUnsent(member, attempt) { settled.append(member) }
        if !settled.isEmpty {
            attempt.members = attempt.members.filter { member in !settled.contains { $0 === member } }
        }
        return !attempt.members.isEmpty
    }

    /// Begins the probe of a held destination, once its credentials are there: until then an operator may have paused
    /// the destination, or another process may have begun a probe. Puts the operations back, and returns false, if no
    /// probe is due any more. Returns true for an attempt that is no probe.
    mutating func beginProbe(_ attempt: Attempt) throws(SpoolError) -> Bool {
        guard attempt.probe == .planned else { return true }
        attempt.probe = .begun
        // Synced first: another process may have the lock of the ledger for long.
        if settling.syncOrEndRun(), book.beginProbe(of: attempt.destination, at: clock.now()) { return true }
        for member in attempt.members {
            try settling.putBack(member)
            queue.advance(member.sequence, continues: false)
        }
        return false
    }

    /// Puts the operations back whose own credentials were refused, see `Parking.withholds`. Returns whether there are
    /// any.
    mutating func putBackWithheld(_ attempt: Attempt) -> Bool {
        let destination = attempt.destination
        guard attempt.credentials.areOwn, !destination.state.parking.isEmpty, !ignoresParking,
            attempt.witnessed == nil
        else { return false }
        let (mark, now) = (book.mark(attempt.credentials), clock.now())
        let (parking, settings) = (destination.state.parking, destination.settings)
        let withheld = attempt.members.filter { parking.withholds(mark, from: Age($0.name), settings, at: now) }
        attempt.members = attempt.members.filter { member in !withheld.contains { $0.name == member.name } }
        let status = parking.entries.last { $0.credentials == mark }?.status ?? 401
        withhold(withheld, because: Settling.refused(with: status))
        return !withheld.isEmpty
    }

    /// Puts the operations of an attempt back if one of them could not be sent when it was opened, and can be now: the
    /// older values of its key go first, or are superseded. Returns whether it did.
    mutating func putBackUnsound(_ attempt: Attempt) -> Bool {
        let unsound = settling.operations.unsound
        guard !unsound.isEmpty, attempt.members.contains(where: { unsound.contains($0.name.id) }) else { return false }
        settling.putBack(attempt.claims)
        for member in attempt.members { queue.advance(member.sequence, continues: false) }
        settling.hasToListAgain = true
        return true
    }

    /// Puts operations back that wait alone, uncharged. Others take their places.
    mutating func withhold(_ members: [Member], because reason: String) {
        for member in members {
            settling.putBackWithheld(member, because: reason)
            queue.advance(member.sequence, continues: false)
        }
        queue.claimTries -= members.count
    }

    /// Settles an operation if it, or a part of it, must not be sent. Returns whether it did.
    private mutating func settleUnsent(
        _ member: Member, _ attempt: Attempt
    ) throws(SpoolError) -> Bool {
        func settle(_ member: Member) throws(SpoolError) -> Bool {
            guard let settlement = attempt.maker.unsent(member.operation, member.name, at: clock.now()) else {
                return false
            }
            try settleUnsent(member, settlement, Attempt(attempt, of: [member]))
            return true
        }
        if member.parts.isEmpty { return try settle(member) }
        let newest = Member(operation: member.operation, name: member.name, claim: member.claim)
        let all = member.parts.map { Member(claim: $0.claim, operation: $0.operation) } + [newest]
        var staying: [Member] = []
        for one in all where try !settle(one) { staying.append(one) }
        if staying.count == all.count { return false }
        // The run lists again what was to go together.
        for one in staying { try settling.putBack(one) }
        settling.hasToListAgain = true
        queue.advance(member.sequence, continues: false)
        return true
    }

    /// Settles an operation without a request, and lets its sequence go on or not.
    mutating func settleUnsent(
        _ member: Member, _ settlement: Settlement, _ attempt: Attempt
    ) throws(SpoolError) {
        try settling.settleUnsent(member, settlement, attempt)
        advance(member, after: settlement.disposition)
    }

    /// Lets the next operation of a sequence be sent, unless this operation still waits.
    mutating func advance(_ member: Member, after disposition: Disposition) {
        guard let sequence = member.sequence else { return }
        let continues = settling.continues(sequence, of: member.name.type, after: disposition)
        queue.advance(sequence, continues: continues)
    }

    /// Puts operations back, uncharged. From now on this run sends the operations of their keys singly, in order.
    /// `answer` has refused their document, if it was sent.
    mutating func sendApart(
        _ members: [Member], _ destination: RunDestination, refusedBy answer: AttemptAnswer? = nil
    ) throws(SpoolError) {
        for member in members { queue.advance(member.sequence, continues: false) }
        try settling.sendApart(members, destination, refusedBy: answer)
        queue.claimTries -= members.count
    }

    private func isSentAlone(_ member: Member, _ route: Route) -> Bool {
        Settlement.isSentAlone(member.operation, name: member.name, route: route, now: clock.now())
    }

    // MARK: - Several

    /// Adds operations to the batch, oldest first, as long as they fit.
    private mutating func fill(_ attempt: Attempt) {
        let first = attempt.members[0].operation
        guard var draft = attempt.maker.batch(beginningWith: first) else { return }
        var members = attempt.members
        defer { attempt.members = members }
        while !draft.isFull {
            // At most doubles the batch: the run claims in vain, and has in memory, no more than it sends.
            let count = settling.spoolRun.isSlowToTake ? min(draft.room, members.count) : 1
            var dequeued = queue.next(of: attempt.destination, type: first.header.type, atMost: count)[...]
            if dequeued.isEmpty { return }
            if dequeued.count > 1 { takeTogether(Array(dequeued)) }
            while let next = dequeued.popFirst() {
                guard let member = claim(next.candidate, attempt.destination, attempt.maker) else {
                    continue
                }
                guard !isSentAlone(member, attempt.maker.route), draft.admit(member.operation) else {
                    // The next batch begins with this operation.
                    queue.putBackClaimed(next, member)
                    for other in dequeued { queue.putBack(other) }
                    return putBackTaken()
                }
                members.append(member)
            }
        }
    }

    private enum Merge {
        /// The operation carries the changes of all its parts.
        case whole
        /// No document expresses all of them, or two runs died while one of them was in flight: the operations are sent
        /// singly, in order.
        case impossible
        /// A part has gone since the listing, or has another name: the listing no longer says what belongs together.
        case outdated
    }

    /// Claims the older operations of a claimed one's key, and merges their payloads into it (`coalesce: "merge"`): row
    /// N, D → C for each. After a crash recovery returns all of them, and the next run merges them again.
    ///
    /// The answer decides what becomes of the parts:
    ///
    /// - Delivered: they are settled first, durably before the newest. After a crash in between, the rest is merged and
    ///   sent again (the repeat window): no older operation without the newest.
    /// - None, because the run died: the document may have been applied, so the next run sends the same document again,
    ///   under its idempotency key. After another death with one of them each goes by itself: any may be to blame.
    /// - Deferred, parked, held: they are put back as they were, and no run sends them without the newest.
    /// - Attempts or age of the newest used up: all of them fail, the older ones first. They can be retried together,
    ///   and each file has its own change.
    /// - Refused for good: any of them may be to blame, so this run and later ones send each by itself, in order, like
    ///   operations that no single document can express.
    private mutating func merge(
        into member: Member, _ maker: RequestMaker
    ) throws(SpoolError) -> Merge {
        guard let older = queue.merged[member.name.id] else { return .whole }
        if ([member.name] + older.map(\.name)).contains(where: { $0.interruptions > 1 }) { return .impossible }
        var document = MergedDocument(into: member.operation, by: maker, atMost: limits.operationBytes)
        for entry in older {
            guard let taken = try settling.spoolRun.take(entry) else {
                queue.lostClaimCount += 1
                queue.claimsLost.insert(entry.name.id)
                return .outdated
            }
            guard case .operation(let stored) = taken.file else {
                // Its own attempt says what is wrong.
                try settling.putBack(taken.claim)
                return .impossible
            }
            member.parts = member.parts + [Member.Part(claim: taken.claim, operation: stored.operation)]
            guard document.add(stored.operation) else { return .impossible }
        }
        guard let merged = document.merged() else { return .impossible }
        member.operation = merged
        return .whole
    }
}
