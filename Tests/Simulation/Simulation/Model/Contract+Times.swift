import Policy

extension Contract {
    /// No run sends an expired operation, and no operation expires before its time.
    static func expiry(_ record: Record) -> [Breach] {
        record.lives.flatMap { life -> [Breach] in
            if life.kind.expiresAfter != nil || life.offer.expiresAt != nil { record.judging.meets(.life(life.label)) }
            if record.sharesID(life) {
                record.judging.excuses(.life(life.label))
                return []
            }
            // The answer to an edit of a dead letter tells of no expiry.
            let told = life.leaves.filter { $0.leave == .failed(isExpired: true) && $0.at != life.answers.last?.at }
            // Whoever recovers a dead run tells again of what the run has failed, at another time by another clock.
            let expiries = told.filter { leave in
                !told.contains { first in
                    first.at < leave.at && !life.touches.contains { $0.began > first.at && $0.began < leave.at }
                }
            }
            guard let expiry = expiry(of: life) else {
                guard life.kind.expiresAfter == nil else { return [] }
                return expiries.map {
                    Breach(
                        .expiry, [life.offered, $0.at], "operation \(life.label) expired, and has no time to expire")
                }
            }
            let freed = life.touches.first { $0.verb.frees }?.began ?? .max
            let late = life.exchanges.map { record.exchanges[$0] }.filter { exchange in
                exchange.received < freed
                    && record.wall(of: exchange.process, at: exchange.received, within: lateness).lowerBound > expiry
                        + lateness
                    && !record.isExcusedSender(of: exchange) && !record.hasJustWoken(exchange)
            }
            return late.map {
                Breach(.expiry, [life.offered, $0.received], "operation \(life.label) was sent after it had expired")
            }
                + expiries.filter { leave in
                    let process = record.events[leave.at].process
                    let wall = record.wall(of: process, at: leave.at, within: lateness).upperBound
                    return wall < expiry
                        && wall < record.expiry(ofAttempted: life, before: leave.at) ?? Timestamp(microseconds: .max)
                }.map {
                    Breach(.expiry, [life.offered, $0.at], "operation \(life.label) expired before its time")
                }
        }
    }

    /// At the end no expired operation waits, whatever the wait reason. Runs of the calm end come every half an hour.
    static func expired(_ record: Record) -> [Breach] {
        if !record.history.endsCalmly || Stops(record).stopRuns { return [] }
        let end = record.history.began + (record.events.last?.time ?? .zero) - .seconds(1801)
        return record.lives.flatMap { life -> [Breach] in
            guard let expiry = expiry(of: life), expiry < end else { return [] }
            record.judging.meets(.life(life.label))
            // Only the file says when it expires, and no run opens a damaged file that waits for a kept value.
            if life.touches.contains(where: \.verb.frees) || life.damaged != nil && life.kind.needsKept {
                record.judging.excuses(.life(life.label))
                return []
            }
            return life.left.filter { $0.directory == .new || $0.directory == .deferred }.map {
                Breach(.expired, [life.offered], "operation \(life.label) has expired, and still waits in \($0.path)")
            }
        }
    }

    /// Returns the time at which an operation certainly expires; `nil` if the operation does not expire, or its time of
    /// creation is unknown.
    private static func expiry(of life: Life) -> Timestamp? {
        // An operation that a clock dated before 2001 has no age: the clock was not set.
        let dated = life.created.flatMap { $0.lowerBound < Timestamp(microseconds: 978_307_200_000_000) ? nil : $0 }
        let age = life.kind.expiresAfter.flatMap { age in dated.map { $0.upperBound + age } }
        return [life.offer.expiresAt, age].compactMap(\.self).min()
    }

    /// No run sends an operation before its `notBefore`, unless an operator retries the operation or names it to a run.
    /// A release does not lift the time.
    static func notBefore(_ record: Record) -> [Breach] {
        record.lives.flatMap { life -> [Breach] in
            guard let time = life.offer.notBefore, life.offer.way != .send, life.offer.way != .sendUnqueued else {
                return []
            }
            if !life.exchanges.isEmpty { record.judging.meets(.life(life.label)) }
            // A replacement keeps the due time of the replaced content.
            if life.isReplacing, case .accepted(let name) = life.answer, name.gate != .notBefore(time) { return [] }
            return life.exchanges.map { record.exchanges[$0] }.filter { exchange in
                record.wall(of: exchange.process, at: exchange.received, within: lateness).upperBound < time
            }.filter { exchange in
                let isAsked =
                    life.touches.contains { $0.verb == .retry && $0.began < exchange.received }
                    || record.isNamed(life, before: exchange.received)
                    || record.wasBegun(life, from: time, before: exchange.received)
                return !(isAsked && record.judging.excuses(.life(life.label)))
            }.map {
                Breach(
                    .notBefore, [life.offered, $0.received],
                    "operation \(life.label) was sent before the time before which it must not be sent")
            }
        }
    }

