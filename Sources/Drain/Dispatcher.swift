import Delivery
import Policy
import Spool

/// Sends what a pass has chosen: what is in flight, how much of it at once, and how fast.
///
/// A run is one thread: between two reports of the sink it settles and claims, so the directory is only ever touched from
/// here. After a crash the next run returns this run's claims; whether their requests arrived is unknown (window W1).
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

    /// Attempts the chosen operations in their order, and returns when nothing is in flight any more, with how many
    /// operations were begun.
    func attempt(_ chosen: [Candidate]) -> Int {
        tally.begin(.claiming)
        defer { tally.begin(.choosing) }
        queue.begin()
        assessor.watch(chosen)
        for candidate in inOrder(chosen) { queue.append(candidate, of: settler.book[candidate]) }
        while makeProgress() {}
        queue.isKeptWaiting = false
        if queue.isOutdated { settler.operations.hasToListAgain = true }
        settler.putBack(queue.end())
        settler.flush()
        settler.book.tell()
        settler.operations.passOver(queue.lostOperations, haveOthersBegun: queue.begun > queue.lost)
        return queue.begun
    }

    /// Oldest first; but a held destination is probed with its newest operation, which did not bring it into this.
    private func inOrder(_ chosen: [Candidate]) -> [Candidate] {
        var order = chosen
        for (digest, destination) in settler.book.destinations
        where destination.isProbing && destination.state.hold != nil {
            let heads = order.indices.filter { order[$0].destination.digest == digest && order[$0].isHead }
            // Help for other runs stands behind this run's share, from its other end.
            guard let last = heads.max(by: { order[$0].age < order[$1].age }) else { continue }
            if let newer = destination.newest.first {
                destination.newest.removeFirst()
                order.insert(newer, at: 0)
            } else {
                order.insert(order.remove(at: last), at: 0)
            }
        }
        return order
    }

    /// Begins what may begin, then waits for reports and takes them in; false where nothing is left to do in this pass.
    private func makeProgress() -> Bool {
        stop.look(inFlight: inFlight.count)
        var pause: Duration?
        if stop.graceEnd == nil {
            pause = begin()
            if tally.hasEnded || assessor.concludeQuiet() { return true }
            if inFlight.isEmpty {
                guard let pause else { return false }
                settler.flush()
                stop.sleep(until: clock.instant() + pause)
                return true
            }
        } else if inFlight.isEmpty {
            return false
        }
        takeReports(pause)
        guard stop.cutsOff else { return true }
        cutOff()
        return false
    }

    // MARK: - Beginning

    /// For so long an attempt in flight may keep a run from a new listing.
    private static let longWait = Duration.seconds(1)

    /// Begins what may begin now; returns how long until more may, where only limits are in the way.
    private func begin() -> Duration? {
        queue.isKeptWaiting = queue.lost > 0 && inFlight.values.contains { clock.now() - $0.began > Self.longWait }
        while inFlight.count < sender.concurrency {
            let wait = max(sender.pace.wait(at: tally.elapsed), conditions.delay)
            if wait > .zero, queue.hasWork { return wait }
            if let work = queue.nextUrgent(at: tally.elapsed) {
                switch work {
                case .sample(let candidate): begin(candidate, isSample: true)
                case .claimed(let attempt): send(attempt)
                }
            } else if let next = queue.next(free: sender.concurrency - inFlight.count, at: tally.elapsed) {
                begin(next, isSample: false)
            } else {
                return queue.waitForLimits(at: tally.elapsed)
            }
            if stop.mustStop() { return nil }
        }
        return nil
    }

    private func begin(_ candidate: Candidate, isSample: Bool) {
        guard let attempt = claimer.attempt(candidate, isSample: isSample) else {
            let destination = settler.book[candidate]
            return destination.limits.giveBack(inFlight: destination.inFlight)
        }
        send(attempt)
    }

    /// Sends the request of an attempt. Where none can be made its operations are settled, or put back.
    private func send(_ attempt: Attempt) {
        var attempt = attempt
        let destination = attempt.destination
        defer { destination.limits.giveBack(inFlight: destination.inFlight) }
        do throws(SpoolError) {
            let refusal: RequestError?
            do throws(SinkError) {
                refusal = try sender.send(&attempt)
            } catch {
                tally.agentsFailed(error.description)
                for member in attempt.members { try settler.putBack(member) }
                return
            }
            if let refusal { return try assessor.take(refusal, of: attempt) }
        } catch {
            // The claims are put back when the run ends; nothing has been sent.
            return settler.setAside(attempt.members.map(\.name.id), because: error)
        }
        tally.summary.attempts = sender.sent
        inFlight[sender.sent] = attempt
        destination.inFlight += 1
        destination.limits.begin(at: tally.elapsed)
        sender.pace.begin(at: tally.elapsed)
    }

    // MARK: - Waiting

    /// Waits for reports, at most for `pause`, and takes them in.
    private func takeReports(_ pause: Duration?) {
        defer { tally.begin(.claiming) }
        // While servers work on what has just been sent.
        if let due = settler.flushDue, due <= clock.instant() { settler.flush() }
        tally.begin(.waiting)
        let relisting = queue.isOutdated ? clock.instant() + Self.longWait : nil
        let deadlines = [stop.nextLook, settler.flushDue, relisting, pause.map { clock.instant() + $0 }]
        do throws(SinkError) {
            let reports = try sender.reports(
                until: deadlines.compactMap { $0 }.min()!, wakeup: stop.graceEnd == nil ? Interruption.wakeup : -1)
            tally.begin(.settling)
            for (ticket, report) in reports {
                guard let attempt = inFlight.removeValue(forKey: ticket) else { continue }
                end(attempt)
                assessor.take(report, of: attempt)
            }
        } catch {
            tally.agentsFailed(error.description)
            stop.endGrace()
        }
    }

    /// Notes that the request of an attempt is over.
    private func end(_ attempt: Attempt) {
        let destination = attempt.destination
        destination.inFlight -= 1
        destination.limits.giveBack(inFlight: destination.inFlight)
    }

    /// Ends what is in flight when the grace time is up.
    private func cutOff() {
        let attempts = inFlight.values.sorted { $0.began < $1.began }
        inFlight = [:]
        if attempts.isEmpty { return }
        tally.summary.wasCutOff = clock.signals().count > 1
        sender.close()
        for attempt in attempts {
            end(attempt)
            tally.summary.cutOff += attempt.members.count
            assessor.takeCutOff(attempt)
        }
        settler.flush()
    }
}
