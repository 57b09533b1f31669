import Policy

/// What operators are shown, judged after each process has ended.
extension Contract {
    /// The time without a delivery after which a destination is in trouble, whatever it answers (drainq(1), `status`),
    /// and the time without a run after which runs are missing.
    fileprivate static let patience = Duration.seconds(900)
    /// The same if its server has asked for time.
    fileprivate static let patienceAfterRequest = Duration.seconds(3600)

    /// `status` counts each file where it is.
    static func figures(_ record: Record) -> [Breach] {
        record.looks.compactMap { index, look in
            record.judging.meets(.request(index))
            if look.findings == [.unreadable] || look.figures == look.files { return nil }
            // Beside a foreign file lies the copy of a run that gives it a name.
            if record.lives.contains(where: {
                $0.offer.way == .foreign && $0.offered < index && $0.named ?? .max > index
            }) {
                record.judging.excuses(.request(index))
                return nil
            }
            return Breach(.figures, [index], "status counted \(look.figures), and the disk had \(look.files)")
        }
    }

    /// `status` says when the last run was, and that no run comes if none came.
    static func lastRuns(_ record: Record) -> [Breach] {
        if !record.clocks.areRight { return [] }
        let runs = record.courses.filter { $0.value.choice != nil }.sorted { $0.value.began < $1.value.began }
        return record.looks.compactMap { index, look -> Breach? in
            // A crash may lose the times, an error keeps a run from writing its own, and what cannot begin is no run.
            let known = runs.last { _, course in
                guard let ended = course.ended, ended < index, case .endsRun = record.events[ended].what else {
                    return false
                }
                return course.killed == nil && course.refusals.isEmpty
                    && !record.powerCuts.contains { $0 > course.began && $0 < index }
            }
            if look.findings.contains(.unreadable) { return nil }
            let now = record.time(at: index)
            if let last = look.lastRun {
                record.judging.meets(.request(index))
                // A time of whole seconds. A run that stays writes one each minute.
                let isTrue = runs.contains { _, course in
                    course.began < index && last > record.time(at: course.began) - .seconds(1)
                        && last <= record.time(at: min(course.ended ?? index, index))
                }
                if !isTrue { return Breach(.lastRuns, [index], "status knows a run at \(last.rfc3339), and none was") }
            }
            if let known {
                record.judging.meets(.process(known.key))
                let began = record.time(at: known.value.began)
                // Two runs of one minute write the same slot, and the later to write may have begun before.
                let minute = began.microseconds / 60_000_000
                let isOfMinute = look.lastRun.map { $0.microseconds / 60_000_000 == minute } ?? false
                if look.lastRun.map({ $0 < began - .seconds(1) && !isOfMinute }) ?? true {
                    return Breach(
                        .lastRuns, [known.value.began, index], "status does not know of the run of \(known.key)")
                }
            }
            let latest = runs.last { $0.value.began < index }
            if look.findings.contains(.neverRun), known != nil {
                return Breach(.lastRuns, [index], "status says that no run ever came")
            }
            guard let latest, look.findings.contains(.notRunning),
                // The time of a run is one of whole seconds.
                now - record.time(at: latest.value.began) < patience - .seconds(1), known?.key == latest.key
            else { return nil }
            return Breach(.lastRuns, [latest.value.began, index], "status says that no run comes, and one just came")
        }
    }

    /// "All is well" needs evidence: nothing has failed for good or is in quarantine, what is due is seen to be due, runs
    /// come, and no destination takes nothing.
    static func wellIsProven(_ record: Record) -> [Breach] {
        let attempts = Attempts(record)
        return record.looks.compactMap { index, look in
            if look.findings.contains(.unsent), record.clocks.areRight, !record.hasWithheld(before: index),
                !record.hasRun(at: index)
            {
                return Breach(
                    .wellIsProven, [index], "status says that runs do not send something, and none withheld it")
            }
            guard look.isWell else { return nil }
            record.judging.meets(.request(index))
            if let unsent = attempts.unsent(look, before: index) {
                return Breach(
                    .wellIsProven, [unsent.at, index],
                    "all is well, and operation \(unsent.life.label) is due and was put back unsent")
            }
            if look.files.failed > 0 {
                return Breach(.wellIsProven, [index], "all is well, and \(look.files.failed) operations have failed")
            }
            if look.files.quarantined > 0 {
                return Breach(
                    .wellIsProven, [index], "all is well, and \(look.files.quarantined) files are in quarantine")
            }
            for (host, destination) in look.destinations.sorted(by: { $0.key < $1.key })
            where destination.waiting > 0 && !attempts.isStopped(host, before: index) {
                if let trouble = attempts.trouble(of: host, before: index) {
                    return Breach(
                        .wellIsProven, trouble + [index],
                        "all is well, and \(host) has taken nothing for \(record.span(trouble[0], index).quantity)")
                }
            }
            return overdue(look, index, record)
        }
    }