    /// A request with a kept value has the value of the newest answer of its key in the queue.
    static func keptValues(_ record: Record) -> [Breach] {
        let givers = record.exchanges.indices.filter { place in
            record.life(record.exchanges[place].labels.first ?? 0)?.kind.keeps == true
                && record.exchanges[place].status(ofBody: 0).map { (200..<300).contains($0) } == true
        }
        return record.exchanges.enumerated().compactMap { place, exchange in
            guard let life = exchange.labels.first.flatMap(record.life), life.kind.needsKept else { return nil }
            record.judging.meets(.request(place))
            let value = exchange.request.path.split(separator: "/").last.map(String.init)
            let same = givers.filter { place in
                let giver = record.exchanges[place]
                return record.life(giver.labels[0])?.offer.key == life.offer.key
                    && (giver.replied ?? .max) < exchange.received
            }
            guard let source = same.last(where: { "k\(record.exchanges[$0].labels[0])" == value }) else {
                return Breach(
                    .keptValues, [life.offered, exchange.received],
                    "request \(exchange.request.number) went to \(exchange.request.path), a value that no answer of its key had"
                )
            }
            let cut = record.cut(of: life, in: place)
            let newer = same.last { place in
                let giver = record.exchanges[place]
                guard giver.received > record.settled(record.exchanges[source]), let learned = giver.learned else {
                    return false
                }
                return record.isReported(.delivered, of: giver, since: learned, before: cut)
            }
            guard let newer else { return nil }
            return Breach(
                .keptValues, [record.exchanges[source].replied, record.exchanges[newer].replied, exchange.received],
                "request \(exchange.request.number) went to \(exchange.request.path), although a later answer of its key was kept"
            )
        }
    }
}

extension Record {
    /// Returns the times by the clocks of the processes that began a request with the operation before an event.
    private func beginnings(of life: Life, before index: Int) -> [ClosedRange<Timestamp>] {
        courses.flatMap { process, course in
            course.submissions.filter { $0.at < index && $0.labels.contains(life.label) }.map {
                wall(of: process, at: $0.at, within: Contract.lateness)
            }
        }
    }

    /// Returns the earliest expiry of an operation whose age may count from an attempt: the clock of its creation was
    /// ahead if the attempt was before the creation. `nil` if the operation has no age, or was not attempted.
    func expiry(ofAttempted life: Life, before index: Int) -> Timestamp? {
        guard let age = life.kind.expiresAfter else { return nil }
        return beginnings(of: life, before: index).map(\.lowerBound).min().map { $0 - Contract.arrival + age }
    }

    /// Whether the time had come by the clock of a process that began an earlier request. Then the operation has the
    /// due times of its schedule, also on hosts whose clocks are behind.
    func wasBegun(_ life: Life, from time: Timestamp, before index: Int) -> Bool {
        beginnings(of: life, before: index).contains { $0.upperBound >= time }
    }

    /// Whether a run that began before an event has the operation's name on its command line.
    func isNamed(_ life: Life, before index: Int) -> Bool {
        courses.values.contains { course in
            course.began < index && course.choice?.ids.map { ids in life.id.map(ids.contains) ?? true } ?? false
        }
    }

    /// Returns the event by which the process of a request had settled the answer: its report or its death.
    func settled(_ exchange: Exchange) -> Int {
        guard let learned = exchange.learned, let life = exchange.labels.first.flatMap(life) else { return .max }
        let told = life.reports.first { $0.at > learned && events[$0.at].process == exchange.process }?.at
        return told ?? course(of: exchange.process).killed ?? .max
    }

    /// Whether the process of a request has reported, before an event, the end of the operation.
    func isReported(_ leave: Life.Leave, of exchange: Exchange, since learned: Int, before index: Int) -> Bool {
        guard let life = exchange.labels.first.flatMap(life) else { return false }
        return life.reports.contains { at, report in
            at > learned && at < index && events[at].process == exchange.process && report.leave == leave
        }
    }
}
