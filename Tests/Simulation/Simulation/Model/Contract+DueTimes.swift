import Policy

extension Contract {
    /// A deferred operation waits for the delay of its schedule, unless an operator asks for the operation.
    static func dueTimes(_ record: Record) -> [Breach] {
        record.lives.flatMap { life -> [Breach] in
            let requests = life.exchanges.filter { record.isNewest(life, in: record.exchanges[$0]) }
            let deferrals = deferrals(of: life, in: record)
            return requests.compactMap { place in
                let exchange = record.exchanges[place]
                guard let last = deferrals.last(where: { $0.told < exchange.received }) else { return nil }
                let subject = Judging.Subject.request(place)
                record.judging.meets(subject)
                guard record.time(at: exchange.received) < last.due else { return nil }
                guard
                    !record.clocks.differ(from: record.asked(by: exchange.process, after: last), to: exchange.received),
                    !record.isExcusedSender(of: exchange),
                    !record.isWanted(life, by: exchange.process),
                    // A later end of an attempt, at an operator's wish, has set another time.
                    !life.reports.contains(where: { $0.at > last.told && $0.at < exchange.received }),
                    !record.isTakenByPowerCut(last.told, before: exchange.received),
                    !life.touches.contains(where: {
                        $0.verb.frees && $0.began < exchange.received && ($0.told ?? .max) > last.learned
                    })
                else {
                    record.judging.excuses(subject)
                    return nil
                }
                return Breach(
                    .dueTimes, [last.learned, last.told, exchange.received],
                    "operation \(life.label) was sent again before its delay was over")
            }
        }
    }

    /// Returns the deferrals of an operation whose attempt counted: the moment at which the process knew, the moment of
    /// the report, and the earliest time of the next attempt.
    private static func deferrals(
        of life: Life, in record: Record
    ) -> [(learned: Int, told: Int, due: Timestamp)] {
        life.reports.compactMap { at, report in
            guard case .deferred(_, counted: true) = report,
                record.course(of: record.events[at].process).refusals.isEmpty,
                let place = life.exchanges.last(where: {
                    record.exchanges[$0].process == record.events[at].process && record.exchanges[$0].received < at
                }), let learned = record.exchanges[place].learned, learned < at,
                counts(record.exchanges[place].reply, record.exchanges[place].status(of: life.label)) == true,
                let attempt = record.exchanges[place].request.attempt
            else { return nil }
            // Earlier requests may not have counted, but the requests that a run has reported as counted have.
            let isCertain =
                record.deaths(with: life).isEmpty && record.powerCuts.isEmpty && life.touches.isEmpty
                && !life.isReplacing
            let counted =
                isCertain
                ? life.reports.count { if case .deferred(_, counted: true) = $0.report { $0.at < at } else { false } }
                : 0
            let delay = life.kind.delays.dropFirst(counted).prefix(max(attempt - counted, 1)).min() ?? .zero
            return (learned, at, record.time(at: learned) + delay * (1 - life.kind.jitter))
        }
    }

    /// A destination gets no request before the end of its retry-after: none from the run with the answer, and soon
    /// none from other runs.
    static func retryAfter(_ record: Record) -> [Breach] {
        var asked: [(exchange: Exchange, learned: Int, until: Timestamp)] = []
        for exchange in record.exchanges {
            guard let seconds = exchange.reply?.retryAfter, exchange.status(ofBody: 0) == 429,
                let learned = exchange.learned, record.isTold(by: exchange.process, since: learned)
            else { continue }
            // A process that is stopped takes the answer in later.
            let taken = exchange.takenIn ?? learned
            asked.append((exchange, taken, record.time(at: learned) + .seconds(seconds)))
        }
        if asked.isEmpty { return [] }
        let releases = Releases(record)
        return record.exchanges.compactMap { exchange in
            // The way of the request to its server is nobody's.
            let now = record.time(at: exchange.submitted)
            let isMet = asked.contains {
                $0.exchange.request.host == exchange.request.host && $0.learned < exchange.received
            }
            if isMet { record.judging.meets(.request(exchange.request.number)) }
            let cause = asked.first { asked in
                let notice = asked.exchange.process == exchange.process ? Contract.arrival : Contract.lateness
                return asked.exchange.request.host == exchange.request.host && asked.learned < exchange.submitted
                    && now < asked.until && now > record.time(at: asked.learned) + notice
                    && !record.clocks.differ(from: asked.exchange.received, to: exchange.received)
                    && !releases.any(of: exchange.request.host, from: asked.exchange.received, to: exchange.received)
            }
            guard let cause, !record.isExcusedSender(of: exchange), !record.hasJustWoken(exchange) else {
                let isEarly = asked.contains {
                    $0.exchange.request.host == exchange.request.host && $0.learned < exchange.received
                        && now < $0.until
                }
                if isEarly { record.judging.excuses(.request(exchange.request.number)) }
                return nil
            }
            return Breach(
                .retryAfter, [cause.exchange.received, cause.learned, exchange.received],
                "request \(exchange.request.number) went to \(exchange.request.host) before the time that the server had asked for"
            )
        }
    }
}

