import Policy
import Spool

/// The step between choosing and sending: claims and reads operations just before they are sent, so that runs can share
/// a queue, and puts them into attempts: alone, in a batch, or merged with older ones of their key.
final class Claimer {
    private let spool: SpoolDirectory
    private let limits: Limits
    private let clock: RunClock
    private let settler: Settler
    private let sender: RequestSender
    private let queue: SendQueue
    /// Operations that were claimed and read together, and not used yet.
    private var taken: [EntryName: Result<SpoolRun.Taken?, SpoolError>] = [:]
    /// The operation of `send`, which was claimed as it was accepted; `nil` in a run.
    var given: Member?

    init(
        _ spool: SpoolDirectory, _ limits: Limits, _ clock: RunClock, _ settler: Settler,
        _ sender: RequestSender, _ queue: SendQueue
    ) {
        self.spool = spool
        self.limits = limits
        self.clock = clock
        self.settler = settler
        self.sender = sender
        self.queue = queue
    }

    /// Claims and reads an operation, and others if its route sends batches. Returns `nil` if there is nothing to send.
    func attempt(_ candidate: Candidate, isSample: Bool) -> Attempt? {
        let destination = settler.book[candidate]
        let maker = sender.maker(of: candidate.entry.name.type, to: destination)
        guard let first = claim(candidate, destination, maker) else { return nil }
        var attempt = Attempt(members: [first], destination: destination, maker: maker, began: clock.now())
        attempt.isSample = isSample
        attempt.isProbe = destination.state.hold != nil
        if attempt.isProbe, !settler.book.beginProbe(of: destination, at: attempt.began) {
            settler.putBack(first.claims)
            queue.advance(candidate.sequence, continues: false)
            return nil
        }
        if maker.route.batch != nil, !isSample, !attempt.isProbe, !isLastAttempt(of: first, maker.route) {
            fill(&attempt)
        }
        return attempt
    }

    // MARK: - Several at once

    /// Claims and reads the operations that begin next, together. An operation that must wait for a sync is claimed at
    /// its turn.
    func takeTogether(_ candidates: [Candidate]) {
        sender.flush()
        var names: Set<EntryName> = []
        // If two files have one name, one of them is a copy. The second one is claimed alone, at its turn.
        let candidates = candidates.filter {
            !settler.mustSync(before: $0.sequence) && names.insert($0.entry.name).inserted
        }
        let leavesBodies = candidates.allSatisfy { maker(of: $0).leavesBodies }
        let outcomes = settler.spoolRun.take(candidates.map(\.entry), limits: limits, leavingBodies: leavesBodies)
        for (candidate, outcome) in zip(candidates, outcomes) { taken[candidate.entry.name] = outcome }
    }

    private func maker(of candidate: Candidate) -> RequestMaker {
        sender.maker(of: candidate.entry.name.type, to: settler.book[candidate])
    }

    /// Puts back operations that `takeTogether` claimed and that were not begun.
    func putBackTaken() {
        if taken.isEmpty { return }
        var claims: [Claim] = []
        for (name, outcome) in taken {
            do throws(SpoolError) {
                if let taken = try outcome.get() { claims.append(taken.claim) }
            } catch {
                settler.setAside([name.id], because: error)
            }
        }
        taken = [:]
        settler.putBack(claims)
    }

    /// Claims and reads an operation, unless `takeTogether` has. Returns `nil` if another run claimed it first.
    private func take(_ entry: Entry, _ maker: RequestMaker) throws(SpoolError) -> SpoolRun.Taken? {
        if !taken.isEmpty, let outcome = taken.removeValue(forKey: entry.name) { return try outcome.get() }
        return try settler.spoolRun.take(
            entry, limits: limits, leavingBodies: maker.leavesBodies)
    }

    // MARK: - One operation

