import Policy
import Spool

/// The operations left for a pass to send: the chosen ones in dispatch order, and the urgent work before them.
struct SendQueue {
    /// The number of claims tried in this pass, won or lost, without claims put back unsent.
    var claimTries = 0
    /// The number of claims lost: another run claimed the operation first.
    var lostClaimCount = 0
    /// The operations whose claims were lost in this pass.
    var claimsLost: Set<OperationID> = []
    /// Whether a new listing would have to wait long for an attempt in flight. Then the pass sends its chosen
    /// operations, although other runs have claimed some of them: a slow destination does not delay other destinations.
    var toleratesLostClaims = false
    /// Whether to wait for turns of a rate that are far: the run stays, or `send` waits for its operation.
    var mayWaitForTurns = true
    /// The number of lost claims tolerated even if the pass wins no claim: 0 at first, doubled after each pass without
    /// a claim won.
    private var lostClaimsAllowed = 0
    private var order = DispatchOrder()
    /// The chosen operations, by their position in the order.
    private var candidates: [Candidate] = []
    /// The older operations merged with each chosen one, oldest first.
    private(set) var merged: [OperationID: [Entry]] = [:]
    /// The destinations, by their line in the order.
    private(set) var destinations: [RunDestination] = []
    /// Operations in the order, claimed and read already because the batch before had no room for them.
    private var claimed: [OperationID: Member] = [:]
    /// The destinations with urgent work or withheld answers, listed apart because there may be thousands of others.
    private var watched: [Digest: RunDestination] = [:]
    /// The destinations whose limits may delay an attempt.
    private var limited: [RunDestination] = []

    /// Begins a pass with an empty queue.
    mutating func begin(merging merged: [OperationID: [Entry]] = [:]) {
        self.merged = merged
        toleratesLostClaims = false
        // Some file systems list a name that no run can claim. Without this allowance every pass would stop at such a
        // name.
        lostClaimsAllowed = isOutdated && lostClaimCount == claimTries ? max(1, lostClaimsAllowed * 2) : 0
        (claimTries, lostClaimCount, claimsLost) = (0, 0, [])
        order = DispatchOrder()
        (candidates, destinations, claimed, watched, limited) = ([], [], [:], [:], [])
    }

    /// Puts an operation behind the operations appended before.
    mutating func append(_ candidate: Candidate, of destination: RunDestination) {
        if !has(destination) {
            destination.queueIndex = destinations.count
            destinations.append(destination)
            if destination.limits.mayDelay { limited.append(destination) }
        }
        candidates.append(candidate)
        order.append(to: destination.queueIndex, sequence: candidate.sequence)
    }

    /// Empties the queue, and so ends sending in this pass. Returns the claimed operations not settled yet. `refused`
    /// are those of refused batches, unless the hold of their destination says that none of them is to blame.
    mutating func end() -> (unsent: [Member], refused: [Attempt]) {
        var left = (unsent: Array(claimed.values), refused: [Attempt]())
        claimTries -= claimed.count
        claimed = [:]
        for destination in destinations {
            for case .claimed(let attempt) in destination.urgent {
                if attempt.refusal == nil || destination.control.isHeld {
                    left.unsent += attempt.members
                } else {
                    left.refused.append(attempt)
                }
            }
            destination.urgent = []
            destination.limits.giveBack(inFlight: destination.inFlight)
        }
        return left
    }

    /// Whether the queue must be listed again because other runs have claimed so many of the chosen operations: more
    /// than one claim in a hundred was lost, and more than `lostClaimsAllowed`. Then this pass sends nothing more of
    /// the order.
    ///
    /// Answers that are withheld keep the pass going: else the storm guard would decide by them alone.
    var isOutdated: Bool {
        !toleratesLostClaims && lostClaimCount > max(lostClaimsAllowed, claimTries / 100) && watched.isEmpty
    }

    // MARK: - What goes first

