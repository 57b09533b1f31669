import Policy
import Spool

/// A run over the single operation of a `send`. Has claimed the operation from the start, and goes by the parts of a
/// run, but lists no queue to choose.
///
/// Between two attempts it keeps the claim, and not the sequence lock: operations of other sequences go on, and
/// operations of the same sequence wait. If the process dies, the next run recovers the operation.
struct SendRun: ~Copyable {
    private let spoolRun: SpoolRun
    private let parts: RunParts
    private var dispatch: Dispatch
    /// The longest wait for limits before an attempt, the same as for an answer.
    private let patience: Duration
    /// The time until which retries may begin; `nil` for no retry.
    private let deadline: ContinuousClock.Instant?
    private let destination: Destination
    private let sequence: SequenceKey?
    /// The operation, with its name and the records of its attempts so far.
    private let member: Member
    /// The row of the operation while this process has not claimed it.
    private var state: QueueState

    init(
        of member: Member, _ spoolRun: SpoolRun, _ spool: SpoolDirectory, _ configuration: Configuration,
        _ world: World, _ sender: RequestSender, timeout: Duration?, deadline: ContinuousClock.Instant?,
        _ report: @escaping (RunEvent) -> Void
    ) {
        self.member = member
        state = member.claim?.from ?? .new
        self.spoolRun = spoolRun
        self.deadline = deadline
        var world = world
        // The first signal cuts off the attempt, like the second signal in a run.
        let signals = world.clock.signals
        world.clock.signals = { (signals().count * 2, signals().last) }
        let tally = RunTally(clock: world.clock, report: report)
        // The submitter asks for an attempt now, whatever the machine's conditions.
        var configuration = configuration
        configuration.conditions = Conditions()
        // Only a signal ends an attempt before its own time is up.
        let options = RunOptions(concurrency: .atMost(1), grace: .seconds(86_400))
        parts = RunParts(spool, configuration, options, world, tally, sender)
        dispatch = Dispatch(parts, Settling(parts, spoolRun, OperationBook()))
        dispatch.queue.mayWaitForTurns = true
        let route = configuration.route(of: member.name.type)
        patience = min(route.timeouts.request, timeout ?? route.timeouts.request)
        let origin = member.operation.header.url.flatMap { Origin(url: $0)?.description }
        destination = DestinationTable(configuration, knowing: origin.map { [$0] } ?? [])
            .destination(of: member.name)
        sequence = route.isSequential ? route.order.sequence(of: member.name, to: destination) : nil
    }

    private var spool: SpoolDirectory { parts.spool }
    private var world: World { parts.world }
    private var tally: RunTally { parts.tally }
    private var book: DestinationBook { parts.book }

    /// The result of one attempt, or of a reason to make none.
    private enum Step {
        case end(OperationSender.Result)
        /// The operation waits. Another attempt may begin at `next`; `nil` if none does by itself.
        case wait(OperationSender.Postponement, next: ContinuousClock.Instant?)
    }

    /// Attempts the operation, with retries until the deadline. Then the operation is gone, or durably in row N or D,
    /// or it has failed and is in row C until `end`.
    mutating func callAsFunction() -> OperationSender.Result {
        var result: OperationSender.Result
        attempts: while true {
            do throws(SpoolError) {
                switch try attempt() {
                case .end(let end):
                    result = end
                    break attempts
                case .wait(let postponement, let next):
                    result = .postponed(postponement)
                    guard let next, try waits(until: next) else { break attempts }
                }
            } catch {
                result = .postponed(postponement(.broken, .words(error.description)))
                break
            }
        }
        if isUntold {
            // The submitter may take its time, and other processes send operations that have an order.
            spoolRun.sequences.release()
            return result
        }
        do throws(SpoolError) { try end() } catch { tally.endRun(because: error) }
        // What was not synced is not promised.
        if case .broken(let reason) = tally.summary.end, case .postponed(var postponement) = result {
            (postponement.cause, postponement.reason) = (.broken, .words(reason))
            result = .postponed(postponement)
        }
        return result
    }

    /// Whether the operation has failed, and its submitter has not been told: `end` is left to the caller.
    var isUntold: Bool { member.claim.map(spoolRun.isUntold) ?? false }

