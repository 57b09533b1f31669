import Delivery
import Policy
import Spool

/// A claimed operation whose request is with the sink.
private struct InFlight {
    var claim: Claim
    var operation: Operation
    var destination: Destination
    var route: Route
    var began: Timestamp
}

extension Run {
    /// Attempts the chosen in order, up to `concurrency` at once; returns when nothing is in flight any more, with how
    /// many were left because the run had to stop.
    ///
    /// Each is claimed just before its request is submitted, so several runs share one queue. After a crash in here the
    /// claims of this run are returned by the next one; whether their requests arrived is unknown (window W1).
    func attempt(_ chosen: [Candidate], _ claims: SpoolRun) -> Int {
        var order = DispatchOrder<Digest, Candidate>(concurrency: options.concurrency)
        for candidate in chosen { order.append(candidate, to: candidate.destination.digest) }
        var flying: [Int: InFlight] = [:]
        var perDestination: [Digest: Int] = [:]
        var graceEnd: ContinuousClock.Instant?

        while true {
            if graceEnd == nil, mustStop() { graceEnd = .now + options.grace }
            while graceEnd == nil, let next = order.next(inFlight: perDestination) {
                if held.contains(next.destination.digest) { continue }
                guard let flight = begin(next, claims) else {
                    if mustStop() { break }
                    continue
                }
                flying[summary.attempts] = flight
                perDestination[next.destination.digest, default: 0] += 1
            }
            if summary.end != .done, graceEnd == nil { continue }
            guard !flying.isEmpty, let sink else { break }
            do throws(SinkError) {
                let reports = try sink.reports(
                    until: pollDeadline(graceEnd), wakeup: graceEnd == nil ? Interruption.wakeup : -1)
                for (ticket, report) in reports {
                    guard let flight = flying.removeValue(forKey: ticket) else { continue }
                    perDestination[flight.destination.digest, default: 1] -= 1
                    settle(flight, report, claims)
                }
                if !reports.isEmpty { flush(claims) }
            } catch {
                agentsFailed(error)
                graceEnd = .now
            }
            if let end = graceEnd, .now >= end || Interruption.received.count > 1 {
                cutOff(Array(flying.values), claims)
                break
            }
        }
        return order.waiting
    }

    /// Whether no more is to be claimed: a signal, the time, or a queue that cannot be trusted with another outcome.
    private func mustStop() -> Bool {
        if summary.end != .done { return true }
        if let maxTime = options.maxTime, .now >= started + maxTime {
            summary.end = .timeUp
            return true
        }
        return interrupted()
    }

    /// The sink is asked again at least when something else than a report has to be noticed.
    private func pollDeadline(_ graceEnd: ContinuousClock.Instant?) -> ContinuousClock.Instant {
        // In the grace time a second signal is looked for ten times a second: the first has used up the wake-up.
        if let graceEnd { return min(graceEnd, .now + .milliseconds(100)) }
        if let maxTime = options.maxTime { return started + maxTime }
        return .now + .seconds(60)
    }

    // MARK: - One operation

    /// Claims and reads an operation and submits its request; `nil` where there is nothing to wait for.
    private func begin(_ candidate: Candidate, _ claims: SpoolRun) -> InFlight? {
        do throws(SpoolError) {
            guard let claim = try claims.claim(candidate.entry) else { return nil }
            let operation: Operation
            switch try claims.read(claim, limits: configuration.limits) {
            case .operation(let stored): operation = stored.operation
            case .notAnOperation(let reason):
                try quarantine(claim, reason, claims)
                return nil
            case .newerFormat:
                leftAlone.insert(claim.name.id)
                _ = try claims.settle(claim, .putBack, record: nil, now: world.now())
                throw SpoolError(kind: .newerFormat, verb: "send", path: candidate.entry.path, code: 0)
            }
            return try submit(operation, claim, candidate.destination, claims)
        } catch {
            // The claim, if there is one, is put back when the run ends; nothing has been sent.
            leftAlone.insert(candidate.entry.name.id)
            inputOutput(error)
            return nil
        }
    }

