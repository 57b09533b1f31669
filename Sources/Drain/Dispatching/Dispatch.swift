import Delivery
import Policy
import Spool

/// The attempts in flight: begins attempts within all limits, and takes in their reports.
///
/// One thread decides. Between two waits for reports it settles and claims; in a slow directory it waits while file
/// workers do this. After a crash the next run returns this run's claims; whether their requests arrived is unknown
/// (the repeat window).
struct Dispatch: ~Copyable {
    let spool: SpoolDirectory
    let limits: Limits
    let world: World
    let tally: RunTally
    let book: DestinationBook
    let conditions: MachineConditions
    let sender: RequestSender
    var stop: StopCheck
    var queue = SendQueue()
    var settling: Settling
    /// The operation of `send`, claimed on acceptance; `nil` in a run.
    var given: Member?
    /// Whether an operator names the operations, and so overrides that they are parked.
    let ignoresParking: Bool
    /// Operations claimed and read together, and not used yet, the next one last.
    var taken: [(candidate: Candidate, outcome: Result<SpoolRun.Taken?, SpoolError>)] = []
    /// The attempts in flight by ticket.
    private(set) var inFlight: [Int: Attempt] = [:]
    /// The attempts that wait for credentials, by ticket.
    var waiting: [Int: Waiting] = [:]
    var waitingCount = 0
    /// The destinations with attempts in flight or dequeued operations.
    private var busy: [ObjectIdentifier: RunDestination] = [:]

    /// Whether the last attempt of the order went to a destination whose last answer was no delivery.
    private var lastWasUnproven = false

    init(_ parts: RunParts, _ settling: consuming Settling) {
        spool = parts.spool
        limits = parts.configuration.limits
        world = parts.world
        tally = parts.tally
        book = parts.book
        conditions = parts.conditions
        sender = parts.sender
        stop = StopCheck(parts)
        self.settling = settling
        queue.mayWaitForTurns = parts.options.stay != .no
        ignoresParking = parts.options.ignoresBackoff && parts.options.ids != nil
    }

    var clock: RunClock { world.clock }

    /// Stops the run if it has to, see `StopCheck`. Returns whether it has.
    mutating func stopIfAsked() -> Bool { stop.stopIfAsked(&settling) }

    /// Attempts the chosen operations in order. Returns the number of claims tried, once no attempt is in flight.
    mutating func attempt(
        _ chosen: [Candidate], merging merged: [OperationID: [Entry]] = [:]
    ) -> Int {
        tally.begin(.claiming)
        defer { tally.begin(.choosing) }
        queue.begin(merging: merged)
        if !settling.hasSubmitter { beginStormGuards(for: chosen) }
        for candidate in inOrder(chosen) { queue.append(candidate, of: book[candidate]) }
        while makeProgress() {}
        judgeRefused()
        // Before the cut-off: no operation comes back while its successor is in flight.
        concludeAll()
        cutOff()
        queue.toleratesLostClaims = false
        if queue.isOutdated { settling.hasToListAgain = true }
        let left = queue.end()
        for attempt in left.refused { settleRefused(attempt) }
        settling.putBack(left.unsent.flatMap(\.claims).filter(\.isOpen))
        settling.syncOrEndRun()
        book.tell()
        settling.operations.passOver(queue.claimsLost, hasWonAny: queue.claimTries > queue.lostClaimCount)
        return queue.claimTries
    }

    /// Puts the probe of each destination first. A hold is probed with the newest operation, which did not cause the
    /// hold; after a failure or a retry-after, the operation whose last request is longest ago is first, and one
    /// without a request before: each operation has its turn, whether or not its attempts count.
    private func inOrder(_ chosen: [Candidate]) -> [Candidate] {
        var order = chosen
        for (digest, destination) in book.destinations where destination.control.isProbing {
            let heads = order.indices.filter { order[$0].destination.digest == digest && order[$0].isHead }
            if destination.state.hold == nil {
                // Heads without a request before go in the order of their routes.
                let turns = heads.sorted { (order[$0].lastRequest, $0) < (order[$1].lastRequest, $1) }.map { order[$0] }
                // All heads before all others: none goes behind an operation of its sequence.
                for index in heads.reversed() { order.remove(at: index) }
                order.insert(contentsOf: turns, at: 0)
                continue
            }
            // Operations of other runs' shares follow in reverse order, so the newest operation is not always the last.
            guard let last = heads.max(by: { order[$0].age < order[$1].age }) else { continue }
            if let newer = destination.newest.first, newer.age > order[last].age {
                destination.newest.removeFirst()
                // The limit chose all but the newest: the last of the order, with none behind it, gives up its place.
                order.removeLast()
                order.insert(newer, at: 0)
            } else {
                order.insert(order.remove(at: last), at: 0)
            }
        }
        return order
    }

