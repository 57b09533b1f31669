import Policy

extension Contract {
    /// A request says the number of counted attempts before it, plus one. An operation fails by its attempts when its
    /// schedule is used up, neither earlier nor later.
    static func attempts(_ record: Record) -> [Breach] {
        record.lives.flatMap { life in
            var counts = AttemptCounts(of: life, in: record)
            return counts.breaches()
        }
    }

    /// Whether an attempt with this status counts, if its operation is deferred. The attempt does not count if the
    /// server asked for time. `nil` if the status does not defer the operation.
    static func counts(_ reply: Reply?, _ status: Int?) -> Bool? {
        guard let status else { return true }
        switch status {
        case 100...199, 408, 409, 421, 423, 425, 429, 500, 502...504, 506...599: return reply?.retryAfter == nil
        default: return nil
        }
    }
}

/// The counted attempts of an operation, as far as the outside world can tell: between `least` and `most`.
private struct AttemptCounts {
    private enum Step {
        case request(Int)
        case sentAgain
        case report(Report)
        case frees
        case freed
        /// A process died with unreported requests of the operation.
        case dies(requests: Int)
        case cutPower
    }

    private let life: Life
    private let record: Record
    private var least = 0
    private var most = 0
    /// The upper bound of attempts since the start of an operator's command that begins the count anew.
    private var since = 0
    private var found: [Breach] = []
    /// The requests by process since the process's last report on the operation.
    private var unreported: [ProcessID: [Int]] = [:]

    init(of life: Life, in record: Record) {
        self.life = life
        self.record = record
        // An import keeps the attempts of the export, and `send` keeps its own.
        for (_, answer) in life.answers {
            if case .accepted(let name) = answer { (least, most) = (name.attempts, name.attempts) }
        }
        if let first = life.firstName { (least, most) = (first.attempts, first.attempts) }
    }

    mutating func breaches() -> [Breach] {
        // Nobody sees the counts of a merged document's parts. Operations of `send --no-queue` have no file.
        guard life.offer.way != .sendUnqueued else { return [] }
        if !life.exchanges.isEmpty { record.judging.meets(.life(life.label)) }
        if life.kind.coalescing == .merge {
            record.judging.excuses(.life(life.label))
            return []
        }
        let entered = life.named ?? life.entered ?? life.offered
        if life.offer.way == .send { add(least: 0, most: limit) }
        var steps: [(at: Int, step: Step)] = []
        for place in life.exchanges {
            let exchange = record.exchanges[place]
            // An attempt of `send` without a connection is seen by no server, and `send` reports none.
            if life.offer.way == .send, exchange.process == life.submitter { continue }
            steps.append((exchange.received, .request(place)))
            if exchange.isSentAgain(life) || isAskedAgain(exchange), let end = exchange.ended {
                steps.append((end, .sentAgain))
            }
        }
        for (at, report) in life.reports { steps.append((at, .report(report))) }
        for touch in life.touches where touch.verb.frees {
            steps.append((touch.began, .frees))
            if let told = touch.told { steps.append((told, .freed)) }
        }
        steps.removeAll { $0.at < entered }
        for cut in record.powerCuts { steps.append((cut, .cutPower)) }
        for death in record.deaths(with: life) { steps.append((death.at, .dies(requests: death.requests))) }
        // A move that the system broke off may have taken effect: the run tells of an error, and not of the result.
        for end in record.brokenEnds(with: life) { steps.append((end.at, .dies(requests: end.requests))) }
        for (at, step) in steps.sorted(by: { $0.at < $1.at }) { take(step, at) }
        return found
    }

    /// Whether the run sends an operation with refused credentials again at once: another operation was delivered with
    /// them.
    private func isAskedAgain(_ exchange: Exchange) -> Bool {
        guard let learned = exchange.learned, exchange.status(of: life.label).map(Contract.refusing.contains) ?? false,
            let next = life.exchanges.map({ record.exchanges[$0] }).first(where: {
                $0.process == exchange.process && $0.received > learned
            })
        else { return false }
        return !life.reports.contains {
            $0.at > learned && $0.at < next.received && record.events[$0.at].process == exchange.process
        }
    }

