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
    /// The operation of `send`, claimed on acceptance; `nil` in a run.
    var given: Member?
    /// Operations claimed and read together, and not used yet.
    var taken: [EntryName: Result<SpoolRun.Taken?, SpoolError>] = [:]
    /// The attempts in flight by ticket.
    private var inFlight: [Int: Attempt] = [:]
    /// The destinations with attempts in flight or dequeued operations.
    private var busy: [ObjectIdentifier: RunDestination] = [:]

    init(_ parts: RunParts) {
        spool = parts.spool
        limits = parts.configuration.limits
        world = parts.world
        tally = parts.tally
        book = parts.book
        conditions = parts.conditions
        sender = parts.sender
        stop = StopCheck(parts)
    }

    var clock: RunClock { world.clock }

    /// Attempts the chosen operations in order. Returns the number of claims tried, once no attempt is in flight.
    mutating func attempt(
        _ chosen: [Candidate], merging merged: [OperationID: [Entry]] = [:], _ settling: inout Settling
    ) -> Int {
        tally.begin(.claiming)
        defer { tally.begin(.choosing) }
        queue.begin(merging: merged)
        if !settling.hasSubmitter { beginStormGuards(for: chosen) }
        for candidate in inOrder(chosen) { queue.append(candidate, of: book[candidate]) }
        while makeProgress(&settling) {}
        queue.toleratesLostClaims = false
        if queue.isOutdated { settling.hasToListAgain = true }
        settling.putBack(queue.end().flatMap(\.claims))
        settling.syncOrEndRun()
        book.tell()
        settling.operations.passOver(queue.claimsLost, hasWonAny: queue.claimTries > queue.lostClaimCount)
        return queue.claimTries
    }

    /// Puts the probe of each destination first. A hold is probed with the newest operation, which did not cause the
    /// hold; after a failure, the operation with the fewest attempts is first: each operation has its turn.
    private func inOrder(_ chosen: [Candidate]) -> [Candidate] {
        var order = chosen
        for (digest, destination) in book.destinations where destination.control.isProbing {
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
    private mutating func makeProgress(_ settling: inout Settling) -> Bool {
        stop.look(inFlight: inFlight.count, &settling)
        var delay: Duration?
        if stop.graceEnd == nil {
            delay = begin(&settling)
            sender.flush()
            settling.settleDecided()
            if tally.hasEnded || concludeQuiet(&settling) { return true }
            if inFlight.isEmpty {
                guard let delay, stop.waits(for: delay) else { return false }
                settling.syncOrEndRun()
                stop.sleep(until: clock.instant() + delay)
                return true
            }
        } else if inFlight.isEmpty {
            return false
        }
        takeReports(delay, &settling)
        guard stop.cutsOff else { return true }
        cutOff(&settling)
        return false
    }

    // MARK: - Beginning

    /// The longest delay of a new listing by an attempt in flight.
    private static let longWait = Duration.seconds(1)

    /// Begins the attempts that may begin now. Returns the time until more may begin, if only limits delay them.
    private mutating func begin(_ settling: inout Settling) -> Duration? {
        queue.toleratesLostClaims =
            queue.lostClaimCount > 0 && inFlight.values.contains { clock.now() - $0.began > Self.longWait }
        while sender.hasRoom(beside: inFlight.count) {
            let wait = max(sender.pace.wait(at: tally.elapsed), conditions.delay)
            if wait > .zero, queue.hasWork { return wait }
            if let work = queue.nextUrgent(at: tally.elapsed) {
                switch work {
                case .sample(let candidate):
                    begin(book[candidate])
                    begin(candidate, isSample: true, &settling)
                case .claimed(let attempt):
                    begin(attempt.destination)
                    send(attempt, &settling)
                }
            } else {
                let dequeued = dequeue(&settling)
                if dequeued.isEmpty { return queue.waitForLimits(at: tally.elapsed) }
                begin(dequeued, &settling)
            }
            if stop.mustStop(&settling) { return nil }
        }
        return nil
    }

    /// Removes the next operation to begin. In a slow directory, removes every operation that may begin now, up to one
    /// whose destination has a rate or whose route sends batches, and claims them together. Counts each as in flight.
    private mutating func dequeue(_ settling: inout Settling) -> [DequeuedOperation] {
        var dequeued: [DequeuedOperation] = []
        var isLast = !settling.spoolRun.isSlowToTake || sender.pace.isSpaced || sender.sendsLargeBodies
        repeat {
            let free = sender.concurrency - inFlight.count - dequeued.count
            let failing = busy.values.reduce(0) { $0 + ($1.isFailing ? $1.inFlight : 0) }
            let room = DispatchOrder.failingShare(of: sender.concurrency) - failing
            guard let operation = queue.next(free: free, failingRoom: room, at: tally.elapsed) else { break }
            let destination = book[operation.candidate]
            begin(destination)
            dequeued.append(operation)
            let maker = book.maker(of: operation.candidate.entry.name.type, to: destination)
            isLast = isLast || destination.limits.hasRate || maker.sendsBatches
        } while !isLast
        if dequeued.count > 1 { takeTogether(dequeued.map(\.candidate), &settling) }
        return dequeued
    }

    /// Begins attempts in order. If an attempt blocks its destination, or the run must stop, puts the remaining
    /// operations back.
    private mutating func begin(_ dequeued: [DequeuedOperation], _ settling: inout Settling) {
        for (count, operation) in dequeued.enumerated() {
            let destination = book[operation.candidate]
            if count > 0, stop.mustStop(&settling) || destination.inFlight > destination.concurrencyLimit {
                queue.putBack(operation)
                end(destination)
            } else {
                begin(operation.candidate, isSample: false, &settling)
            }
        }
        putBackTaken(&settling)
    }

    private mutating func begin(_ candidate: Candidate, isSample: Bool, _ settling: inout Settling) {
        guard let attempt = claim(candidate, isSample: isSample, &settling) else {
            return end(book[candidate])
        }
        send(attempt, &settling)
    }

    /// Sends the request of an attempt: each begins here. If no request can be made, settles its operations or puts
    /// them back.
    private mutating func send(_ attempt: Attempt, _ settling: inout Settling) {
        var attempt = attempt
        let destination = attempt.destination
        do throws(SpoolError) {
            guard try mayBegin(&attempt, &settling) else { return end(destination) }
        } catch {
            end(destination)
            return settling.setAside(attempt.members.map(\.name.id), because: error)
        }
        do throws(SpoolError) {
            let refusal: RequestError?
            settling.spoolRun.begin(attempt.members.compactMap(\.claim))
            do throws(SinkError) {
                refusal = try sender.send(&attempt)
            } catch {
                end(destination)
                tally.agentsFailed(error.description)
                for member in attempt.members { try settling.putBack(member) }
                return
            }
            if let refusal {
                end(destination)
                return try take(refusal, of: attempt, &settling)
            }
        } catch {
            // The end of the run puts the claims back; nothing has been sent.
            return settling.setAside(attempt.members.map(\.name.id), because: error)
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
    private mutating func takeReports(_ delay: Duration?, _ settling: inout Settling) {
        defer { tally.begin(.claiming) }
        // Sync while servers work on the requests just sent.
        if let due = settling.syncDue, due <= clock.instant() {
            sender.flush()
            settling.syncOrEndRun()
        }
        tally.begin(.waiting)
        let relisting = queue.isOutdated ? clock.instant() + Self.longWait : nil
        let deadlines = [stop.nextLook, settling.syncDue, relisting, delay.map { clock.instant() + $0 }]
        do throws(SinkError) {
            let reports = try sender.reports(
                until: deadlines.compactMap { $0 }.min()!, wakeup: stop.graceEnd == nil ? clock.wakeup() : -1)
            tally.begin(.settling)
            settling.beginCollecting()
            for (ticket, report) in reports {
                guard let attempt = inFlight.removeValue(forKey: ticket) else { continue }
                end(attempt.destination)
                if report.isUnbegun {
                    tally.summary.attempts -= 1
                    queue.enqueueFirst(attempt)
                } else {
                    take(report, of: attempt, &settling)
                }
            }
            settling.endCollecting()
        } catch {
            tally.agentsFailed(error.description)
            stop.endGrace()
        }
    }

    /// Notes the beginning of an attempt to a destination.
    private mutating func begin(_ destination: RunDestination) {
        if destination.inFlight == 0 { busy[ObjectIdentifier(destination)] = destination }
        destination.inFlight += 1
    }

    /// Notes that an attempt to a destination has ended, or was not made.
    private mutating func end(_ destination: RunDestination) {
        destination.inFlight -= 1
        if destination.inFlight == 0 { busy[ObjectIdentifier(destination)] = nil }
        destination.limits.giveBack(inFlight: destination.inFlight)
    }

    /// Cuts off the attempts in flight when the grace time is up.
    private mutating func cutOff(_ settling: inout Settling) {
        let attempts = inFlight.values.sorted { $0.began < $1.began }
        inFlight = [:]
        if attempts.isEmpty { return }
        tally.summary.wasCutOff = clock.signals().count > 1
        sender.close()
        settling.beginCollecting()
        for attempt in attempts {
            end(attempt.destination)
            tally.summary.cutOff += attempt.members.count
            takeCutOff(attempt, &settling)
        }
        settling.endCollecting()
        settling.syncOrEndRun()
    }
}