    /// Claims and reads one operation, unless `takeTogether` has. Returns `nil` if another run claimed it first, if the
    /// file is not an operation, or if it must not be sent.
    private func claim(_ candidate: Candidate, _ destination: RunDestination, _ maker: RequestMaker) -> Member? {
        let id = candidate.entry.name.id
        if let member = queue.takeClaimed(id) { return member }
        queue.claimTries += 1
        do throws(SpoolError) {
            let waitsForSync = settler.mustSync(before: candidate.sequence)
            if waitsForSync { sender.flush() }
            if !waitsForSync || settler.syncOrEndRun() {
                if let given {
                    return try ready(given, candidate, destination, maker)
                }
                if let taken = try take(candidate.entry, maker) {
                    return try member(taken, candidate, destination, maker)
                }
                queue.lostClaimCount += 1
                queue.claimsLost.insert(id)
            }
        } catch {
            // The end of the run puts the claim back, if there is one; nothing has been sent.
            settler.setAside([id], because: error)
        }
        queue.advance(candidate.sequence, continues: false)
        return nil
    }

    private func member(
        _ taken: SpoolRun.Taken, _ candidate: Candidate, _ destination: RunDestination, _ maker: RequestMaker
    ) throws(SpoolError) -> Member? {
        let claim = taken.claim
        switch taken.file {
        case .operation(let stored):
            let member = Member(claim: claim, operation: stored.operation, sequence: candidate.sequence)
            return try ready(member, candidate, destination, maker)
        case .notAnOperation(let reason):
            try settler.quarantine(claim, reason)
            if !leavesParts(candidate) { queue.advance(candidate.sequence, continues: true) }
        case .newerFormat(let version):
            try settler.putBack(claim)
            throw SpoolError(kind: .newerFormat(version), verb: "send", path: candidate.entry.path, code: 0)
        }
        return nil
    }

    /// Lets the run list again if an operation that goes unsent was to carry older ones: they come next in the order.
    /// Returns false if it was to carry none.
    private func leavesParts(_ candidate: Candidate) -> Bool {
        guard settler.operations.merged(into: candidate.entry.name.id) != nil else { return false }
        settler.operations.hasToListAgain = true
        queue.advance(candidate.sequence, continues: false)
        return true
    }

    /// Returns a claimed operation with all that its request needs; `nil` if it must not be sent now, or at all.
    private func ready(
        _ member: Member, _ candidate: Candidate, _ destination: RunDestination, _ maker: RequestMaker
    ) throws(SpoolError) -> Member? {
        var member = member
        guard settler.book.takeName(of: member.operation, for: destination, at: clock.now()) else {
            try settler.putBack(member)
            queue.advance(candidate.sequence, continues: false)
            return nil
        }
        if let settlement = settler.unsent(member.operation, member.name, maker.route) {
            if leavesParts(candidate) { member.sequence = nil }
            let attempt = Attempt(members: [member], destination: destination, maker: maker, began: clock.now())
            try settler.settleUnsent(member, settlement, attempt)
            return nil
        }
        guard try settler.fillOrPutBack(&member, maker) else {
            queue.advance(candidate.sequence, continues: false)
            return nil
        }
        switch try merge(into: &member, destination, maker) {
        case .whole: return member
        case .impossible: try settler.sendApart([member], destination)
        case .outdated:
            try settler.putBack(member)
            queue.advance(candidate.sequence, continues: false)
        }
        return nil
    }

    /// Whether the operation has to be attempted alone, see `Settlement.isLastAttempt`.
    private func isLastAttempt(of member: Member, _ route: Route) -> Bool {
        Settlement.isLastAttempt(of: member.operation, name: member.name, route: route, now: clock.now())
    }

    // MARK: - Several

    /// Adds operations to the batch, oldest first, as long as they fit.
    private func fill(_ attempt: inout Attempt) {
        let first = attempt.members[0].operation
        guard var draft = attempt.maker.batch(beginningWith: first) else { return }
        while !draft.isFull {
            // At most doubles the batch: the run claims in vain, and has in memory, no more than it sends.
            let count = settler.spoolRun.isSlowToTake ? min(draft.room, attempt.members.count) : 1
            var dequeued = queue.next(of: attempt.destination, type: first.header.type, atMost: count)[...]
            if dequeued.isEmpty { return }
            if dequeued.count > 1 { takeTogether(dequeued.map(\.candidate)) }
            while let next = dequeued.popFirst() {
                guard let member = claim(next.candidate, attempt.destination, attempt.maker) else { continue }
                guard !isLastAttempt(of: member, attempt.route), draft.admit(member.operation) else {
                    // The next batch begins with this operation.
                    queue.putBackClaimed(next, member)
                    for other in dequeued { queue.putBack(other) }
                    return putBackTaken()
                }
                attempt.members.append(member)
            }
        }
    }

