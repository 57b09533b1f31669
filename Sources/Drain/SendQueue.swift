import Policy
import Spool

/// What a pass has still to send: the chosen operations in dispatch order, and the work that goes before them.
final class SendQueue {
    /// How many operations of this pass were claimed and not put back unsent.
    var begun = 0
    private var order = DispatchOrder()
    /// By their position in the order.
    private var candidates: [Candidate] = []
    /// By their line in the order.
    private(set) var destinations: [RunDestination] = []
    /// Operations in the order that are claimed and read already: the batch before them had no room for them.
    private var claimed: [OperationID: Member] = [:]
    /// The destinations that have urgent work or withheld answers: there may be thousands of others.
    private var watched: [Digest: RunDestination] = [:]
    /// The destinations with a rate.
    private var paced: [RunDestination] = []

    /// Begins a pass. The queue is empty then.
    func begin() {
        begun = 0
        order = DispatchOrder()
        (candidates, destinations, claimed, watched, paced) = ([], [], [:], [:], [])
    }

    /// Puts an operation behind those that were appended before.
    func append(_ candidate: Candidate, of destination: RunDestination) {
        if !has(destination) {
            destination.line = destinations.count
            destinations.append(destination)
            if destination.pace.interval > .zero { paced.append(destination) }
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
        }
        return members
    }

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

    /// Whether an operation waits for anything but a rate. Those of a closed destination wait for that.
    var hasWork: Bool {
        destinations.contains { $0.concurrencyLimit > 0 && !isEmpty(of: $0) }
            || watched.values.contains { !$0.urgent.isEmpty && !$0.isClosed }
    }

    /// Takes out the next work that skips the order; `nil` where none may begin now.
    func nextUrgent(at elapsed: Duration) -> Work? {
        for (digest, destination) in watched {
            guard destination.needsAttention else {
                watched[digest] = nil
                continue
            }
            if !destination.urgent.isEmpty, destination.inFlight == 0, !destination.isClosed,
                destination.pace.wait(at: elapsed) == .zero
            {
                return destination.urgent.removeFirst()
            }
        }
        return nil
    }

    /// Takes out the next operation of the order; `nil` where none may begin now. `free` attempts may begin.
    func next(free: Int, at elapsed: Duration) -> Candidate? {
        let destinations = destinations
        let position = order.next(
            free: free, inFlight: { destinations[$0].inFlight },
            allowance: {
                destinations[$0].pace.wait(at: elapsed) == .zero ? destinations[$0].concurrencyLimit : 0
            })
        return position.map { candidates[$0] }
    }

    /// Takes out the next operation of a destination if it is of this type, for a batch.
    func next(of destination: RunDestination, type: TypeName) -> (position: Int, candidate: Candidate)? {
        let position = order.next(of: destination.line) { candidates[$0].entry.name.type == type }
        return position.map { ($0, candidates[$0]) }
    }

    /// How long until the rate of a destination lets its next attempt begin; `nil` where no rate is in the way.
    func waitForRate(at elapsed: Duration) -> Duration? {
        paced.compactMap { destination -> Duration? in
            let isWaiting =
                !isEmpty(of: destination) && destination.concurrencyLimit > 0 || !destination.urgent.isEmpty
            let wait = destination.pace.wait(at: elapsed)
            return isWaiting && !destination.isClosed && wait > .zero ? wait : nil
        }.min()
    }

    // MARK: - What was taken out

    /// Puts back into the order an operation that is claimed and did not fit a batch.
    func takeBack(_ position: Int, _ member: Member) {
        claimed[member.name.id] = member
        order.takeBack(position)
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
