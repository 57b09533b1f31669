import Delivery
import Policy
import Spool

/// The sending loop of a pass: keeps attempts in flight within all limits, and takes in their reports.
///
/// One thread decides. Between two waits for reports it settles and claims; in a slow directory it waits while file
/// workers do this. After a crash the next run returns this run's claims; whether their requests arrived is unknown
/// (the repeat window).
final class Dispatcher {
    private let clock: RunClock
    private let tally: RunTally
    private let conditions: MachineConditions
    private let stop: StopCheck
    private let sender: RequestSender
    private let settler: Settler
    private let queue: SendQueue
    private let claimer: Claimer
    private let assessor: AnswerAssessor
    /// The attempts in flight by ticket.
    private var inFlight: [Int: Attempt] = [:]
    /// The destinations with attempts in flight or dequeued operations.
    private var busy: [ObjectIdentifier: RunDestination] = [:]

    init(
        _ clock: RunClock, _ tally: RunTally, _ conditions: MachineConditions, _ stop: StopCheck,
        _ sender: RequestSender, _ settler: Settler, _ queue: SendQueue, _ claimer: Claimer,
        _ assessor: AnswerAssessor
    ) {
        self.clock = clock
        self.tally = tally
        self.conditions = conditions
        self.stop = stop
        self.sender = sender
        self.settler = settler
        self.queue = queue
        self.claimer = claimer
        self.assessor = assessor
    }

    /// Attempts the chosen operations in order. Returns the number of claims tried, once no attempt is in flight.
    func attempt(_ chosen: [Candidate]) -> Int {
        tally.begin(.claiming)
        defer { tally.begin(.choosing) }
        queue.begin()
        assessor.beginStormGuards(for: chosen)
        for candidate in inOrder(chosen) { queue.append(candidate, of: settler.book[candidate]) }
        while makeProgress() {}
        queue.toleratesLostClaims = false
        if queue.isOutdated { settler.operations.hasToListAgain = true }
        settler.putBack(queue.end().flatMap(\.claims))
        settler.syncOrEndRun()
        settler.book.tell()
        settler.operations.passOver(queue.claimsLost, hasWonAny: queue.claimTries > queue.lostClaimCount)
        return queue.claimTries
    }