/// The events that may end a block of a destination: an operator's release, or another command on the destination, and a
/// power cut, which may lose the state.
struct Releases {
    private var moments: [(at: Int, told: Int, host: String?)] = []

    init(_ record: Record, by verb: Command.Verb = .releaseDestination) {
        var running: [ProcessID: (at: Int, host: String?)] = [:]
        for (index, event) in record.events.enumerated() {
            switch event.what {
            case .commands(let command):
                if command.verb == verb { running[event.process] = (index, command.host) }
            case .done:
                if let (at, host) = running.removeValue(forKey: event.process) { moments.append((at, index, host)) }
            case .cutPower: moments.append((index, index, nil))
            default: break
            }
        }
        for (at, host) in running.values { moments.append((at, .max, host)) }
    }

    /// Returns the last release of a host that was done before an event.
    func last(of host: String, before event: Int) -> (at: Int, told: Int)? {
        moments.filter { ($0.host == nil || $0.host == host) && $0.told < event && $0.at < $0.told }
            .max { $0.told < $1.told }.map { ($0.at, $0.told) }
    }

    /// Whether a release may have happened between two events.
    func any(of host: String, from first: Int, to last: Int) -> Bool {
        moments.contains { ($0.host == nil || $0.host == host) && $0.told > first && $0.at < last }
    }
}

extension Record {
    /// Whether the operation is certainly the newest operation of its body in a request.
    func isNewest(_ life: Life, in exchange: Exchange) -> Bool {
        guard let labels = exchange.body(of: life.label).map({ exchange.request.bodies[$0] }) else { return false }
        // No event tells the new place of a dead letter that was created anew.
        if labels.count > 1, labels.contains(where: { self.life($0)?.created == nil }) { return false }
        return newest(of: labels).map { lives[$0].label == life.label } ?? false
    }

    /// Whether a power cut before `next` may have lost a deferral reported at `told`: a run syncs its deferrals at its
    /// end, and a killed run has not synced.
    fileprivate func isTakenByPowerCut(_ told: Int, before next: Int) -> Bool {
        let course = course(of: events[told].process)
        let ended = course.killed == nil ? course.ended ?? .max : .max
        return powerCuts.contains { $0 > told && $0 < next && $0 <= ended }
    }

    /// Whether the process is a run whose user wants the operation now.
    func isWanted(_ life: Life, by process: ProcessID) -> Bool {
        guard let choice = course(of: process).choice else { return false }
        return choice.isNow || choice.ids.map { ids in life.id.map(ids.contains) ?? true } ?? false
    }

    /// Whether the state of the destination has the answer learned by a process: the process did not die soon after,
    /// nor did it stand still, and none of its calls was refused.
    func isTold(by process: ProcessID, since learned: Int) -> Bool {
        let course = course(of: process)
        guard course.refusals.isEmpty, course.killed.map({ $0 > learned }) ?? true else { return false }
        return !(course.stops + course.stalls + [course.killed].compactMap(\.self)).contains {
            $0 > learned && events[$0].time - events[learned].time <= Contract.removal
        }
    }

    /// Returns the earliest event by whose time a process may have asked whether a deferred operation is due: a pass asks
    /// by the time at which it began, and may wait for locks after that.
    fileprivate func asked(by process: ProcessID, after deferral: (learned: Int, told: Int, due: Timestamp)) -> Int {
        events[deferral.told].process == process ? deferral.learned : min(deferral.learned, course(of: process).began)
    }

    /// Whether the sender of a request was stopped shortly before.
    func hasJustWoken(_ exchange: Exchange) -> Bool {
        course(of: exchange.process).wakes.contains {
            $0 < exchange.received && events[exchange.received].time - events[$0].time <= Contract.lateness
        }
    }
}

extension Exchange {
    /// Returns the server's status for an operation; `nil` without a status.
    func status(of label: Label) -> Int? { body(of: label).flatMap { status(ofBody: $0) } }
}
