import Policy

extension Contract {
    /// The maximal number of operations that an incident may cost a destination.
    private static let stormGuard = 5
    /// The permanent statuses. They end an operation and hold no destination by themselves.
    static let permanent: Set<Int> = [400, 404, 405, 406, 410, 422, 501, 505]
    /// The statuses that refuse credentials. Such a status ends an operation only if other credentials are good.
    static let refusing: Set<Int> = [401, 403, 407]

    /// An incident costs a destination at most five operations: at most five operations in a row fail by the same
    /// permanent status, in one run or in several. A delivery ends the row, and so does another permanent status.
    static func storms(_ record: Record) -> [Breach] {
        let releases = Releases(record)
        return Set(record.lives.map(\.kind.host)).sorted().compactMap { host in
            var row = Row(status: 0)
            for step in steps(of: host, in: record) {
                switch step.what {
                case .delivery: row = Row(status: 0)
                case .failure(let status, let process):
                    if row.status != status { row = Row(status: status) }
                    row.failures.append((step.at, process))
                    record.judging.meets(.request(step.at))
                    let first = row.failures[0].at
                    guard row.failures.count > stormGuard * row.sideBySide(record),
                        !record.clocks.differ(from: first, to: step.at),
                        !releases.any(of: host, from: first, to: step.at),
                        row.failures.allSatisfy({ record.isTold(by: $0.process, since: $0.at) })
                    else {
                        if row.failures.count > stormGuard { record.judging.excuses(.request(step.at)) }
                        continue
                    }
                    return Breach(
                        .storms, row.failures.map(\.at),
                        "\(row.failures.count) operations for \(host) failed in a row by \(status)")
                }
            }
            return nil
        }
    }

    /// Failures of the same status, without a delivery between them.
    private struct Row {
        let status: Int
        var failures: [(at: Int, process: ProcessID)] = []

        /// The number of runs that failed operations side by side. Each run learns of the failures of other runs only
        /// from the state that those runs write.
        func sideBySide(_ record: Record) -> Int {
            let spans = Set(failures.map(\.process)).map { process in
                let course = record.course(of: process)
                return course.began...max(course.began, course.ended ?? .max)
            }
            return max(
                1,
                spans.indices.count { here in
                    spans.indices.contains { $0 != here && spans[$0].overlaps(spans[here]) }
                })
        }
    }

    private enum Step {
        case delivery
        case failure(status: Int, ProcessID)
    }

    /// Returns the steps that change the count of a destination's failures, in order. A delivery stands twice: it may
    /// count when the server answers, and when its run learns the answer.
    private static func steps(of host: String, in record: Record) -> [(at: Int, what: Step)] {
        var steps: [(at: Int, what: Step)] = []
        for exchange in record.exchanges where exchange.request.host == host {
            let isDelivery = exchange.request.bodies.indices.contains { body in
                exchange.status(ofBody: body).map { (200..<300).contains($0) } ?? false
            }
            guard isDelivery else { continue }
            steps += [exchange.replied, exchange.learned].compactMap(\.self).map { ($0, .delivery) }
        }
        let deliveries = steps.map(\.at)
        for life in record.lives where life.kind.host == host {
            for (at, report) in life.reports {
                let process = record.events[at].process
                guard case .failed(_, isExpired: false) = report, record.course(of: process).choice != nil,
                    let exchange = record.lastAnswer(of: life, to: process, before: at), let learned = exchange.learned,
                    let status = exchange.status(of: life.label), permanent.contains(status)
                else { continue }
                // The storm guard withholds answers until a delivery shows that others go well: the delivery is the
                // reason for which these operations fail.
                let isWitnessed = deliveries.contains { $0 > learned && $0 < at }
                if !isWitnessed, !record.isContradicted(life, before: at) {
                    steps.append((at, .failure(status: status, process)))
                }
            }
        }
        return steps.sorted { $0.at < $1.at }
    }

    // MARK: - Credentials

    /// An operation with refused credentials fails only after a delivery of another operation with the same credentials,
    /// by their values: an expired token costs no operation.
    static func credentials(_ record: Record) -> [Breach] {
        record.lives.flatMap { life in
            life.reports.compactMap { at, report -> Breach? in
                let process = record.events[at].process
                guard case .failed(_, isExpired: false) = report, record.course(of: process).choice != nil,
                    let status = record.lastStatus(of: life, to: process, before: at),
                    refusing.contains(status),
                    let first = life.exchanges.map({ record.exchanges[$0] }).first(where: {
                        $0.status(of: life.label).map(refusing.contains) ?? false
                    })
                else { return nil }
                record.judging.meets(.life(life.label))
                let isWitnessed = record.exchanges.contains { exchange in
                    exchange.request.host == life.kind.host && exchange.request.secret == first.request.secret
                        && exchange.learned.map { $0 > first.received } ?? false
                        && exchange.request.bodies.indices.contains { exchange.delivered(body: $0) != nil }
                }
                if isWitnessed { return nil }
                return Breach(
                    .credentials, [first.received, at],
                    "operation \(life.label) failed by \(status), and no other one was delivered")
            }
        }
    }
}

extension Record {
    /// Whether the server has taken another operation out of a batch with this operation: a failure is then the
    /// operation's own.
    fileprivate func isContradicted(_ life: Life, before index: Int) -> Bool {
        let others = Set(life.exchanges.filter { exchanges[$0].received < index }.flatMap { exchanges[$0].labels })
        return others.contains { label in
            label != life.label
                && self.life(label)!.exchanges.contains { place in
                    let exchange = exchanges[place]
                    return exchange.learned ?? .max < index
                        && exchange.body(of: label).flatMap { exchange.delivered(body: $0) } != nil
                }
        }
    }

    /// Returns the last status that a process got for an operation; `nil` without a status.
    fileprivate func lastStatus(of life: Life, to process: ProcessID, before index: Int) -> Int? {
        lastAnswer(of: life, to: process, before: index)?.status(of: life.label)
    }

    /// Returns the last request of a process with an operation; `nil` if the process got no answer to it.
    fileprivate func lastAnswer(of life: Life, to process: ProcessID, before index: Int) -> Exchange? {
        let values = life.kind.coalescing == .merge ? life.values : nil
        let sent = course(of: process).submissions.last { submission in
            submission.at < index
                && submission.labels.contains { label in
                    label == life.label || values != nil && self.life(label)?.values == values
                }
        }
        let last = life.exchanges.last { exchanges[$0].process == process && exchanges[$0].received < index }
        guard let last, exchanges[last].learned ?? .max < index, exchanges[last].received > sent?.at ?? -1 else {
            return nil
        }
        return exchanges[last]
    }
}