    /// Begins attempts, then waits for reports and takes them in. Returns false if this pass begins nothing more, and
    /// takes in no further report.
    private mutating func makeProgress() -> Bool {
        stop.beginGraceIfAsked(inFlight: inFlight.count + refusedCount, &settling)
        if stop.graceEnd != nil { putBackWaiting() }
        var delay: Duration?
        if stop.graceEnd == nil {
            delay = beginAttempts()
            sender.flush()
        }
        settling.settleDecided()
        releaseSequences()
        if stop.graceEnd == nil {
            if tally.hasEnded || concludeQuiet() { return true }
            if inFlight.isEmpty, waiting.isEmpty {
                guard let delay, stop.waits(for: delay) else { return false }
                settling.syncOrEndRun()
                stop.sleep(until: clock.instant() + min(delay, OperatorCheck.interval))
                return true
            }
        } else if inFlight.isEmpty, waiting.isEmpty {
            return false
        }
        takeReports(delay)
        return !stop.cutsOff
    }

    /// Releases the sequence locks of destinations with nothing left to do in this pass: other runs send what comes in
    /// meanwhile. What they have settled is synced first, and no claim of theirs is open.
    private mutating func releaseSequences() {
        let locks = settling.spoolRun.sequences
        if locks.isEmpty || settling.hasSubmitter || !settling.operations.setAside.isEmpty { return }
        for digest in Array(locks.taken) {
            if let destination = book.destinations[digest] {
                if !destination.isQuiet || destination.control.isWithholding || !queue.isEmpty(of: destination) {
                    continue
                }
            }
            if settling.syncOrEndRun() { locks.release(digest) }
        }
    }

    // MARK: - Beginning

    /// The longest delay of a new listing by an attempt in flight.
    private static let longWait = Duration.seconds(1)

    /// Begins the attempts that may begin now. Returns the time until more may begin, if only limits delay them.
    private mutating func beginAttempts() -> Duration? {
        queue.toleratesLostClaims =
            queue.lostClaimCount > 0 && inFlight.values.contains { clock.now() - $0.began > Self.longWait }
        while sender.hasRoom(beside: inFlight.count + waiting.count) {
            let wait = max(sender.pace.wait(at: tally.elapsed), conditions.delay)
            if wait > .zero, queue.hasWork { return wait }
            if let work = queue.nextUrgent(at: tally.elapsed) {
                switch work {
                case .sample(let candidate, position: _):
                    let destination = book[candidate]
                    countBegun(destination)
                    claimAndSend(candidate, to: destination, isSample: true)
                case .claimed(let attempt):
                    countBegun(attempt.destination)
                    send(attempt)
                }
            } else {
                let dequeued = dequeue()
                if dequeued.isEmpty {
                    queue.leaveFarTurns(at: tally.elapsed)
                    return queue.waitForLimits(at: tally.elapsed)
                }
                claimAndSend(dequeued)
            }
            if stopIfAsked() { return nil }
        }
        return nil
    }

    /// Removes the next operation to begin. In a slow directory, removes every operation that may begin now, up to one
    /// whose destination has a rate or whose route sends batches, and claims them together. Counts each as in flight.
    private mutating func dequeue() -> [DequeuedOperation] {
        var dequeued: [DequeuedOperation] = []
        var isLast = !settling.spoolRun.isSlowToTake || sender.pace.isSpaced || sender.sendsLargeBodies
        repeat {
            let free = sender.concurrency - inFlight.count - waiting.count - dequeued.count
            let (failing, unproven) = busy.values.reduce((0, 0)) { sum, destination in
                switch destination.control.trust {
                case .delivers: sum
                case .unknown: (sum.0, sum.1 + destination.inFlight)
                case .fails: (sum.0 + destination.inFlight, sum.1 + destination.inFlight)
                }
            }
            let room = DispatchOrder.Room(
                of: sender.concurrency, failing: failing, unproven: unproven, lastWasUnproven: lastWasUnproven)
            guard let operation = queue.next(free: free, room: room, at: tally.elapsed) else { break }
            let destination = operation.destination
            lastWasUnproven = destination.control.trust != .delivers
            countBegun(destination)
            dequeued.append(operation)
            let maker = book.maker(of: operation.candidate.entry.name.type, to: destination)
            isLast = isLast || destination.limits.hasRate || maker.sendsBatches
        } while !isLast
        if dequeued.count > 1 { takeTogether(dequeued) }
        return dequeued
    }