    private mutating func take(_ step: Step, _ at: Int) {
        switch step {
        case .request(let place):
            unreported[record.exchanges[place].process, default: []].append(place)
            judge(record.exchanges[place])
        // The next request has the next number, although the attempt does not count.
        case .sentAgain: add(least: 0, most: 1)
        case .report(.deferred(_, let counted)): takeDeferral(counted, at)
        case .report(.failed(_, let isExpired)): if !isExpired { judgeFailure(at) }
        case .report: unreported[record.events[at].process] = nil
        case .frees: (least, since) = (0, 0)
        // The command took effect before or after the reports since its start.
        case .freed: (least, most) = (0, since)
        // A process may have written its last results without a report.
        case .dies(let requests): add(least: 0, most: requests)
        // A power cut may take results that a run has not synced.
        case .cutPower: least = 0
        }
    }

    private mutating func add(least few: Int, most many: Int) {
        least += few
        most += many
        since += many
    }

    /// The number of attempts in the schedule.
    private var limit: Int { life.kind.delays.count + 1 }

    private mutating func judge(_ exchange: Exchange) {
        guard exchange.labels.count == 1, let attempt = exchange.request.attempt,
            !record.isExcusedSender(of: exchange)
        else { return }
        // A range is content with more than one number.
        if least < most { record.judging.excuses(.life(life.label)) }
        if attempt < least + 1 || attempt > most + 1 {
            let expected = least == most ? "\(least + 1)" : "\(least + 1) to \(most + 1)"
            found.append(
                Breach(
                    .attempts, [life.offered, exchange.received],
                    "request \(exchange.request.number) of operation \(life.label) says attempt \(attempt), and not \(expected)"
                ))
        }
        // A run may add an attempt to a schedule used up by `send`, also if the content is another one by then.
        if least + 1 > limit + (record.wasSent(life) ? 1 : 0) {
            found.append(
                Breach(
                    .attempts, [life.offered, exchange.received],
                    "operation \(life.label) was sent after \(least) counted attempts, of \(limit)"))
        }
    }

    private mutating func takeDeferral(_ counted: Bool, _ at: Int) {
        let process = record.events[at].process
        let course = record.course(of: process)
        let places = (unreported.removeValue(forKey: process) ?? []).filter {
            record.exchanges[$0].learned ?? .max < at
        }
        // A file without a new name keeps its count.
        add(least: counted && course.refusals.isEmpty ? 1 : 0, most: counted ? 1 : 0)
        guard places.count == 1, let exchange = places.first.map({ record.exchanges[$0] }), exchange.labels.count == 1,
            let counts = Contract.counts(exchange.reply, exchange.status(ofBody: 0)), counts != counted
        else { return }
        // The end of a run cuts attempts off. A cut attempt does not count.
        let isCut = !counted && (course.choice?.maxTime != nil || !course.interruptions.isEmpty)
        // A network that goes explains a lost answer, and the attempt is nobody's.
        let isNobodys = !counted && record.lacksNetwork(from: exchange.received, to: at)
        if isCut || isNobodys || exchange.isLost { return }
        found.append(
            Breach(
                .attempts, [exchange.received, at],
                "the attempt of operation \(life.label) by request \(exchange.request.number) was \(counted ? "" : "not ")counted"
            ))
    }

    private mutating func judgeFailure(_ at: Int) {
        let process = record.events[at].process
        let places = (unreported.removeValue(forKey: process) ?? []).filter {
            record.exchanges[$0].learned ?? .max < at
        }
        guard places.count == 1, let exchange = places.first.map({ record.exchanges[$0] }), exchange.labels.count == 1,
            Contract.counts(exchange.reply, exchange.status(ofBody: 0)) == true, most + 1 < limit
        else { return }
        found.append(
            Breach(
                .attempts, [exchange.received, at],
                "operation \(life.label) failed after \(most + 1) attempts at most, of \(limit)"))
    }
}

extension Exchange {
    /// Whether the run sends the operation again at once: the agent ended, or the server refused a batch with the
    /// operation.
    fileprivate func isSentAgain(_ life: Life) -> Bool {
        guard !isLost else { return true }
        return labels.count > 1 && status(of: life.label).map { !(200..<300).contains($0) } ?? false
    }
}