    /// Queues claimed operations as an attempt of their own, before the work of the order, behind other urgent work.
    mutating func enqueueFirst(_ attempt: Attempt) {
        attempt.destination.urgent.append(.claimed(attempt))
        watch(attempt.destination)
    }

    /// Queues operations whose request was sent to be sent again in this run, under the next attempt number. The
    /// earlier attempt is not charged.
    mutating func enqueueAgain(_ attempt: Attempt) {
        attempt.unchargedCount += 1
        enqueueFirst(attempt)
    }

    /// Queues up to `count` samples before all other work of a destination, from the far end of the dispatch order:
    /// operations that were not chosen, then operations of the order, then operations of earlier batches waiting to be
    /// sent alone.
    ///
    /// An operation that was not chosen is the first of its sequence, or has no sequence; none of its sequence was
    /// chosen.
    mutating func sample(_ destination: RunDestination, upTo count: Int, where fits: (Candidate) -> Bool) {
        let unchosen = destination.newest.filter(fits).prefix(count)
        let names = Set(unchosen.map(\.entry.name))
        destination.newest.removeAll { names.contains($0.entry.name) }
        var work = unchosen.map { Work.sample($0, position: nil) }
        if has(destination) {
            work += order.takeNewest(of: destination.queueIndex, upTo: count - work.count).map {
                .sample(candidates[$0], position: $0)
            }
        }
        for index in destination.urgent.indices.reversed() where work.count < count {
            guard case .claimed(let attempt) = destination.urgent[index], attempt.members.count == 1 else { continue }
            attempt.isSample = true
            destination.urgent.remove(at: index)
            work.append(.claimed(attempt))
        }
        destination.urgent.insert(contentsOf: work, at: 0)
        watch(destination)
    }

    /// Puts the samples of a destination that no guard needs any more back into the order, or among those not chosen.
    mutating func putBackSamples(of destination: RunDestination) {
        destination.urgent.removeAll { work in
            guard case .sample(let candidate, let position) = work else { return false }
            if let position { order.putBack(position) } else { destination.newest.append(candidate) }
            return true
        }
    }

    /// Watches a destination with urgent work or withheld answers.
    mutating func watch(_ destination: RunDestination) {
        watched[destination.digest] = destination
    }

    /// The destinations whose withheld answers have nothing left to wait for.
    var quietDestinations: [RunDestination] {
        watched.values.filter { destination in
            destination.control.isWithholding && destination.isQuiet
                && (destination.control.isSampling || isEmpty(of: destination) || destination.isBlocked)
        }
    }

    // MARK: - What goes next

    /// Whether an operation may be sent as soon as limits allow. Excludes the operations of blocked destinations.
    var hasWork: Bool {
        !isOutdated && destinations.contains { $0.concurrencyLimit > 0 && !isEmpty(of: $0) }
            || watched.values.contains { !$0.urgent.isEmpty && !$0.isBlocked }
    }

    /// Removes the next urgent work, and acquires its slot and span; `nil` if none may begin now.
    mutating func nextUrgent(at elapsed: Duration) -> Work? {
        for (digest, destination) in watched {
            guard destination.needsAttention else {
                watched[digest] = nil
                continue
            }
            if !destination.urgent.isEmpty, destination.inFlight == 0, !destination.isBlocked,
                destination.limits.wait(at: elapsed) == .zero, acquireOrLeave(of: destination, at: elapsed)
            {
                return destination.urgent.removeFirst()
            }
        }
        return nil
    }

    /// Removes the next operation of the order, and acquires the slot and the span of its attempt; `nil` if none may
    /// begin now. `free` is the number of attempts that may begin, and `room` the part for destinations with less
    /// trust.
    mutating func next(
        free: Int, room: DispatchOrder.Room = .init(), at elapsed: Duration
    ) -> DequeuedOperation? {
        if isOutdated { return nil }
        let (destinations, candidates) = (destinations, candidates)
        while let position = order.next(
            free: free, inFlight: { destinations[$0].inFlight },
            turn: { destinations[$0].turn(at: elapsed) }, trust: { destinations[$0].control.trust }, room: room)
        {
            let (destination, candidate) = (destinations[order.line(of: position)], candidates[position])
            guard destination.control.admits(attempts: candidate.entry.name.attempts) else {
                // The operation and the rest of its sequence stay in the queue for another pass.
                advance(candidate.sequence, continues: false)
                continue
            }
            if acquireOrLeave(of: destination, at: elapsed) {
                return DequeuedOperation(position: position, candidate: candidate, destination: destination)
            }
            order.putBack(position)
        }
        return nil
    }