    /// Returns the operation to its row if still claimed; removes a failed one, whose submitter has been told. Under
    /// the names lock if another process may be deciding an order.
    func end() throws(SpoolError) {
        if sequence == nil || spoolRun.sequences.has(destination.digest) { return try endRun() }
        try spool.withNamesLock { () throws(SpoolError) in try endRun() }
    }

    private func endRun() throws(SpoolError) {
        if let claim = member.claim, isUntold {
            try spoolRun.refuse(claim, because: dispatch.settling.outcome?.event.record.rule, at: world.now())
        }
        try spoolRun.end()
    }

    // MARK: - Attempts

    /// Makes one attempt, if the operation may be sent now.
    private mutating func attempt() throws(SpoolError) -> Step {
        // An operator may have paused the queue since the attempt before.
        if try spool.isPaused { return wait(.resume) }
        if sequence != nil {
            let now = world.now()
            if try spoolRun.sequences.take(destination.digest) {
                // A run tells what a dead one has not told: the submitter wants to hear of one operation.
                tally.count(
                    try spoolRun.recover(now: now) { (claim, url, began) throws(SpoolError) in
                        try dispatch.settling.finishDelivery(of: claim, url: url, began: began)
                    })
            } else {
                // Another process has the lock, seldom for longer than a request.
                let next = world.clock.instant() + .milliseconds(100)
                return wait("another process sends operations that have an order", next: next)
            }
            do throws(SpoolError) {
                if let reason = try waitForOthers() { return wait(reason) }
            } catch let error where error.isLocked {
                return wait(error.description)
            }
        }
        let destination = try book.read(destination, world.now())
        if let block = destination.block, block.stops(attempts: member.name.attempts) {
            return wait(block, destination)
        }
        dispatch.settling.outcome = nil
        dispatch.given = Member(operation: member.operation, name: member.name, claim: member.claim)
        dispatch.stop.patience = world.clock.instant() + patience
        let candidate = Candidate(
            entry: Entry(state: state, name: member.name), destination: self.destination, sequence: sequence,
            isHead: true)
        repeat {
            book.resumeLeft()
            _ = dispatch.attempt([candidate])
        } while dispatch.settling.outcome == nil && destination.control.isLeftForNow && dispatch.stop.waits(for: .zero)
            && !tally.hasEnded
        guard let outcome = dispatch.settling.outcome else { return try wait(without: destination) }
        return step(after: outcome.event, isApplied: outcome.isApplied, outcome.entry)
    }

    /// Returns why the operation waits for others of its sequence; `nil` if it overtakes none.
    private func waitForOthers() throws(SpoolError) -> WaitReason? {
        let options = RunOptions(ids: [member.name.id])
        var view = QueueView(spool, parts.configuration, book.table, options: options, at: world.now())
        return try view.waiting(claimed: member.name)
    }

    /// Returns what the operation waits for, once the run has ended.
    func reasonInOrder() throws(SpoolError) -> OperationSender.Postponement.Reason {
        try waitForOthers().map { .wait($0, destination: destination.name) } ?? .words("the next run may send it")
    }

    /// Takes in what an attempt made of the operation.
    private mutating func step(after event: AttemptEvent, isApplied: Bool, _ entry: Entry?) -> Step {
        let settlement = event.settlement
        var postponement = postponement(isApplied ? .deferred : .broken, .words(settlement.reason))
        postponement.last = settlement.record
        switch settlement.disposition {
        case .delivered:
            return .end(.delivered(event, answer: parts.sender.last?.wholeBody, isSettled: isApplied))
        case .failed, .superseded, .quarantined:
            return isApplied ? .end(.failed(event)) : .wait(postponement, next: nil)
        case .held, .putBack:
            if isApplied, settlement.record.outcome == .held || event.isHeldByItself { postponement.cause = .held }
            return .wait(postponement, next: nil)
        case .deferred(let due, let countsAttempt):
            guard isApplied else { return .wait(postponement, next: nil) }
            (state, member.name) = (.deferred, member.name.deferred(until: due, countsAttempt: countsAttempt))
            // The name of a file also says what its record has no room for.
            if let entry { (state, member.name) = (entry.state, entry.name) }
            member.operation.attempts.append(settlement.record)
            let next = world.clock.instant() + max(.zero, due - world.now())
            return .wait(postponement, next: settlement.rule.allowsRetry ? next : nil)
        }
    }

