import Policy
import Spool

/// An operation that is taken out of the order, with the right to begin its attempt.
struct Turn {
    let position: Int
    let candidate: Candidate
}

/// The operations that a pass still has to send: the chosen ones in dispatch order, and the work before them.
final class SendQueue {
    /// The number of operations of this pass that were claimed, or that a rival had claimed first, and not put back unsent.
    var begun = 0
    /// How many of these a rival had claimed first.
    var lost = 0
    /// The operations whose claims were lost in this pass.
    var lostOperations: Set<OperationID> = []
    /// Whether a new listing would have to wait long for an attempt in flight. Then what was chosen is sent, whatever
    /// rivals have taken of it: a slow destination delays no other one.
    var isKeptWaiting = false
    /// How many may be lost before the listing is out of date, however few were claimed: none, unless no claim was won in
    /// the pass before.
    private var lossesAllowed = 0
    private var order = DispatchOrder()
    /// The chosen operations, by their position in the order.
    private var candidates: [Candidate] = []
    /// The destinations, by their line in the order.
    private(set) var destinations: [RunDestination] = []
    /// Operations in the order that are claimed and read already: the batch before them had no room for them.
    private var claimed: [OperationID: Member] = [:]
    /// The destinations that have urgent work or withheld answers: there may be thousands of others.
    private var watched: [Digest: RunDestination] = [:]
    /// The destinations whose limits may delay an attempt.
    private var limited: [RunDestination] = []

    /// Begins a pass. The queue is empty then.
    func begin() {
        // Names that nobody can claim, as a file system may show them, must not keep a run from what stands behind them.
        isKeptWaiting = false
        lossesAllowed = isOutdated && lost == begun ? max(1, lossesAllowed * 2) : 0
        (begun, lost, lostOperations) = (0, 0, [])
        order = DispatchOrder()
        (candidates, destinations, claimed, watched, limited) = ([], [], [:], [:], [])
    }

    /// Puts an operation behind those that were appended before.
    func append(_ candidate: Candidate, of destination: RunDestination) {
        if !has(destination) {
            destination.line = destinations.count
            destinations.append(destination)
            if destination.limits.mayDelay { limited.append(destination) }
        }
        candidates.append(candidate)
        order.append(to: destination.line, sequence: candidate.sequence)
    }

    /// Empties the queue, and returns the operations that are claimed and not settled: nothing more is sent in this pass.
    func end() -> [Member] {
        var members = Array(claimed.values)
        begun -= members.count
        claimed = [:]
        for destination in destinations {
            members += destination.withheld.flatMap(\.attempt.members)
            for case .claimed(let attempt) in destination.urgent { members += attempt.members }
            destination.forgetWork()
            destination.limits.giveBack(inFlight: destination.inFlight)
        }
        return members
    }

    /// Whether rivals have claimed so much of what was chosen that the queue has to be listed again: more than one claim in
    /// a hundred was lost. Then nothing more of the order is sent in this pass.
    ///
    /// Answers that wait for others keep the pass going: without these they would be taken for the whole truth.
    var isOutdated: Bool { !isKeptWaiting && lost > max(lossesAllowed, begun / 100) && watched.isEmpty }

    // MARK: - What goes first

    /// Sends operations that are claimed before anything else of their destination, and by themselves.
    func sendFirst(_ attempt: Attempt) {
        attempt.destination.urgent.append(.claimed(attempt))
        watch(attempt.destination)
    }

    /// Sends a request once more in this run, alone and under the next attempt number, without a charge.
    func sendAgain(_ attempt: Attempt) {
        var again = attempt
        again.uncharged += 1
        sendFirst(again)
    }

    /// Sends up to `count` samples before anything else of a destination, the newest first: of those that were not chosen,
    /// then of the order. One that turns out not to be needed is sent all the same.
    ///
    /// An operation that was not chosen is of no sequence, or the head of one that nothing was chosen of.
    func sample(_ destination: RunDestination, upTo count: Int, where fits: (Candidate) -> Bool) {
        var samples = Array(destination.newest.filter(fits).prefix(count))
        let names = Set(samples.map(\.entry.name))
        destination.newest.removeAll { names.contains($0.entry.name) }
        if has(destination) {
            samples += order.newest(of: destination.line, upTo: count - samples.count).map { candidates[$0] }
        }
        destination.urgent += samples.map(Work.sample)
        watch(destination)
    }

    /// Looks at a destination whose answers wait for others.
    func watch(_ destination: RunDestination) {
        watched[destination.digest] = destination
    }