    /// Begins attempts in order. If an attempt blocks its destination, or the run must stop, puts the remaining
    /// operations back.
    private mutating func claimAndSend(_ dequeued: [DequeuedOperation]) {
        for (count, operation) in dequeued.enumerated() {
            let destination = operation.destination
            if count > 0, stopIfAsked() || destination.inFlight > destination.concurrencyLimit {
                queue.putBack(operation)
                countEnded(destination)
            } else {
                claimAndSend(operation.candidate, to: destination, isSample: false)
            }
        }
        putBackTaken()
    }

    private mutating func claimAndSend(_ candidate: Candidate, to destination: RunDestination, isSample: Bool) {
        guard let attempt = claim(candidate, to: destination, isSample: isSample) else {
            return countEnded(destination)
        }
        send(attempt)
    }

    /// Sends the request of an attempt: each begins here. If no request can be made, settles its operations or puts
    /// them back.
    mutating func send(_ attempt: Attempt) {
        let destination = attempt.destination
        do throws(SpoolError) {
            guard try settleUnsendable(of: attempt) else { return countEnded(destination) }
            if let work = sender.work(before: attempt) { return wait(attempt, for: work) }
            guard try beginProbe(attempt) else { return countEnded(destination) }
        } catch {
            countEnded(destination)
            return settling.setAside(attempt.members.map(\.name.id), because: error)
        }
        do throws(SinkError) {
            switch try sender.request(for: attempt) {
            case .failure(let refusal):
                countEnded(destination)
                return refuse(attempt, because: refusal)
            case .success(let request):
                if putBackUnsound(attempt) { return countEnded(destination) }
                if putBackWithheld(attempt) {
                    // The request of the remaining operations is another one.
                    return attempt.members.isEmpty ? countEnded(destination) : send(attempt)
                }
                try sender.submit(request, of: attempt, from: settling.spoolRun)
            }
        } catch {
            countEnded(destination)
            tally.agentsFailed(error.description)
            return settling.putBack(attempt.claims)
        }
        tally.summary.attempts += 1
        attempt.start = destination.control.begin(inFlight: destination.inFlight)
        inFlight[sender.submitted] = attempt
        tally.summary.mostInFlight = max(tally.summary.mostInFlight, inFlight.count)
        destination.limits.begin(at: tally.elapsed)
        sender.pace = sender.pace.begun(at: tally.elapsed)
    }

    // MARK: - Waiting

    /// Waits for reports, at most for `delay`, and takes them in.
    private mutating func takeReports(_ delay: Duration?) {
        defer { tally.begin(.claiming) }
        // Sync while servers work on the requests just sent.
        if let due = settling.syncDue, due <= clock.instant() {
            sender.flush()
            settling.syncOrEndRun()
        }
        tally.begin(.waiting)
        let check = clock.instant() + OperatorCheck.interval
        let deadlines = [stop.nextLook, check, settling.syncDue, delay.map { clock.instant() + $0 }]
        do throws(SinkError) {
            let reports = try sender.reports(
                until: deadlines.lazy.compactMap { $0 }.min()!, wakeup: stop.graceEnd == nil ? clock.wakeup() : -1)
            tally.begin(.settling)
            settling.beginCollecting()
            for (ticket, report) in reports {
                guard let attempt = inFlight.removeValue(forKey: ticket) else { continue }
                countEnded(attempt.destination)
                if report.isUnbegun {
                    tally.summary.attempts -= 1
                    queue.enqueueFirst(attempt)
                } else {
                    process(report, of: attempt)
                }
            }
            settling.endCollecting()
            resumeWaiting()
        } catch {
            tally.agentsFailed(error.description)
            stop.endGrace()
        }
    }

    /// Counts an attempt to a destination as in flight.
    mutating func countBegun(_ destination: RunDestination) {
        if destination.inFlight == 0 { busy[ObjectIdentifier(destination)] = destination }
        destination.inFlight += 1
    }

    /// Counts an attempt to a destination as ended, or not made.
    mutating func countEnded(_ destination: RunDestination) {
        destination.inFlight -= 1
        if destination.inFlight == 0 { busy[ObjectIdentifier(destination)] = nil }
        destination.limits.giveBack(inFlight: destination.inFlight)
    }

    /// Cuts off the attempts in flight, if there are any: the grace time is up.
    private mutating func cutOff() {
        let attempts = inFlight.values.sorted { $0.began < $1.began }
        inFlight = [:]
        if attempts.isEmpty { return }
        tally.summary.wasCutOff = clock.signals().count > 1
        sender.close()
        settling.beginCollecting()
        for attempt in attempts {
            countEnded(attempt.destination)
            tally.summary.cutOff += attempt.members.count
            settleCutOff(attempt)
        }
        settling.endCollecting()
        settling.syncOrEndRun()
    }
}
