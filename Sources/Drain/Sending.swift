import Delivery
package import Policy
package import Spool

/// One operation, tried at once: it has a file in the queue only if it needs one, and that is the caller's to make.
///
/// Until it returns, nothing is promised: a crash in here leaves no operation behind. What it learns of the destination
/// is remembered like what a run learns, and what runs have learned is respected: a held destination is not asked, nor is
/// one whose circuit breaker is open.
package final class Sending {
    package struct Options: Hashable, Sendable {
        /// For each attempt, where it is shorter than the route's.
        package var timeout: Duration?
        /// Try again by the route's schedule as long as the next attempt begins within this time of the start.
        package var retryWithin: Duration?

        package init(timeout: Duration? = nil, retryWithin: Duration? = nil) {
            self.timeout = timeout
            self.retryWithin = retryWithin
        }
    }

    package enum Result {
        /// `answer` has the body.
        case delivered(AttemptEvent, answer: [UInt8])
        /// For good: it is not to be queued.
        case failed(AttemptEvent)
        /// Not now.
        case postponed(Postponement)
        /// No attempt can be made on this machine at all: nobody is charged.
        case broken(Postponement)
    }

    /// An operation that the caller queues, if it queues at all.
    package struct Postponement {
        /// With the records of its attempts so far.
        package var operation: Operation
        /// With its attempts, and the time before which there is no other one.
        package var name: EntryName
        package var reason: String
        package var isHeld = false
        /// To be released once the operation is in the queue: before that a newer one could be delivered.
        package var turn: Turn?
    }

    /// What is read of an answer at most; an answer is a result here, and not only a sign.
    static let answerLimit = 64 << 20

    private let spool: SpoolDirectory
    private let configuration: Configuration
    private let destinations: DestinationTable
    private let options: Options
    private var world: World
    private let report: (SpoolError) -> Void
    private let attempted: (AttemptEvent) -> Void
    private let started = ContinuousClock.now
    private var sink: (any Sink)?
    private var tickets = 0
    /// Of the ledger, once a hold has been blamed on something.
    private var salt: String?

    /// `report` is told what could not be remembered, `attempted` each attempt and what came of it. One that used the
    /// attempts up is deferred there: the operation is to be queued.
    package init(
        spool: SpoolDirectory, configuration: Configuration, options: Options, world: World,
        attempted: @escaping (AttemptEvent) -> Void = { _ in }, report: @escaping (SpoolError) -> Void
    ) {
        self.attempted = attempted
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.world = world
        self.report = report
        destinations = DestinationTable(configuration)
    }

    deinit {
        sink?.close()
    }

    /// Sends it, again and again where the options say so.
    package func callAsFunction(_ operation: Operation) throws(SpoolError) -> Result {
        let name = EntryName(naming: operation.header)
        let route = configuration.route(of: name.type)
        let origin = operation.header.url.flatMap { Origin(url: $0)?.description }
        let destination = DestinationTable(configuration, knowing: origin.map { [$0] } ?? []).destination(of: name)
        if try spool.isPaused {
            return .postponed(Postponement(operation: operation, name: name, reason: "the queue is paused"))
        }
        guard route.isSequential, route.sequence(of: name, to: destination) != nil else {
            return try attempts(of: operation, to: destination, nil)
        }
        let turn = try Turn(of: name, in: spool, at: world.now(), report: report)
        let result: Result
        do throws(SpoolError) {
            if try turn.begin(at: world.now()), try isFirst(name) {
                result = try attempts(of: operation, to: destination, turn)
            } else {
                let reason = "older operations of its sequence come first"
                result = .postponed(Postponement(operation: operation, name: name, reason: reason))
            }
        } catch {
            turn.release()
            throw error
        }
        switch result {
        case .delivered, .failed:
            turn.release()
            return result
        case .postponed(var postponement):
            postponement.turn = turn
            return .postponed(postponement)
        case .broken(var postponement):
            postponement.turn = turn
            return .broken(postponement)
        }
    }

    private func attempts(
        of operation: Operation, to destination: Destination, _ turn: Turn?
    ) throws(SpoolError) -> Result {
        var operation = operation
        var name = EntryName(naming: operation.header)
        let route = configuration.route(of: name.type)
        var hasRefreshed = false
        /// The same attempt is made with new credentials.
        var isSecondTry = false
        func postponed(_ reason: String, isHeld: Bool = false) -> Result {
            .postponed(Postponement(operation: operation, name: name, reason: reason, isHeld: isHeld))
        }
        while true {
            let settings = destinations.settings(of: destination)
            let state = try LedgerFile(spool: spool).read()[destination.name]
            if !isSecondTry, case .closed(let block) = state.availability(settings, at: world.now()) {
                // A server that asked for time is asked again when it is over.
                if let until = block.until, block.reason == .retryAfter || block.reason == .circuitBreaker,
                    try waits(until: until, name, turn)
                {
                    continue
                }
                return postponed(Self.words(block, state, destination), isHeld: block.reason == .held)
            }
            if let settlement = Settlement.decide(
                onExpiryOf: operation, route: route, now: world.now())
            {
                return .failed(event(settlement, operation, name, destination, route))
            }
            // Before it is sent: whatever comes of it, nobody else does the same.
            if state.hold != nil, !isSecondTry,
                try !LedgerFile(spool: spool).beginProbe(of: destination.name, settings, at: world.now())
            {
                return postponed(Self.words(Availability.Block(.held), state, destination), isHeld: true)
            }
            isSecondTry = false
            let maker = RequestMaker(route, settings, world)
            let began = world.now()
            var made: RequestMaker.Made
            do throws(RequestError) {
                made = try maker.request(for: [(operation, name.attempts + 1)])
                // What else is wrong with the sink shows where it is used.
                if let reason = try? maker.fitTransport(of: &made.request, to: openSink()) {
                    throw RequestError.noTransport(reason: reason)
                }
            } catch {
                let settlement = Settlement.decide(on: error, now: began)
                let failed = event(settlement, operation, name, destination, route)
                guard error.outcome == .held else { return .failed(failed) }
                remember(
                    [.held(reason: settlement.rule.description, blamed: blame(destination))], destination, settings)
                return postponed(error.description, isHeld: true)
            }
            let received: AttemptReport
            do throws(SinkError) {
                received = try attempt(made.request)
            } catch {
                return .broken(Postponement(operation: operation, name: name, reason: error.description))
            }
            let report = SealedReport(received, made.redaction)
            var verdict = verdict(on: report, about: name.id, route, settings)
            if let error = received.error, let absence = absence(behind: error, destination, settings) {
                verdict = verdict.excused(by: absence, route: route)
            }
            if verdict.isUnauthenticated, !hasRefreshed, !made.secrets.values.isEmpty {
                hasRefreshed = true
                isSecondTry = world.credentials.refresh(made.secrets)
                if isSecondTry { continue }
            }
            let blamed = verdict.outcome == .held ? blame(destination) : nil
            var events = DestinationEvent.events(
                of: report, verdict, route: route, settings: settings, blamed: blamed, now: world.now())
            let credentials = RequestForm(route).credentials(settings: settings, headersCommand: route.headersCommand)
            if verdict.outcome == .delivered, !state.parking.isEmpty {
                events.append(.witnessed(credentials: credentials))
            }
            if verdict.accused() == .credentials, let status = verdict.status, let blamed, state.hold == nil {
                let refusal = Parking.Refusal(id: name.id, status: status, credentials: credentials, blamed: blamed)
                if state.parking.decision(on: refusal) != .hold {
                    // It is not queued; that it was refused is remembered for the next one.
                    events = [.answered, .parked(refusal)]
                    verdict = verdict.becoming(.failed, rule: .refusedAlone(verdict.rule))
                }
            }
            remember(events, destination, settings)
            let settlement = Settlement.decide(
                on: report, verdict: verdict, of: operation, name: name, route: route,
                inBatch: false, keepsDelivered: false,
                start: began, now: world.now(), using: &world.generator)
            let outcome = event(settlement, operation, name, destination, route)
            tell(outcome, verdict)
            if !verdict.isUntouched { operation.attempts.append(settlement.record) }
            switch settlement.disposition {
            case .delivered: return .delivered(outcome, answer: received.body)
            case .failed(let countsAttempt) where verdict.outcome == .deferred:
                // Its attempts are used up, but nothing has said that it cannot be.
                name.note(countsAttempt, due: world.now())
                return postponed(Self.words(settlement.record))
            case .failed: return .failed(outcome)
            case .putBack where verdict.isUntouched: return postponed(verdict.rule.description)
            case .putBack, .held, .superseded, .quarantined:
                return postponed(Self.words(settlement.record), isHeld: verdict.outcome == .held)
            case .deferred(let due, let countsAttempt):
                name.note(countsAttempt, due: due)
                if verdict.absence != nil { return postponed(verdict.rule.description) }
                if try !waits(until: due, name, turn) { return postponed(Self.words(settlement.record)) }
            }
        }
    }

    private func tell(_ outcome: AttemptEvent, _ verdict: Verdict) {
        var outcome = outcome
        if verdict.outcome == .deferred, case .failed(let countsAttempt) = outcome.settlement.disposition {
            outcome.settlement.disposition = .deferred(until: world.now(), countsAttempt: countsAttempt)
        }
        attempted(outcome)
    }

    private func verdict(
        on report: SealedReport, about id: OperationID, _ route: Route, _ settings: DestinationSettings
    ) -> Verdict {
        let (now, longest) = (world.now(), settings.retryAfterMax)
        let own = route.batch?.verdicts(
            on: report, members: [id], route: route, now: now, retryAfterMax: longest
        )?.first
        return own ?? Classification.verdict(on: report, route: route, now: now, retryAfterMax: longest)
    }

    /// Why this machine has no network, where that is what the error comes of.
    private func absence(
        behind error: NetworkError, _ destination: Destination, _ settings: DestinationSettings
    ) -> NetworkAbsence? {
        if destination.isReachedLocally(settings) { return nil }
        return world.networkWays().absence(behind: error) ?? (error == .offline ? .reported : nil)
    }

    // MARK: - One attempt

    private func openSink() -> any Sink {
        let sink = sink ?? world.makeSink(1)
        self.sink = sink
        return sink
    }

    private func attempt(_ request: OutgoingRequest) throws(SinkError) -> AttemptReport {
        var request = request
        request.answerLimit = max(request.answerLimit, Self.answerLimit)
        if let timeout = options.timeout {
            request.timeouts.total = min(request.timeouts.total, timeout)
            request.timeouts.request = min(request.timeouts.request, timeout)
            request.timeouts.connect = min(request.timeouts.connect, timeout)
        }
        let start = ContinuousClock.now
        let sink = openSink()
        tickets += 1
        try sink.submit(request, ticket: tickets)
        while !isInterrupted {
            let reports = try sink.reports(until: .now + .seconds(60), wakeup: Interruption.wakeup)
            if let (_, report) = reports.first(where: { $0.ticket == tickets }) { return report }
        }
        sink.close()
        self.sink = nil
        return AttemptReport(result: .failure(.cancelled, detail: "cut off by a signal"), duration: .now - start)
    }

    /// Waits for another attempt, if it is within the time for retries; false if it is not, if a signal came, or if it is
    /// no longer this operation's turn.
    private func waits(until moment: Timestamp, _ name: EntryName, _ turn: Turn?) throws(SpoolError) -> Bool {
        let wait = max(.zero, moment - world.now())
        guard let retryWithin = options.retryWithin, ContinuousClock.now + wait <= started + retryWithin,
            !isInterrupted
        else { return false }
        try turn?.pause()
        Interruption.sleep(until: .now + wait)
        guard let turn else { return !isInterrupted }
        while !isInterrupted {
            if try turn.begin(at: world.now()) { return try isFirst(name) }
            // Another run sends what has an order: seldom for longer than a request.
            let next = ContinuousClock.now + .milliseconds(100)
            if next > started + retryWithin { break }
            Interruption.sleep(until: next)
        }
        return false
    }

    private var isInterrupted: Bool { Interruption.received.count > 0 }

    // MARK: - Others

    /// Whether it would overtake no other. Where that cannot be seen it waits its turn in the queue.
    private func isFirst(_ name: EntryName) throws(SpoolError) -> Bool {
        var chooser = Chooser(
            spool: spool, configuration: configuration, destinations: destinations, now: world.now(), order: .decided)
        do throws(SpoolError) {
            return try chooser.isFirst(name)
        } catch let error where error.isLocked {
            report(error)
            return false
        }
    }

    /// What a hold that begins here is blamed on.
    private func blame(_ destination: Destination) -> String {
        var ledger = (try? LedgerFile(spool: spool).read()) ?? DestinationLedger()
        let salt = ledger.salt(using: &world.generator)
        self.salt = salt
        return Blame(configuration: configuration, destinations: destinations, credentials: world.credentials)
            .fingerprint(of: destination, salt: salt)
    }

    /// Losing it costs a probe. The answer stands: what was delivered must not look as if it was not.
    private func remember(
        _ events: [DestinationEvent], _ destination: Destination, _ settings: DestinationSettings
    ) {
        if events.isEmpty { return }
        do throws(SpoolError) {
            try LedgerFile(spool: spool).record(
                events.map { (destination.name, $0) }, settings: { _ in settings }, salt: salt, at: world.now(),
                durable: false)
        } catch {
            report(error)
        }
    }

    // MARK: - Words

    private func event(
        _ settlement: Settlement, _ operation: Operation, _ name: EntryName, _ destination: Destination, _ route: Route
    ) -> AttemptEvent {
        AttemptEvent(
            id: name.id, type: name.type, destination: destination.name, settlement: settlement,
            attempts: name.attempts + 1, attemptsAllowed: route.retry.attemptsAllowed)
    }

    private static func words(_ record: AttemptRecord) -> String {
        var text = record.status.map(String.init) ?? record.error ?? record.rule
        if let excerpt = record.excerpt, !excerpt.isEmpty { text += " (\(excerpt))" }
        return text
    }

    private static func words(
        _ block: Availability.Block, _ state: DestinationState, _ destination: Destination
    ) -> String {
        let name = "'\(destination.name)'"
        let until = block.until.map { " until \($0.rfc3339)" } ?? ""
        switch block.reason {
        case .paused: return "\(name) is paused"
        case .held: return "\(name) is held: \(state.hold?.reason ?? "no reason kept")"
        case .retryAfter: return "the server of \(name) asked for time\(until)"
        case .circuitBreaker: return "the circuit breaker of \(name) is open\(until)"
        }
    }
}

extension EntryName {
    /// Takes an attempt in that was deferred: the name says what the next one may be.
    fileprivate mutating func note(_ countsAttempt: Bool, due: Timestamp) {
        if countsAttempt { attempts = min(attempts + 1, 9999) }
        gate = .due(due)
    }
}