    /// Returns a breach if operations have been due for so long that runs must be missing.
    private static func overdue(_ look: Look, _ index: Int, _ record: Record) -> Breach? {
        if !record.clocks.areRight { return nil }
        let latest = record.courses.values.filter { $0.choice != nil && $0.began < index }
        let last = latest.flatMap { [$0.began, min($0.ended ?? index, index)] }.max()
        guard let last, record.span(last, index) > .seconds(6 * 3600) else { return nil }
        let due = record.lives.first { life in
            guard let entered = life.entered, entered < last else { return false }
            return life.sequences.isEmpty && !life.kind.needsKept && !life.kind.holdsBehindFailed && life.leaves.isEmpty
                && life.touches.isEmpty && life.exchanges.isEmpty && life.reports.isEmpty && life.damaged == nil
                && life.offer.way != .send && life.offer.notBefore == nil && life.offer.expiresAt == nil
                && !life.offer.isDeadLetter && record.certainEnd(of: life) > index
        }
        guard let due else { return nil }
        return Breach(
            .wellIsProven, [due.entered, last, index],
            "all is well, operation \(due.label) is due, and no run has come for \(record.span(last, index).quantity)")
    }

    /// A destination is told to be in trouble if it has taken nothing for a while, and never after a delivery that the
    /// ledger knows.
    static func troubles(_ record: Record) -> [Breach] {
        let attempts = Attempts(record)
        return record.looks.flatMap { index, look in
            look.destinations.sorted { $0.key < $1.key }.compactMap { host, destination -> Breach? in
                if attempts.isStopped(host, before: index) { return nil }
                if !destination.isTrouble, destination.waiting > 0,
                    let trouble = attempts.trouble(of: host, before: index)
                {
                    record.judging.meets(.request(index))
                    return Breach(
                        .troubles, trouble + [index],
                        "\(host) has taken nothing for \(record.span(trouble[0], index).quantity), and status says \(destination.state.rawValue)"
                    )
                }
                guard destination.state == .down || destination.state == .missed, let since = destination.since,
                    record.clocks.areRight,
                    let delivery = attempts.delivery(to: host, before: index, after: since)
                else {
                    if destination.isTrouble { record.judging.meets(.request(index)) }
                    return nil
                }
                return Breach(
                    .troubles, [delivery, index],
                    "status says that \(host) has taken nothing since \(since.rfc3339), and it took an operation")
            }
        }
    }
}

/// What runs that ended by themselves know of destinations: their ledger has it.
private struct Attempts {
    private let record: Record
    private var ends: [String: [(at: Int, isDelivery: Bool, exchange: Exchange)]] = [:]
    private let releases: Releases

    init(_ record: Record) {
        self.record = record
        releases = Releases(record)
        for exchange in record.exchanges {
            guard let at = exchange.takenIn ?? exchange.learned else { continue }
            let isDelivery = exchange.request.bodies.indices.contains { exchange.delivered(body: $0) != nil }
            ends[exchange.request.host, default: []].append((at, isDelivery, exchange))
        }
        for host in ends.keys { ends[host]!.sort { $0.at < $1.at } }
    }

    /// Whether the process has written what it learned before an event.
    private func isWritten(_ process: ProcessID, before index: Int) -> Bool {
        let course = record.course(of: process)
        // Another process that keeps the lock of the ledger keeps the run from writing it, and the run says so.
        let isLockedOut = record.events[course.began..<index].contains { event in
            guard event.process == process, case .reports(.error(let words)) = event.what else { return false }
            return words.contains("state/lock")
        }
        return course.ended.map { $0 < index } ?? false && course.killed == nil && course.refusals.isEmpty
            && !isLockedOut && !record.powerCuts.contains { $0 > course.began && $0 < index }
    }

