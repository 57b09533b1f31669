import Policy

extension Contract {
    /// The status of a run is the worst of its reports. A run that ends with 0 leaves no due operation that the run may
    /// send.
    static func runStatus(_ record: Record) -> [Breach] {
        let reports = Dictionary(grouping: record.events.indices.filter { record.events[$0].isReport }) {
            record.events[$0].process
        }
        return record.events.indices.flatMap { index -> [Breach] in
            guard case .endsRun(let status, _, let waits) = record.events[index].what else { return [] }
            let process = record.events[index].process
            record.judging.meets(.process(process))
            return said(status, reports[process] ?? [], index, process, record) + left(status, process, index, record)
                + (waits && (status == 0 || status == 75) ? early(process, index, record) : [])
        }
    }

    /// The statuses of EXIT STATUS in drainq(1) for runs. The first status that applies wins.
    private static let precedence: [Int32] = [130, 143, 74, 69, 1, 65, 75, 0]

    private static func said(
        _ status: Int32, _ reports: [Int], _ end: Int, _ process: ProcessID, _ record: Record
    ) -> [Breach] {
        var least: [(status: Int32, at: Int)] = []
        var causes: Set<Int32> = [0, 75, 130, 143]
        var deferred: [OperationID: Int] = [:]
        // The status says what waits at the end: another process may have sent or released it by then.
        let isAlone = !isShared(process, until: end, record)
        for at in reports {
            guard case .reports(let report) = record.events[at].what else { continue }
            if let id = report.id { deferred[id] = nil }
            switch report {
            case .failed:
                least.append((1, at))
                causes.insert(1)
            case .ambiguous:
                if isAlone { least.append((69, at)) }
                causes.insert(69)
            case .quarantined:
                least.append((65, at))
                causes.insert(65)
            case .deferred(let id, counted: _): deferred[id] = at
            case .error:
                least.append((74, at))
                causes.insert(74)
            // The hold may have ended, or no due operation may wait for the hold to end.
            case .destinationHeld: causes.insert(69)
            case .recovered: causes.insert(65)
            case .delivered, .putBack, .superseded, .parked, .withheld, .evicted, .holdEnded, .tells: break
            }
        }
        if isAlone { least += deferred.values.map { (75, $0) } }
        // A destination may be held since an earlier run.
        causes.insert(69)
        func rank(_ status: Int32) -> Int { precedence.firstIndex(of: status) ?? precedence.count }
        if let worst = least.min(by: { (rank($0.status), $0.at) < (rank($1.status), $1.at) }),
            rank(worst.status) < rank(status)
        {
            return [Breach(.runStatus, [worst.at, end], "a run ended with \(status), and not with \(worst.status)")]
        }
        return causes.contains(status) ? [] : [Breach(.runStatus, [end], "a run ended with \(status) without a cause")]
    }

    /// Whether other processes may have claimed an operation, or have changed the set of eligible operations.
    private static func isShared(_ process: ProcessID, until end: Int, _ record: Record) -> Bool {
        record.courses.contains { other, its in
            other != process && its.began < end && (its.ended ?? .max) > record.course(of: process).began
                && !its.isAdder
        }
    }

    /// A run that stays until the queue is empty does not end while operations wait for a time.
    private static func early(_ process: ProcessID, _ end: Int, _ record: Record) -> [Breach] {
        let course = record.course(of: process)
        guard let choice = course.choice, choice.isUntilEmpty, course.refusals.isEmpty, course.interruptions.isEmpty,
            !record.clocks.differ(from: course.began, to: end), !record.lacksNetwork(from: course.began, to: end),
            !isShared(process, until: end, record),
            record.events[end].time - record.events[course.began].time < choice.maxTime ?? .seconds(86_400)
        else { return [] }
        return [Breach(.runStatus, [course.began, end], "a run until the queue is empty ended while operations wait")]
    }

    private static func left(_ status: Int32, _ process: ProcessID, _ end: Int, _ record: Record) -> [Breach] {
        let course = record.course(of: process)
        guard status == 0, let choice = course.choice, choice.ids == nil,
            !record.clocks.differ(from: course.began, to: end),
            course.refusals.isEmpty, course.stops.isEmpty
        else { return [] }
        // At the calm end nothing is paused or held.
        let isStopped =
            record.calm ?? .max > course.began
            && record.events[..<end].contains { event in
                if case .commands(let command) = event.what { command.verb.stops } else { false }
            }
        let stops = Stops(record)
        let sent = record.exchanges.filter { $0.process == process }.reduce(0) { $0 + $1.labels.count }
        if isShared(process, until: end, record) || isStopped || sent >= choice.limit {
            record.judging.excuses(.process(process))
            return []
        }
        return record.lives.indices.compactMap { index in
            let life = record.lives[index]
            guard isFresh(index, at: course.began, end, record.wall(of: process, at: course.began).lowerBound, record),
                choice.types.isEmpty || choice.types.contains(life.offer.type), !stops.hold(life)
            else { return nil }
            return Breach(
                .runStatus, [life.entered, course.began, end],
                "a run ended with 0 and left operation \(life.label), which was due")
        }
    }

    /// Whether an operation without any attempt was due during the whole run and waits for no other operation. Another
    /// content takes over the attempts of the content that it replaces, and waits where that one was parked.
    private static func isFresh(
        _ index: Int, at began: Int, _ end: Int, _ now: Timestamp, _ record: Record
    ) -> Bool {
        let life = record.lives[index]
        guard let entered = life.entered, entered < began, life.kind.coalescing == .none, !life.kind.needsKept,
            !life.kind.holdsBehindFailed, !life.offer.isDeadLetter, life.damaged == nil, life.offer.way != .send,
            life.offer.notBefore.map({ $0 < now }) ?? true, !life.hasDueTime(after: now),
            !life.leaves.contains(where: { $0.since < end }), life.touches.isEmpty,
            !record.contents(of: life).contains(where: { content in
                content.exchanges.contains { record.exchanges[$0].received < end }
                    || content.reports.contains { $0.at < end }
            }),
            // The operation is visible later: no process has removed the operation without a report.
            record.certainEnd(of: life) > end
        else { return false }
        return life.sequences.allSatisfy { sequence in
            (record.sequences[sequence] ?? []).allSatisfy { other in
                other == index || life.precedes(record.lives[other])
            }
        }
    }
}

extension Life {
    /// Whether a replacement has inherited a due time after `time`.
    fileprivate func hasDueTime(after time: Timestamp) -> Bool {
        guard case .accepted(let name) = answer, case .retryAt(let due) = name.gate else { return false }
        return due > time
    }
}

extension Command.Verb {
    /// Whether the command keeps operations from being sent.
    fileprivate var stops: Bool {
        switch self {
        case .pause, .hold, .holdDestination: true
        case .retry, .release, .drop, .resume, .releaseDestination, .repair, .exportAndDrop: false
        }
    }
}

extension Event {
    fileprivate var isReport: Bool { if case .reports = what { true } else { false } }
}