    /// Puts the probe of each destination first. A hold is probed with the newest operation, which did not cause the
    /// hold; after a failure, the operation with the fewest attempts is first: each operation has its turn.
    private func inOrder(_ chosen: [Candidate]) -> [Candidate] {
        var order = chosen
        for (digest, destination) in settler.book.destinations where destination.control.isProbing {
            let heads = order.indices.filter { order[$0].destination.digest == digest && order[$0].isHead }
            if destination.state.hold == nil {
                let first = heads.min { order[$0].entry.name.attempts < order[$1].entry.name.attempts }
                if let first { order.insert(order.remove(at: first), at: 0) }
                continue
            }
            // Operations of other runs' shares follow in reverse order, so the newest operation is not always the last.
            guard let last = heads.max(by: { order[$0].age < order[$1].age }) else { continue }
            if let newer = destination.newest.first {
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

    /// Begins attempts, then waits for reports and takes them in. Returns false if nothing is left to do in this pass.
    private func makeProgress() -> Bool {
        stop.look(inFlight: inFlight.count)
        var delay: Duration?
        if stop.graceEnd == nil {
            delay = begin()
            sender.flush()
            settler.settleDecided()
            if tally.hasEnded || assessor.concludeQuiet() { return true }
            if inFlight.isEmpty {
                guard let delay, stop.waits(for: delay) else { return false }
                settler.syncOrEndRun()
                stop.sleep(until: clock.instant() + delay)
                return true
            }
        } else if inFlight.isEmpty {
            return false
        }
        takeReports(delay)
        guard stop.cutsOff else { return true }
        cutOff()
        return false
    }

    // MARK: - Beginning

    /// The longest delay of a new listing by an attempt in flight.
    private static let longWait = Duration.seconds(1)

    /// Begins the attempts that may begin now. Returns the time until more may begin, if only limits delay them.
    private func begin() -> Duration? {
        queue.toleratesLostClaims =
            queue.lostClaimCount > 0 && inFlight.values.contains { clock.now() - $0.began > Self.longWait }
        while sender.hasRoom(beside: inFlight.count) {
            let wait = max(sender.pace.wait(at: tally.elapsed), conditions.delay)
            if wait > .zero, queue.hasWork { return wait }
            if let work = queue.nextUrgent(at: tally.elapsed) {
                switch work {
                case .sample(let candidate):
                    begin(settler.book[candidate])
                    begin(candidate, isSample: true)
                case .claimed(let attempt):
                    begin(attempt.destination)
                    send(attempt)
                }
            } else {
                let dequeued = dequeue()
                if dequeued.isEmpty { return queue.waitForLimits(at: tally.elapsed) }
                begin(dequeued)
            }
            if stop.mustStop() { return nil }
        }
        return nil
    }

    /// Removes the next operation to begin. In a slow directory, removes every operation that may begin now, up to one
    /// whose destination has a rate or whose route sends batches, and claims them together. Counts each as in flight.
    private func dequeue() -> [DequeuedOperation] {
        var dequeued: [DequeuedOperation] = []
        var isLast = !settler.spoolRun.isSlowToTake || sender.pace.isSpaced || sender.sendsLargeBodies
        repeat {
            let free = sender.concurrency - inFlight.count - dequeued.count
            let failing = busy.values.reduce(0) { $0 + ($1.isFailing ? $1.inFlight : 0) }
            let room = DispatchOrder.failingShare(of: sender.concurrency) - failing
            guard let operation = queue.next(free: free, failingRoom: room, at: tally.elapsed) else { break }
            let destination = settler.book[operation.candidate]
            begin(destination)
            dequeued.append(operation)
            let maker = sender.maker(of: operation.candidate.entry.name.type, to: destination)
            isLast = isLast || destination.limits.hasRate || maker.sendsBatches
        } while !isLast
        if dequeued.count > 1 { claimer.takeTogether(dequeued.map(\.candidate)) }
        return dequeued
    }

    /// Begins attempts in order. If an attempt blocks its destination, or the run must stop, puts the remaining
    /// operations back.
    private func begin(_ dequeued: [DequeuedOperation]) {
        for (count, operation) in dequeued.enumerated() {
            let destination = settler.book[operation.candidate]
            if count > 0, stop.mustStop() || destination.inFlight > destination.concurrencyLimit {
                queue.putBack(operation)
                end(destination)
            } else {
                begin(operation.candidate, isSample: false)
            }
        }
        claimer.putBackTaken()
    }

    private func begin(_ candidate: Candidate, isSample: Bool) {
        guard let attempt = claimer.attempt(candidate, isSample: isSample) else {
            return end(settler.book[candidate])
        }
        send(attempt)
    }

    /// Sends the request of an attempt: each begins here. If no request can be made, settles its operations or puts
    /// them back.
    private func send(_ attempt: Attempt) {
        var attempt = attempt
        let destination = attempt.destination
        do throws(SpoolError) {
            guard try claimer.mayBegin(&attempt) else { return end(destination) }
        } catch {
            end(destination)
            return settler.setAside(attempt.members.map(\.name.id), because: error)
        }
        do throws(SpoolError) {
            let refusal: RequestError?
            settler.spoolRun.begin(attempt.members.compactMap(\.claim))
            do throws(SinkError) {
                refusal = try sender.send(&attempt)
            } catch {
                end(destination)
                tally.agentsFailed(error.description)
                for member in attempt.members { try settler.putBack(member) }
                return
            }
            if let refusal {
                end(destination)
                return try assessor.take(refusal, of: attempt)
            }
        } catch {
            // The end of the run puts the claims back; nothing has been sent.
            return settler.setAside(attempt.members.map(\.name.id), because: error)
        }
        tally.summary.attempts += 1
        attempt.start = destination.control.begin(inFlight: destination.inFlight)
        inFlight[sender.submitted] = attempt
        tally.summary.mostInFlight = max(tally.summary.mostInFlight, inFlight.count)
        destination.limits.begin(at: tally.elapsed)
        sender.pace.begin(at: tally.elapsed)
    }

    // MARK: - Waiting

    /// Waits for reports, at most for `delay`, and takes them in.
    private func takeReports(_ delay: Duration?) {
        defer { tally.begin(.claiming) }
        // Sync while servers work on the requests just sent.
        if let due = settler.syncDue, due <= clock.instant() {
            sender.flush()
            settler.syncOrEndRun()
        }
        tally.begin(.waiting)
        let relisting = queue.isOutdated ? clock.instant() + Self.longWait : nil
        let deadlines = [stop.nextLook, settler.syncDue, relisting, delay.map { clock.instant() + $0 }]
        do throws(SinkError) {
            let reports = try sender.reports(
                until: deadlines.compactMap { $0 }.min()!, wakeup: stop.graceEnd == nil ? clock.wakeup() : -1)
            tally.begin(.settling)
            settler.together {
                for (ticket, report) in reports {
                    guard let attempt = inFlight.removeValue(forKey: ticket) else { continue }
                    end(attempt.destination)
                    if report.isUnbegun {
                        tally.summary.attempts -= 1
                        queue.enqueueFirst(attempt)
                    } else {
                        assessor.take(report, of: attempt)
                    }
                }
            }
        } catch {
            tally.agentsFailed(error.description)
            stop.endGrace()
        }
    }

    /// Notes the beginning of an attempt to a destination.
    private func begin(_ destination: RunDestination) {
        if destination.inFlight == 0 { busy[ObjectIdentifier(destination)] = destination }
        destination.inFlight += 1
    }

    /// Notes that an attempt to a destination has ended, or was not made.
    private func end(_ destination: RunDestination) {
        destination.inFlight -= 1
        if destination.inFlight == 0 { busy[ObjectIdentifier(destination)] = nil }
        destination.limits.giveBack(inFlight: destination.inFlight)
    }

    /// Cuts off the attempts in flight when the grace time is up.
    private func cutOff() {
        let attempts = inFlight.values.sorted { $0.began < $1.began }
        inFlight = [:]
        if attempts.isEmpty { return }
        tally.summary.wasCutOff = clock.signals().count > 1
        sender.close()
        settler.together {
            for attempt in attempts {
                end(attempt.destination)
                tally.summary.cutOff += attempt.members.count
                assessor.takeCutOff(attempt)
            }
        }
        settler.syncOrEndRun()
    }
}
