import Delivery
package import Policy
package import Spool

/// An immediate attempt of one operation, for `drainq send`. The operation has no file in the queue; if it needs one,
/// the caller makes it.
///
/// It uses the parts of a run. A crash before it returns leaves no operation behind. It records the destination's state
/// as a run does, and obeys it: it sends nothing to a destination whose circuit breaker is open, and to a held one only
/// a probe.
package final class Sending {
    package struct Options: Hashable, Sendable {
        /// The longest duration of each attempt, if shorter than the route's.
        package var timeout: Duration?
        /// The time after the start within which retries, by the route's schedule, may begin; `nil` for no retry.
        package var retryWithin: Duration?

        package init(timeout: Duration? = nil, retryWithin: Duration? = nil) {
            self.timeout = timeout
            self.retryWithin = retryWithin
        }
    }

    package enum Result {
        /// `answer` is the body. `hasKept` is false if an error has lost the values that the answer leaves for its key.
        case delivered(AttemptEvent, answer: [UInt8], hasKept: Bool)
        /// The operation failed for good. The caller does not queue it.
        case failed(AttemptEvent)
        /// The operation cannot be delivered now.
        case postponed(Postponement)
        /// This machine cannot make any attempt. No attempt is counted.
        case broken(Postponement)
    }

    /// An operation that was not delivered.
    package struct Postponement {
        /// The operation, with the records of its attempts so far.
        package var operation: Operation
        /// The name, with the number of attempts and the earliest time of the next one.
        package var name: EntryName
        package var reason: String
        /// Whether the operation waits because its destination is held: since before, or by this attempt.
        package var isHeld = false
        /// The caller ends it once the operation is in the queue: earlier, a newer one could be delivered first.
        package var turn: SequenceReservation?
    }

    let spool: SpoolDirectory
    let configuration: Configuration
    private let options: Options
    private(set) var world: World
    private let tally: RunTally
    private let book: DestinationBook
    private let sender: RequestSender
    private let attempted: (AttemptEvent) -> Void

    /// `report` is called with errors in recording state, `attempted` with each attempt. An operation that has used up
    /// its attempts is deferred there, because it is to be queued. `notKept` is called with the parts of an answer that
    /// leave no value for the key.
    package init(
        spool: SpoolDirectory, configuration: Configuration, options: Options, world: World,
        attempted: @escaping (AttemptEvent) -> Void = { _ in },
        notKept: @escaping (OperationID, _ name: String, KeepError) -> Void = { _, _, _ in },
        report: @escaping (SpoolError) -> Void
    ) {
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.world = world
        self.attempted = attempted
        tally = RunTally(clock: world.clock) { event in
            switch event {
            case .inputOutputError(let error): report(error)
            case .notKept(let id, let name, let reason): notKept(id, name, reason)
            default: break
            }
        }
        book = DestinationBook(spool, configuration, world, tally, ignoresBackoff: false)
        sender = RequestSender(spool, configuration, world, concurrency: 1) { $0.adjust(to: options) }
    }

    /// Sends an operation, with retries if the options allow them.
    package func callAsFunction(_ operation: Operation) throws(SpoolError) -> Result {
        let item = SentOperation(operation, configuration)
        guard item.route.isSequential, item.route.sequence(of: item.name, to: item.destination) != nil else {
            return try attempts(of: item, nil)
        }
        let turn = try SequenceReservation(of: item.name, in: spool, at: world.now()) { [tally] in tally.inputOutput($0)
        }
        let result: Result
        do throws(SpoolError) {
            if try turn.begin(at: world.now()), try isFirst(item) {
                result = try attempts(of: item, turn)
            } else {
                result = item.postponed("older operations of its sequence come first")
            }
        } catch {
            turn.end()
            throw error
        }
        switch result {
        case .delivered, .failed:
            turn.end()
            return result
        case .postponed(var postponement):
            postponement.turn = turn
            return .postponed(postponement)
        case .broken(var postponement):
            postponement.turn = turn
            return .broken(postponement)
        }
    }

    // MARK: - Attempts

    /// The next step after an attempt, or after a reason not to make one.
    private enum Step {
        case end(Result)
        /// Another attempt after this moment, if that is within the time for retries; else this result.
        case again(after: Timestamp, else: Result)
        /// The limits of the destination allow no attempt for this time.
        case limited(for: Duration, else: Result)
        /// The same attempt again, with new credentials.
        case refreshed
    }

    private func attempts(of item: SentOperation, _ turn: SequenceReservation?) throws(SpoolError) -> Result {
        var item = item
        var isRepeated = false
        // The longest wait for limits, the same as for an answer.
        let patience = min(item.route.timeouts.request, options.timeout ?? item.route.timeouts.request)
        var limitsEnd: ContinuousClock.Instant?
        while true {
            switch try attempt(&item, isRepeated: isRepeated) {
            case .end(let result): return result
            case .refreshed: isRepeated = true
            case .limited(let wait, let result):
                let now = world.clock.instant()
                let end = limitsEnd ?? now + patience
                limitsEnd = end
                if try !waits(until: now + wait, atMost: end, item, turn) { return result }
            case .again(let moment, let result):
                (isRepeated, limitsEnd) = (false, nil)
                let end = world.clock.instant() + max(.zero, moment - world.now())
                guard let within = options.retryWithin,
                    try waits(until: end, atMost: tally.moment(after: within), item, turn)
                else { return result }
            }
        }
    }

    /// Makes one attempt, if the operation may be sent now. `isRepeated`: the destination has just refused other
    /// credentials, so it is not blocked.
    private func attempt(_ item: inout SentOperation, isRepeated: Bool) throws(SpoolError) -> Step {
        // An operator may have paused the queue since the attempt before.
        if try spool.isPaused { return .end(item.postponed("the queue is paused")) }
        let destination = try book.read(item.destination, world.now())
        var attempt = Attempt(
            members: [Member(operation: item.operation, name: item.name)], destination: destination,
            maker: sender.maker(of: item.name.type, to: destination), began: world.now())
        attempt.isProbe = destination.state.hold != nil
        if !isRepeated, let block = destination.block { return postpone(item, block, destination) }
        if let settlement = Settlement.decide(onExpiryOf: item.operation, route: item.route, now: world.now()) {
            return .end(.failed(AttemptEvent(of: attempt.members[0], settlement, attempt)))
        }
        let limits = destination.limits
        let elapsed = tally.elapsed
        guard isRepeated || limits.wait(at: elapsed) == .zero && limits.acquire(at: elapsed, inFlight: 0, isOnly: true)
        else {
            let reason = "other processes use up the concurrency or the rate of '\(destination.name)'"
            return .limited(for: limits.wait(at: elapsed), else: item.postponed(reason))
        }
        limits.begin(at: elapsed)
        var keepsSlot = false
        defer { if !keepsSlot { limits.giveBack(inFlight: 0) } }
        // Recorded before the probe is sent: whatever comes of it, no other process sends one.
        if attempt.isProbe, !isRepeated, !book.beginProbe(of: destination, at: world.now()) {
            return .end(item.postponed(Availability.Block(.held), destination))
        }
        if let missing = try fillKeptValues(
            attempt.maker.keptNames, of: &attempt.members[0].operation, attempt.maker.route, in: spool)
        {
            return .end(item.postponed(Rule.notKept(missing).description))
        }
        if let defect = lackOfRoom(for: item.operation, item.route) {
            return .end(.broken(item.postponement(defect.description)))
        }
        let received: AttemptReport
        do throws(SinkError) {
            if let error = try sender.send(&attempt) {
                guard let met = error.report else { return refuse(item, attempt, error) }
                received = met
            } else {
                received = try report()
            }
        } catch {
            return .end(.broken(item.postponement(error.description)))
        }
        let report = SealedReport(received, attempt.redaction)
        let meaning = attempt.meaning(of: report, attempt.absence(behind: received, world), at: world.now())
        if meaning.mayNeedFreshSecrets, !item.hasRefreshed, !attempt.secrets.values.isEmpty {
            item.hasRefreshed = true
            if world.credentials.refresh(attempt.secrets) {
                keepsSlot = true
                return .refreshed
            }
        }
        let verdict = meaning.each?.first ?? meaning.together
        return settle(&item, AttemptAnswer(attempt: attempt, report: report, verdict: verdict), received.body)
    }

    /// Postpones an operation whose destination is blocked. Retries after a retry-after or an open circuit breaker.
    private func postpone(_ item: SentOperation, _ block: Availability.Block, _ destination: RunDestination) -> Step {
        let result = item.postponed(block, destination)
        switch block.reason {
        case .retryAfter, .circuitBreaker: return block.until.map { .again(after: $0, else: result) } ?? .end(result)
        case .paused, .held: return .end(result)
        }
    }

    /// Settles an operation whose request cannot be made: it fails, waits, or holds its destination.
    private func refuse(_ item: SentOperation, _ attempt: Attempt, _ error: RequestError) -> Step {
        let settlement = Settlement.decide(on: error, now: world.now())
        if error.outcome != .held {
            return .end(.failed(AttemptEvent(of: attempt.members[0], settlement, attempt)))
        }
        book.hold(attempt.destination, settlement.record, reason: settlement.rule)
        book.tell()
        return .end(item.postponed(error.description, isHeld: true))
    }

    /// Records what an answer says about the destination, and decides what becomes of the operation.
    private func settle(_ item: inout SentOperation, _ answer: AttemptAnswer, _ body: [UInt8]) -> Step {
        let attempt = answer.attempt
        var verdict = answer.verdict
        let refusal = refusalAlone(answer)
        if refusal != nil { verdict = verdict.becoming(.failed, rule: .refusedAlone(verdict.rule)) }
        // The caller prints the answer, so no copy is kept.
        var route = item.route
        route.keepsAnswer = false
        let settlement = Settlement.decide(
            on: answer.report, verdict: verdict, of: item.operation, name: item.name, route: route,
            inBatch: false, keepsDelivered: false, start: attempt.began, now: world.now(),
            using: &world.generator)
        remember(answer, refusal, settlement)
        let event = AttemptEvent(of: attempt.members[0], settlement, attempt)
        tell(event, verdict)
        if !verdict.isUntouched { item.operation.attempts.append(settlement.record) }
        switch settlement.disposition {
        case .delivered:
            let hasKept = keep(settlement.kept, of: item.operation, item.route)
            return .end(.delivered(event, answer: body, hasKept: hasKept))
        case .failed(let countsAttempt) where verdict.outcome == .deferred:
            // Its attempts are used up, but no answer has ruled out its delivery.
            item.note(countsAttempt, due: world.now())
            return .end(item.postponed(settlement.record))
        case .failed: return .end(.failed(event))
        case .putBack where verdict.isUntouched:
            return .end(item.postponed(verdict.rule.description))
        case .putBack, .held, .superseded, .quarantined:
            return .end(item.postponed(settlement.record, isHeld: verdict.outcome == .held))
        case .deferred(let due, let countsAttempt):
            item.note(countsAttempt, due: due)
            if verdict.absence != nil { return .end(item.postponed(verdict.rule.description)) }
            return .again(after: due, else: item.postponed(settlement.record))
        }
    }

    /// Returns the refusal of this operation's credentials; `nil` if the refusal holds the destination, or if there is
    /// none. A refused operation is not queued; the refusal is recorded for the next one.
    private func refusalAlone(_ answer: AttemptAnswer) -> Parking.Refusal? {
        let (attempt, state) = (answer.attempt, answer.attempt.destination.state)
        guard answer.isRefusal, answer.verdict.outcome == .held, state.hold == nil, let status = answer.verdict.status
        else { return nil }
        let refusal = Parking.Refusal(
            id: attempt.members[0].name.id, status: status, credentials: attempt.maker.credentialNames,
            blamed: book.fingerprint(of: attempt.destination))
        return state.parking.decision(on: refusal) == .hold ? nil : refusal
    }

    private func remember(_ answer: AttemptAnswer, _ refusal: Parking.Refusal?, _ settlement: Settlement) {
        let (destination, now) = (answer.attempt.destination, world.now())
        if let refusal {
            book.apply(.answered, to: destination, at: now)
            book.apply(.parked(refusal, at: now), to: destination, at: now)
        } else {
            book.apply(answer, at: now)
            if answer.verdict.outcome == .held {
                book.hold(destination, settlement.record, reason: answer.verdict.rule)
            }
        }
        book.tell()
    }

    /// Returns why the values of an answer could not be kept, as on a full disk; `nil` if they can. Without room
    /// nothing is sent, because operations that need the values would wait for ever.
    private func lackOfRoom(for operation: Operation, _ route: Route) -> SpoolError? {
        if route.keep.isEmpty { return nil }
        do throws(SpoolError) {
            try spool.proveRoomToKeep()
            try checkKept(of: operation, route, in: spool)
            return nil
        } catch {
            return error
        }
    }

    /// Keeps the values that an answer leaves for the key. Only reports errors, and then returns false: the operation
    /// was delivered, and has no file that could be sent again.
    private func keep(_ kept: KeptValues, of operation: Operation, _ route: Route) -> Bool {
        guard !kept.isEmpty, let chain = route.chainOrNone(of: operation) else { return true }
        do throws(SpoolError) {
            let lacking = try spool.keep(kept, of: operation.header.id, for: chain, at: world.now())
            for name in lacking.sorted() {
                tally.tell(.notKept(operation.header.id, name: name, reason: kept.unkept[name] ?? .missing))
            }
            return true
        } catch {
            tally.inputOutput(error)
            return false
        }
    }

    private func tell(_ event: AttemptEvent, _ verdict: Verdict) {
        var event = event
        if verdict.outcome == .deferred, case .failed(let countsAttempt) = event.settlement.disposition {
            event.settlement.disposition = .deferred(until: world.now(), countsAttempt: countsAttempt)
        }
        attempted(event)
    }

    // MARK: - Waiting

    /// Waits for the report on the last request.
    private func report() throws(SinkError) -> AttemptReport {
        let start = world.clock.instant()
        while !isInterrupted {
            let reports = try sender.reports(
                until: world.clock.instant() + .seconds(60), wakeup: world.clock.wakeup())
            if let (_, report) = reports.first(where: { $0.ticket == sender.submitted }) { return report }
        }
        sender.close()
        return AttemptReport(
            result: .failure(.cancelled, detail: "cut off by a signal"), duration: world.clock.instant() - start)
    }

    /// Waits for another attempt. Returns false if it may not begin by `limit`, if a signal came, or if it is no longer
    /// this operation's turn.
    private func waits(
        until end: ContinuousClock.Instant, atMost limit: ContinuousClock.Instant, _ item: SentOperation,
        _ turn: SequenceReservation?
    ) throws(SpoolError) -> Bool {
        let clock = world.clock
        guard end <= limit, !isInterrupted else { return false }
        try turn?.releaseLockKeepingPlace()
        clock.sleep(end)
        guard let turn else { return !isInterrupted }
        while !isInterrupted {
            if try turn.begin(at: world.now()) { return try isFirst(item) }
            // Another run has the sequence lock, seldom for longer than a request.
            let next = clock.instant() + .milliseconds(100)
            if next > limit { break }
            clock.sleep(next)
        }
        return false
    }

    private var isInterrupted: Bool { world.clock.signals().count > 0 }

    /// Whether the operation overtakes no other. False if that is unknown: it then waits in the queue.
    private func isFirst(_ item: SentOperation) throws(SpoolError) -> Bool {
        var chooser = Chooser(
            spool: spool, configuration: configuration, destinations: book.table, now: world.now(),
            authority: .hasSequenceLock)
        do throws(SpoolError) {
            return try chooser.isFirst(item.name)
        } catch let error where error.isLocked {
            tally.inputOutput(error)
            return false
        }
    }
}

extension OutgoingRequest {
    /// The most bytes that are read of an answer. `send` prints the answer, so it reads more than a run does.
    private static var longestAnswer: Int { 64 << 20 }

    fileprivate mutating func adjust(to options: Sending.Options) {
        answerLimit = max(answerLimit, Self.longestAnswer)
        guard let timeout = options.timeout else { return }
        timeouts.total = min(timeouts.total, timeout)
        timeouts.request = min(timeouts.request, timeout)
        timeouts.connect = min(timeouts.connect, timeout)
    }
}