    /// The destinations whose withheld answers wait for nothing any more.
    var quietDestinations: [RunDestination] {
        watched.values.filter { destination in
            !destination.withheld.isEmpty && destination.isQuiet
                && (destination.isSampling || isEmpty(of: destination) || destination.isClosed)
        }
    }

    // MARK: - What goes next

    /// Whether an operation waits for anything but a limit. Those of a closed destination wait for that.
    var hasWork: Bool {
        !isOutdated && destinations.contains { $0.concurrencyLimit > 0 && !isEmpty(of: $0) }
            || watched.values.contains { !$0.urgent.isEmpty && !$0.isClosed }
    }

    /// Takes out the next work that skips the order, and the right to begin it; `nil` where none may begin now.
    func nextUrgent(at elapsed: Duration) -> Work? {
        for (digest, destination) in watched {
            guard destination.needsAttention else {
                watched[digest] = nil
                continue
            }
            if !destination.urgent.isEmpty, destination.inFlight == 0, !destination.isClosed,
                destination.limits.wait(at: elapsed) == .zero, take(of: destination, at: elapsed)
            {
                return destination.urgent.removeFirst()
            }
        }
        return nil
    }

    /// Takes out the next operation of the order, and the right to begin its attempt; `nil` where none may begin now. `free`
    /// attempts may begin.
    func next(free: Int, at elapsed: Duration) -> Turn? {
        if isOutdated { return nil }
        let destinations = destinations
        while let position = order.next(
            free: free, inFlight: { destinations[$0].inFlight },
            allowance: {
                destinations[$0].limits.wait(at: elapsed) == .zero ? destinations[$0].concurrencyLimit : 0
            })
        {
            if take(of: destinations[order.line(of: position)], at: elapsed) {
                return Turn(position: position, candidate: candidates[position])
            }
            order.takeBack(position)
        }
        return nil
    }

    /// Takes the right to begin one attempt; false where other runs have all of it, now or for long.
    private func take(of destination: RunDestination, at elapsed: Duration) -> Bool {
        let limits = destination.limits
        if limits.take(at: elapsed, inFlight: destination.inFlight) { return true }
        destination.isLeftToOthers = destination.inFlight == 0 && limits.isExhausted(at: elapsed)
        return false
    }

    /// Takes out the next operations of a destination as long as they are of this type, for a batch.
    func next(of destination: RunDestination, type: TypeName, atMost count: Int) -> [Turn] {
        var turns: [Turn] = []
        while !isOutdated, turns.count < count,
            let position = order.next(of: destination.line, where: { candidates[$0].entry.name.type == type })
        {
            turns.append(Turn(position: position, candidate: candidates[position]))
        }
        return turns
    }

    /// The time until the limits of a destination let its next attempt begin; `nil` if they delay none. Asked where nothing
    /// may begin: where a delay has just ended the time is short, not none.
    func waitForLimits(at elapsed: Duration) -> Duration? {
        if isOutdated { return nil }
        return limited.compactMap { destination -> Duration? in
            let isWaiting =
                !isEmpty(of: destination) && destination.concurrencyLimit > 0 || !destination.urgent.isEmpty
            let wait = destination.limits.wait(at: elapsed)
            let isOver = wait == .zero && destination.inFlight > 0
            return isWaiting && !destination.isClosed && !isOver ? max(wait, .milliseconds(1)) : nil
        }.min()
    }

    // MARK: - What was taken out

    /// Puts back into the order an operation whose attempt is not begun.
    func takeBack(_ turn: Turn) {
        order.takeBack(turn.position)
    }

    /// Puts back into the order an operation that is claimed and did not fit a batch.
    func takeBack(_ turn: Turn, _ member: Member) {
        claimed[member.name.id] = member
        takeBack(turn)
    }

    /// Takes out what `takeBack` put back; `nil` for an operation that is not claimed.
    func takeClaimed(_ id: OperationID) -> Member? {
        claimed.isEmpty ? nil : claimed.removeValue(forKey: id)
    }

    /// Lets the next operation of a sequence go, or takes all the rest of it out of this pass.
    func settled(_ sequence: SequenceKey?, continues: Bool) {
        if let sequence { order.settled(sequence, continues: continues) }
    }

    private func isEmpty(of destination: RunDestination) -> Bool {
        !has(destination) || order.isEmpty(destination.line)
    }

    private func has(_ destination: RunDestination) -> Bool {
        destination.line < destinations.count && destinations[destination.line] === destination
    }
}