    private enum Merge {
        /// The operation carries the changes of all its parts.
        case whole
        /// No document expresses all of them: they are sent one after the other.
        case impossible
        /// A part has gone since the listing, has another name, or has expired: the listing no longer says what belongs
        /// together.
        case outdated
    }

    /// Claims the older operations of a claimed one's key, and merges their payloads into it (`coalesce: "merge"`): row
    /// N, D → C for each. After a crash recovery returns all of them, and the next run merges them again.
    ///
    /// The answer decides what becomes of the parts:
    ///
    /// - Delivered: they are settled first, durably before the newest. After a crash in between, the rest is merged and
    ///   sent again (the repeat window): never an older one without the newest.
    /// - Deferred, parked, held: they are put back as they were, and no run sends them without the newest.
    /// - Attempts or age of the newest used up: all of them fail, the older ones first. They can be retried together,
    ///   and each file has its own change.
    /// - Refused for good: any of them may be to blame, so this run sends each by itself, in order. It does the same
    ///   with operations that no single document can express.
    ///
    /// The idempotency key is made from the keys of all of them, so that the server does not take one document for a
    /// repetition of another.
    private func merge(
        into member: inout Member, _ destination: RunDestination, _ maker: RequestMaker
    ) throws(SpoolError) -> Merge {
        guard let older = settler.operations.merged(into: member.name.id) else { return .whole }
        var patch: MergePatch?
        var length = member.operation.bodyLength
        var isOutdated = false
        for entry in older {
            guard let taken = try settler.spoolRun.take(entry, limits: limits) else {
                queue.lostClaimCount += 1
                queue.claimsLost.insert(entry.name.id)
                return .outdated
            }
            guard case .operation(let stored) = taken.file else {
                // Its own attempt says what is wrong with it.
                try settler.putBack(taken.claim)
                return .impossible
            }
            let operation = stored.operation
            if let settlement = settler.unsent(operation, entry.name, maker.route) {
                let part = Member(claim: taken.claim, operation: operation)
                let attempt = Attempt(members: [part], destination: destination, maker: maker, began: clock.now())
                try settler.settleUnsent(part, settlement, attempt)
                isOutdated = true
                continue
            }
            member.parts.append(Member.Part(claim: taken.claim, operation: operation))
            if isOutdated { continue }
            length += operation.bodyLength
            guard operation.goesTogether(with: member.operation), length <= limits.operationBytes else {
                return .impossible
            }
            if patch == nil {
                patch = MergePatch(operation.body)
            } else if patch?.merge(operation.body) != true {
                return .impossible
            }
        }
        if isOutdated {
            settler.operations.hasToListAgain = true
            return .outdated
        }
        guard var patch, patch.merge(member.operation.body) else { return .impossible }
        let keys = member.parts.map(\.operation.header.serverKey) + [member.operation.header.serverKey]
        member.operation.body = patch.bytes
        member.operation.header.idempotencyKey = "merge-\(Digest(of: keys.joined(separator: "\n")))"
        return .whole
    }
}

extension Operation {
    /// Whether one request can carry the changes of both operations.
    fileprivate func goesTogether(with newer: Operation) -> Bool {
        header.bodyFile == nil && newer.header.bodyFile == nil && header.url == newer.header.url
            && header.method == newer.header.method && header.headers == newer.header.headers
            && header.contentType == newer.header.contentType
    }
}

extension OperationHeader {
    /// The key by which the server knows the operation.
    fileprivate var serverKey: String { idempotencyKey ?? id.description }
}