    /// Acquires a slot and a span of the rate for an attempt. Returns false if another process has either. If this
    /// process has been without a slot for long, leaves the destination to others.
    private func acquireOrLeave(of destination: RunDestination, at elapsed: Duration) -> Bool {
        let limits = destination.limits
        let isOnly = candidates.count == 1
        if limits.acquire(at: elapsed, inFlight: destination.inFlight, isOnly: isOnly) { return true }
        destination.control.isLeftForNow =
            destination.inFlight == 0 && limits.isExhausted(at: elapsed, mayWait: mayWaitForTurns)
        return false
    }

    /// Removes the next operations of a destination for a batch, as long as they are of this type.
    mutating func next(of destination: RunDestination, type: TypeName, atMost count: Int) -> [DequeuedOperation] {
        var dequeued: [DequeuedOperation] = []
        let candidates = candidates
        while !isOutdated, dequeued.count < count,
            let position = order.next(
                of: destination.queueIndex,
                where: {
                    let name = candidates[$0].entry.name
                    return name.type == type && destination.control.admits(attempts: name.attempts)
                })
        {
            dequeued.append(
                DequeuedOperation(position: position, candidate: candidates[position], destination: destination))
        }
        return dequeued
    }

    /// Leaves the destinations whose next turn is far, in a run that does not stay.
    func leaveFarTurns(at elapsed: Duration) {
        if mayWaitForTurns || isOutdated { return }
        for destination in limited
        where destination.inFlight == 0 && destination.limits.wait(at: elapsed) > DestinationLimits.patience {
            destination.control.isLeftForNow = true
        }
    }

    /// Returns the time until limits let the next attempt begin; `nil` if they delay none. Asked when nothing may
    /// begin: if a delay has just ended, returns a short time, not zero.
    func waitForLimits(at elapsed: Duration) -> Duration? {
        if isOutdated { return nil }
        return limited.compactMap { destination -> Duration? in
            let isWaiting =
                !isEmpty(of: destination) && destination.concurrencyLimit > 0 || !destination.urgent.isEmpty
            let wait = destination.limits.wait(at: elapsed)
            let waitsForReport = wait == .zero && destination.inFlight > 0
            return isWaiting && !destination.isBlocked && !waitsForReport ? max(wait, .milliseconds(1)) : nil
        }.min()
    }

    // MARK: - What was taken out

    /// Puts an operation back into the order, if its attempt is not begun.
    mutating func putBack(_ operation: DequeuedOperation) {
        order.putBack(operation.position)
    }

    /// Puts a claimed operation back into the order, if it did not fit a batch.
    mutating func putBackClaimed(_ operation: DequeuedOperation, _ member: Member) {
        claimed[member.name.id] = member
        putBack(operation)
    }

    /// Removes a claimed operation put back by `putBackClaimed`; `nil` if the operation is not claimed.
    mutating func takeClaimed(_ id: OperationID) -> Member? {
        claimed.isEmpty ? nil : claimed.removeValue(forKey: id)
    }

    /// Lets the next operation of a sequence be sent, or removes the rest of the sequence from this pass.
    mutating func advance(_ sequence: SequenceKey?, continues: Bool) {
        if let sequence { order.advance(sequence, continues: continues) }
    }

    func isEmpty(of destination: RunDestination) -> Bool {
        !has(destination) || order.isEmpty(destination.queueIndex)
    }

    private func has(_ destination: RunDestination) -> Bool {
        destination.queueIndex < destinations.count && destinations[destination.queueIndex] === destination
    }
}
