import Policy

extension Contract {
    /// With `ordering: "newest"` a run begins no older operation before a newer one that waited when the run began, was
    /// never attempted and may be sent.
    static func newestFirst(_ record: Record) -> [Breach] {
        let kinds = record.history.setup.kinds.filter {
            $0.order == .newest && $0.coalescing == .none && $0.batch == nil
        }
        return kinds.flatMap { kind in
            record.courses.sorted { $0.key < $1.key }.flatMap { process, course -> [Breach] in
                guard let choice = course.choice, choice.ids == nil, !choice.stays, choice.types.isEmpty else {
                    return []
                }
                let begun = course.submissions.flatMap { submission in
                    submission.labels.compactMap { label in record.life(label).map { (at: submission.at, life: $0) } }
                }.filter { $0.life.kind.type == kind.type }
                let fresh = record.lives.filter { isFresh($0, of: kind, at: course.began, record) }
                return begun.compactMap { sent -> Breach? in
                    record.judging.meets(.request(sent.at))
                    let passed = fresh.first { newer in
                        sent.life.precedes(newer)
                            && !begun.contains { $0.life.label == newer.label && $0.at <= sent.at }
                    }
                    guard let passed else { return nil }
                    if isDisturbed(process, course, until: sent.at, record)
                        || isWithholding(process, kind.host, at: sent.at, record)
                        || keepsSchedule(sent.life, from: course.began, to: sent.at, record)
                    {
                        record.judging.excuses(.request(sent.at))
                        return nil
                    }
                    return Breach(
                        .newestFirst, [passed.entered, course.began, sent.at],
                        "a run sent operation \(sent.life.label) before the newer \(passed.label), which waited")
                }
            }
        }
    }

    /// Whether the operation certainly waits, and may be sent, while nobody else claims it.
    private static func isFresh(_ life: Life, of kind: Setup.Kind, at began: Int, _ record: Record) -> Bool {
        guard life.kind.type == kind.type, life.offer.way != .send, life.offer.way != .sendUnqueued,
            life.damaged == nil,
            life.named.map({ $0 < began }) ?? false, life.entered.map({ $0 < began }) ?? false,
            life.offer.notBefore == nil, life.offer.expiresAt == nil, life.kind.expiresAfter == nil,
            life.touches.isEmpty, !life.isReplacing, !record.sharesID(life), !life.offer.isDeadLetter
        else { return false }
        let isNew = !life.exchanges.contains { record.exchanges[$0].received < began }
        return isNew && !life.leaves.contains { $0.since < began } && !life.reports.contains { $0.at < began }
    }

    /// Whether the operation had an attempt, and its destination's circuit breaker may have been open when the run chose
    /// or sent it: then only operations with an attempt keep their schedule.
    private static func keepsSchedule(_ life: Life, from began: Int, to sent: Int, _ record: Record) -> Bool {
        let requests = record.courses.flatMap { process, course in
            course.submissions.map { (at: $0.at, process: process, labels: $0.labels) }
        }.sorted { $0.at < $1.at }
        /// Whether the last request before met no server, or an answer that counts as none.
        func isFailing(before index: Int) -> Bool {
            let outcomes = requests.prefix { $0.at < index }.compactMap { request -> Bool? in
                guard request.labels.contains(where: { record.life($0)?.kind.host == life.kind.host }) else {
                    return nil
                }
                let exchange = record.exchanges.first {
                    $0.process == request.process && $0.received > request.at
                        && !request.labels.isDisjoint(with: $0.labels)
                }
                guard let exchange, exchange.reply != nil else { return true }
                if exchange.learned.map({ $0 > index }) ?? false { return nil }
                return exchange.status(ofBody: 0).map { (502...504).contains($0) } ?? true
            }
            return outcomes.last == true
        }
        return requests.contains { $0.at < sent && $0.labels.contains(life.label) }
            && (isFailing(before: began) || isFailing(before: sent))
    }

    /// Whether the run has taken in a refusal without telling what becomes of its operation: then a sample shows whether
    /// the destination refuses another operation, too.
    private static func isWithholding(_ process: ProcessID, _ host: String, at sent: Int, _ record: Record) -> Bool {
        record.exchanges.contains { refused in
            guard refused.process == process, refused.request.host == host,
                let taken = refused.takenIn ?? refused.learned, taken < sent,
                refused.status(ofBody: 0).map({ (400..<500).contains($0) }) ?? false
            else { return false }
            return refused.labels.compactMap { record.life($0) }.contains { life in
                !life.reports.contains { $0.at > taken && $0.at < sent }
            }
        }
    }

    private static func isDisturbed(_ process: ProcessID, _ course: Course, until index: Int, _ record: Record) -> Bool
    {
        if !course.refusals.isEmpty || !course.stops.isEmpty || record.hasSeveralHosts { return true }
        let isShared = record.courses.contains { other, its in
            other != process && its.began < index && (its.ended ?? .max) > course.began && !its.isAdder
        }
        // An attempt of a dead run may have begun, and the operation waits alone as a suspect.
        return isShared || record.isKilled(between: -1, and: index)
    }

    /// After the death of a run with a batch in flight, or of two runs with a merged document, each of its operations
    /// goes alone, until an answer for it comes.
    static func suspectsAlone(_ record: Record) -> [Breach] {
        record.exchanges.compactMap { exchange -> Breach? in
            guard exchange.labels.count > 1, exchange.learned == nil, !exchange.isLost,
                let killed = record.course(of: exchange.process).killed, killed > exchange.received,
                !record.powerCuts.contains(killed)
            else { return nil }
            record.judging.meets(.request(exchange.request.number))
            let lives = exchange.labels.compactMap { record.life($0) }
            let goesAgain =
                lives.contains { $0.kind.coalescing == .merge }
                && !lives.contains { record.hasDiedBefore(with: $0, at: killed) }
            if goesAgain { return nil }
            let isDisturbed =
                record.hasSeveralHosts || !record.course(of: exchange.process).refusals.isEmpty
                || record.powerCuts.contains { $0 > exchange.received }
                || lives.contains { life in
                    record.sharesID(life) || life.damaged != nil
                        || life.touches.contains { $0.told ?? .max > exchange.received }
                }
            if isDisturbed {
                record.judging.excuses(.request(exchange.request.number))
                return nil
            }
            let again = record.exchanges.first { next in
                next.received > killed && next.process != exchange.process && next.labels.count > 1
                    && lives.contains { life in
                        next.labels.contains(life.label)
                            && !life.reports.contains { $0.at > killed && $0.at < next.received }
                            && !record.exchanges.contains {
                                $0.labels == [life.label] && $0.received > killed && $0.received < next.received
                            }
                    }
            }
            guard let again else { return nil }
            return Breach(
                .suspectsAlone, [exchange.received, killed, again.received],
                "request \(again.request.number) carries several operations of request \(exchange.request.number), with which a run has died"
            )
        }
    }
}