    /// Whether an operator's command or a change of a secret may have stopped or freed the destination, or a run may not
    /// have written what it knows.
    func isStopped(_ host: String, before index: Int) -> Bool {
        releases.any(of: host, from: 0, to: index)
            || record.events[..<index].contains { event in
                guard case .commands(let command) = event.what else { return false }
                let isStop = command.verb == .pause || command.verb == .holdDestination
                return isStop && (command.host == nil || command.host == host)
            }
            || record.renewals.contains { $0 < index } || record.absences.contains { $0.from < index }
    }

    /// Returns an operation that certainly waits, is due, and was put back by the last run that had it, with that event;
    /// `nil` if there is none.
    func unsent(_ look: Look, before index: Int) -> (at: Int, life: Life)? {
        for life in record.lives where life.sequences.isEmpty && !life.kind.needsKept && !life.kind.holdsBehindFailed {
            guard let last = life.reports.last(where: { $0.at < index }), case .withheld = last.report,
                isWritten(record.events[last.at].process, before: index),
                life.touches.isEmpty, life.leaves.isEmpty, life.damaged == nil, record.certainEnd(of: life) > index,
                !life.exchanges.contains(where: { record.exchanges[$0].received > last.at }),
                [.well, .fresh].contains(look.destinations[life.kind.host]?.state),
                record.renewals.isEmpty, !record.courses.values.contains(where: { ($0.ended ?? .max) > index })
            else { continue }
            return (last.at, life)
        }
        return nil
    }

    /// Returns the first and the last attempt of a time in which the destination certainly took nothing; `nil` if the
    /// time is short, or the destination may have taken something.
    func trouble(of host: String, before index: Int) -> [Int]? {
        let ends = (ends[host] ?? []).filter { $0.at < index }
        let lastDelivery = ends.last(where: \.isDelivery)?.at ?? -1
        let missed = ends.filter { $0.at > lastDelivery && isWritten($0.exchange.process, before: index) }
        guard let first = missed.first, let last = missed.last, first.at < last.at,
            !record.clocks.differ(from: first.at, to: last.at),
            ends.allSatisfy({ $0.at <= lastDelivery || isWritten($0.exchange.process, before: index) }),
            !record.exchanges.contains(where: { exchange in
                exchange.request.host == host && exchange.received < index
                    && (exchange.takenIn ?? exchange.learned ?? .max) > index
            })
        else { return nil }
        let hasAsked = missed.contains { $0.exchange.reply?.retryAfter != nil }
        let span = record.span(first.at, last.at)
        return span > (hasAsked ? Contract.patienceAfterRequest : Contract.patience) ? [first.at, last.at] : nil
    }

    /// Returns a delivery after a time, which the ledger certainly had.
    func delivery(to host: String, before index: Int, after since: Timestamp) -> Int? {
        let ends = (ends[host] ?? []).filter { $0.at < index }
        return ends.last { end in
            end.isDelivery && isWritten(end.exchange.process, before: index)
                && record.time(at: end.exchange.received) > since + .seconds(2)
        }?.at
    }
}

extension Record {
    /// Whether a run had a reason to tell that an operation is not sent: it was refused, or could not be read.
    fileprivate func hasWithheld(before index: Int) -> Bool {
        events[..<index].contains { event in
            guard case .reports(let report) = event.what else { return false }
            return switch report {
            case .withheld, .error: true
            default: false
            }
        }
    }

    /// Whether a process has begun and not ended: it may have an operation in flight for as long as it likes.
    fileprivate func hasRun(at index: Int) -> Bool {
        courses.values.contains { $0.began < index && ($0.ended ?? .max) > index }
    }

    /// The looks of the history, by event.
    var looks: [(at: Int, look: Look)] {
        events.indices.compactMap { if case .looks(let look) = events[$0].what { ($0, look) } else { nil } }
    }

    func span(_ first: Int, _ last: Int) -> Duration { events[last].time - events[first].time }
}