    private func submit(
        _ operation: Operation, _ claim: Claim, _ destination: Destination, _ claims: SpoolRun
    ) throws(SpoolError) -> InFlight? {
        let route = configuration.route(of: operation.header.type)
        var flight = InFlight(
            claim: claim, operation: operation, destination: destination, route: route, began: world.now())
        if let settlement = Settlement.decide(onExpiryOf: operation.header, route: route, now: flight.began) {
            try apply(settlement, flight, claims, sent: false)
            return nil
        }
        let request: OutgoingRequest
        do throws(RequestError) {
            request = try route.request(
                for: operation, attempt: claim.name.attempts + 1, version: world.version)
        } catch {
            try apply(.decide(on: error, now: flight.began), flight, claims, sent: false)
            return nil
        }
        do throws(SinkError) {
            let sink = sink ?? world.makeSink(options.concurrency)
            self.sink = sink
            flight.destination.name = Origin(url: request.url)?.description ?? destination.name
            flight.began = world.now()
            try sink.submit(request, ticket: summary.attempts + 1)
            summary.attempts += 1
            return flight
        } catch {
            agentsFailed(error)
            _ = try claims.settle(claim, .putBack, record: nil, now: world.now())
            return nil
        }
    }

    private func settle(_ flight: InFlight, _ report: AttemptReport, _ claims: SpoolRun) {
        let now = world.now()
        var settlement = Settlement.decide(
            on: report, verdict: Classification.verdict(on: report, route: flight.route, now: now),
            of: flight.operation, name: flight.claim.name, route: flight.route,
            keepsDelivered: configuration.retention.delivered > .zero, start: flight.began, now: now,
            using: &world.generator)
        if case .failure(.cancelled, _) = report.result {
            // Cut off after its request was sent: due at once and uncharged, but its history must say that it was sent.
            settlement.disposition = .deferred(until: now, countsAttempt: false)
        }
        var answer: [UInt8] = []
        if case .answer(let received) = report.result { answer = received.body }
        do throws(SpoolError) {
            try apply(settlement, flight, claims, sent: true, answer: answer)
        } catch {
            leftAlone.insert(flight.claim.name.id)
            broken(error)
        }
    }

    /// Does to the file what was decided, then counts and reports it.
    private func apply(
        _ settlement: Settlement, _ flight: InFlight, _ claims: SpoolRun, sent: Bool, answer: [UInt8] = []
    ) throws(SpoolError) {
        let disposition = settlement.disposition
        let settled = try claims.settle(
            flight.claim, disposition, record: settlement.isRecorded ? settlement.record : nil, now: world.now())
        let record = settlement.record
        waiting.remove(flight.operation.header.id)
        switch record.outcome {
        case .delivered: summary.delivered += 1
        case .deferred: waiting.insert(flight.operation.header.id)
        case .failed: summary.failed += 1
        case .held:
            summary.held += 1
            if held.insert(flight.destination.digest).inserted {
                report(.destinationHeld(destination: flight.destination.name, record: record))
            }
        }
        var event = AttemptEvent(
            id: flight.operation.header.id, type: flight.operation.header.type, destination: flight.destination.name,
            record: record,
            attempts: flight.claim.name.attempts + (disposition.countsAttempt ? 1 : 0),
            attemptsAllowed: flight.route.retry.attemptsAllowed, nextDue: nil, answer: answer)
        if case .deferred(let until, _) = disposition { event.nextDue = until }
        if case .quarantined(let item) = settled { quarantined(item) }
        report(sent ? .attempted(event) : .gaveUp(event))
    }

    private func quarantine(_ claim: Claim, _ reason: String, _ claims: SpoolRun) throws(SpoolError) {
        let settled = try claims.settle(claim, .quarantined(reason: reason), record: nil, now: world.now())
        if case .quarantined(let item) = settled { quarantined(item) }
    }

    // MARK: - Ends

    /// What is in flight when the grace time is up: its outcome is unknown, so it waits for the next run, uncharged.
    private func cutOff(_ flights: [InFlight], _ claims: SpoolRun) {
        if flights.isEmpty { return }
        summary.wasCutOff = Interruption.received.count > 1
        sink?.close()
        for flight in flights {
            let report = AttemptReport(
                result: .failure(.cancelled, detail: "cut off by the end of the run"),
                duration: max(.zero, world.now() - flight.began))
            summary.cutOff += 1
            settle(flight, report, claims)
        }
        flush(claims)
    }

    private func agentsFailed(_ error: SinkError) {
        if summary.end == .done { summary.end = .broken(error.description) }
        summary.inputOutputErrors += 1
        report(.agentsFailed(error.description))
    }

    private func flush(_ claims: SpoolRun) {
        do throws(SpoolError) { try claims.flush() } catch { broken(error) }
    }
}

extension Disposition {
    /// Whether this was an attempt: a request was sent, and the server did not merely ask for time.
    fileprivate var countsAttempt: Bool {
        switch self {
        case .delivered: true
        case .deferred(_, let counts), .failed(let counts): counts
        case .putBack, .held, .superseded, .quarantined: false
        }
    }
}