    // MARK: - Waiting

    /// Waits for another attempt, and claims the operation for it. Returns false if the attempt may not begin in time,
    /// if a signal came, or if the operation is no longer where this process has put it: `import --replace` may have
    /// put another one there, which stays in the queue, as its submitter was told.
    private mutating func waits(until next: ContinuousClock.Instant) throws(SpoolError) -> Bool {
        guard let deadline, next <= deadline, !tally.endIfInterrupted() else { return false }
        if let claim = member.claim, !claim.isOpen {
            member.claim = nil
            guard let taken = try spoolRun.take(Entry(state: state, name: member.name)) else { return false }
            guard case .operation(let stored) = taken.file, stored.operation.header == member.operation.header,
                stored.operation.body == member.operation.body
            else {
                try dispatch.settling.putBack(taken.claim)
                return false
            }
            member.claim = taken.claim
        }
        spoolRun.sequences.release()
        world.clock.sleep(next)
        return !tally.endIfInterrupted()
    }

    private func wait(
        _ reason: String, _ cause: OperationSender.Postponement.Cause = .deferred, next: ContinuousClock.Instant? = nil
    ) -> Step {
        .wait(postponement(cause, .words(reason)), next: next)
    }

    private func wait(_ reason: WaitReason, next: ContinuousClock.Instant? = nil) -> Step {
        let cause: OperationSender.Postponement.Cause = reason.needsPerson ? .held : .deferred
        return .wait(postponement(cause, .wait(reason, destination: destination.name)), next: next)
    }

    private func postponement(
        _ cause: OperationSender.Postponement.Cause, _ reason: OperationSender.Postponement.Reason
    ) -> OperationSender.Postponement {
        OperationSender.Postponement(cause: cause, reason: reason, last: member.operation.attempts.last)
    }

    /// Waits for a blocked destination, with the cause of a hold. Retries after a retry-after or an open circuit
    /// breaker.
    private func wait(_ block: Availability.Block, _ destination: RunDestination) -> Step {
        if block.reason == .held {
            let cause = destination.state.hold?.shownCause.text ?? "no reason recorded"
            return wait("'\(destination.name)' is held: \(cause)", .held)
        }
        return wait(
            .destination(block), next: block.until.map { world.clock.instant() + max(.zero, $0 - world.now()) })
    }

    /// Returns why no attempt was made of an operation handed to the parts.
    private func wait(without destination: RunDestination) throws(SpoolError) -> Step {
        switch tally.summary.end {
        case .broken(let reason): return wait(reason, .broken)
        case .paused: return wait(.resume)
        case .signal: return wait("a signal came before the attempt")
        case .done, .busy, .timeUp: break
        }
        if let error = tally.lastError { return wait(error.description, .broken) }
        if let block = destination.block { return wait(block, destination) }
        let maker = book.maker(of: member.name.type, to: destination)
        var operation = member.operation
        if let missing = try fillKeptValues(maker.keptNames, of: &operation, maker.route, in: spool) {
            return wait(Rule.notKept(missing).description)
        }
        return wait("other processes use up the concurrency or the rate of '\(destination.name)'")
    }
}

extension Settlement {
    /// The reason why an operation was not delivered, for its submitter.
    fileprivate var reason: String {
        switch rule {
        case .noNetwork: return rule.description
        case .request(let error): return error.description
        default: break
        }
        var reason = record.status.map(String.init) ?? record.error ?? record.rule
        if let excerpt = record.excerpt, !excerpt.isEmpty { reason += " (\(excerpt))" }
        return reason
    }
}

extension Rule {
    /// Whether the schedule has another attempt after an attempt deferred by this rule.
    fileprivate var allowsRetry: Bool {
        switch self {
        case .attemptsUsedUp, .ageUsedUp, .noNetwork: false
        default: true
        }
    }
}
