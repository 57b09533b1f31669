import Delivery
package import Policy
package import Spool

/// One operation, tried at once: it has a file in the queue only if it needs one, and that is the caller's to make.
///
/// Until it returns, nothing is promised: a crash in here leaves no operation behind. What it learns of the destination
/// is remembered like what a run learns, and what runs have learned is respected: a held or cooling destination is not
/// asked.
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
        /// Not now. The operation has its attempts so far, and is to be queued where the caller queues: before `turn` is
        /// given back, or a newer one could be delivered before it is in its place.
        case postponed(Operation, reason: String, isHeld: Bool, turn: SequenceLock? = nil)
        /// No attempt can be made on this machine at all: nobody is charged, and it is to be queued as it was.
        case broken(Operation, reason: String)
    }

    /// What is read of an answer at most; an answer is a result here, and not only a sign.
    static let answerLimit = 64 << 20

    private let spool: SpoolDirectory
    private let configuration: Configuration
    private let destinations: DestinationTable
    private let options: Options
    private var world: Run.World
    private let report: (SpoolError) -> Void
    private let started = ContinuousClock.now
    private var sink: (any Sink)?
    private var tickets = 0
    /// Of the ledger, once a hold has been blamed on something.
    private var salt: String?

    /// `report` is told what could not be remembered.
    package init(
        spool: SpoolDirectory, configuration: Configuration, options: Options, world: Run.World,
        report: @escaping (SpoolError) -> Void
    ) {
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
        if try spool.isPaused { return .postponed(operation, reason: "the queue is paused", isHeld: false) }
        let sequence = route.isSequential ? route.sequence(of: name, to: destination) : nil
        let lock = try sequence.flatMap { (sequence) throws(SpoolError) in try takeTurn(sequence) }
        if sequence != nil, lock == nil {
            return .postponed(operation, reason: "older operations of its sequence come first", isHeld: false)
        }
        let result = try attempts(of: operation, to: destination)
        guard case .postponed(let sent, let reason, let isHeld, _) = result else {
            lock?.release()
            return result
        }
        return .postponed(sent, reason: reason, isHeld: isHeld, turn: lock)
    }

    private func attempts(of operation: Operation, to destination: Destination) throws(SpoolError) -> Result {
        var operation = operation
        var name = EntryName(naming: operation.header)
        let route = configuration.route(of: name.type)
        var hasRefreshed = false
        while true {
            let settings = destinations.settings(of: destination)
            let state = try LedgerFile(spool: spool).read()[destination.name]
            if case .closed(let closure) = state.opening(settings, at: world.now()) {
                // A server that asked for time is asked again when it is over.
                if let until = closure.until, closure.reason == .askedToWait || closure.reason == .suspended,
                    mayWait(until)
                {
                    continue
                }
                return .postponed(
                    operation, reason: Self.words(closure, state, destination), isHeld: closure.reason == .held)
            }
            if let settlement = Settlement.decide(
                onExpiryOf: operation, route: route, now: world.now())
            {
                return .failed(event(settlement, operation, name, destination, route))
            }
            let maker = RequestMaker(route, settings, world)
            let began = world.now()
            let request: OutgoingRequest
            let secrets: SecretValues
            do throws(RequestError) {
                (request, secrets) = try maker.request(for: [(operation, name.attempts + 1)])
                // What else is wrong with the sink shows where it is used.
                if let reason = try? openSink().defect(of: request.transport) {
                    throw RequestError.noTransport(reason: reason)
                }
            } catch {
                let settlement = Settlement.decide(on: error, now: began)
                let failed = event(settlement, operation, name, destination, route)
                guard error.outcome == .held else { return .failed(failed) }
                remember(
                    [.held(reason: settlement.rule.description, blamed: blame(destination))], destination, settings)
                return .postponed(operation, reason: error.description, isHeld: true)
            }
            let report: AttemptReport
            do throws(SinkError) {
                report = try attempt(request)
            } catch {
                return .broken(operation, reason: error.description)
            }
            let now = world.now()
            let verdict =
                route.batch?.verdicts(
                    on: report, members: 1, route: route, now: now, retryAfterMax: settings.retryAfterMax)?.first
                ?? Classification.verdict(on: report, route: route, now: now, retryAfterMax: settings.retryAfterMax)
            if verdict.isUnauthenticated(report), !hasRefreshed, !secrets.values.isEmpty {
                hasRefreshed = true
                if world.credentials.refresh(secrets) { continue }
            }
            remember(
                DestinationEvent.events(
                    of: secrets.redacted(report), verdict, route: route, settings: settings,
                    blamed: verdict.outcome == .held ? blame(destination) : nil, now: world.now()),
                destination, settings)
            let settlement = Settlement.decide(
                on: secrets.redacted(report), verdict: verdict, of: operation, name: name, route: route,
                keepsDelivered: false,
                start: began, now: world.now(), using: &world.generator)
            let outcome = event(settlement, operation, name, destination, route)
            operation.attempts.append(settlement.record)
            switch settlement.disposition {
            case .delivered: return .delivered(outcome, answer: report.body)
            case .failed where verdict.outcome == .deferred:
                // Its attempts are used up, but nothing has said that it cannot be.
                return .postponed(operation, reason: Self.words(settlement.record), isHeld: false)
            case .failed: return .failed(outcome)
            case .putBack, .held, .superseded, .quarantined:
                let isHeld = verdict.outcome == .held
                return .postponed(operation, reason: Self.words(settlement.record), isHeld: isHeld)
            case .deferred(let due, let countsAttempt):
                if countsAttempt { name.attempts += 1 }
                if !mayWait(due) {
                    return .postponed(operation, reason: Self.words(settlement.record), isHeld: false)
                }
            }
        }
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

    /// Waits until then, if that is within the time for retries; false if it is not, or if a signal came.
    private func mayWait(_ moment: Timestamp) -> Bool {
        let wait = max(.zero, moment - world.now())
        guard let retryWithin = options.retryWithin, ContinuousClock.now + wait <= started + retryWithin,
            !isInterrupted
        else { return false }
        Interruption.sleep(until: .now + wait)
        return !isInterrupted
    }

    private var isInterrupted: Bool { Interruption.received.count > 0 }

    // MARK: - Others

    /// The right to overtake nobody: `nil` where others of its sequence wait, or another run may be at them.
    private func takeTurn(_ sequence: SequenceKey) throws(SpoolError) -> SequenceLock? {
        guard let lock = try spool.lockSequences() else { return nil }
        var isFirst = true
        for state in [QueueState.new, .deferred, .claimed] {
            try spool.forEachEntry(in: state) { entry in
                let route = self.configuration.route(of: entry.name.type)
                guard route.isSequential else { return }
                let destination = self.destinations.destination(of: entry.name)
                if route.sequence(of: entry.name, to: destination) == sequence { isFirst = false }
            }
        }
        if isFirst { return lock }
        lock.release()
        return nil
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
        _ closure: Opening.Closure, _ state: DestinationState, _ destination: Destination
    ) -> String {
        let name = "'\(destination.name)'"
        let until = closure.until.map { " until \($0.rfc3339)" } ?? ""
        switch closure.reason {
        case .paused: return "\(name) is paused"
        case .held: return "\(name) is held: \(state.hold?.reason ?? "no reason kept")"
        case .askedToWait: return "\(name) has asked for time\(until)"
        case .suspended: return "\(name) cools down\(until)"
        }
    }
}
