import Policy

/// What other destinations, and other operations of a destination, may not take from an operation.
extension Contract {
    /// The longest time without a request for a destination that delivers, while an operation of it waits.
    private static let rest = Duration.seconds(2)

    /// From two attempts in flight on, a destination that delivers gets its next operation begun within two seconds,
    /// whatever other destinations do.
    static func prompt(_ record: Record) -> [Breach] {
        guard Set(record.history.setup.kinds.map(\.host)).count > 1, record.history.setup.concurrency == nil,
            !record.hasSeveralHosts
        else { return [] }
        return record.courses.sorted { $0.key < $1.key }.flatMap { process, course -> [Breach] in
            guard let choice = course.choice, choice.isOpen, choice.concurrency ?? 0 > 1, !course.isDisturbed,
                !record.isShared(process, course)
            else { return [] }
            let own = record.exchanges.filter { $0.process == process }
            return Set(own.map(\.request.host)).sorted().compactMap { host in
                let answered = own.filter { $0.request.host == host && $0.takenIn != nil }
                return rested(answered, host, course, record)
            }
        }
    }

    /// Returns the first delivery of a run after which the destination had no request for too long.
    private static func rested(_ answered: [Exchange], _ host: String, _ course: Course, _ record: Record) -> Breach? {
        let sent = course.submissions.filter { record.host(of: $0.labels) == host }
        for exchange in answered.sorted(by: { $0.takenIn! < $1.takenIn! }) {
            let taken = exchange.takenIn!
            // What fails may have to wait, and a request in flight is work.
            let isFailing = record.exchanges.contains { other in
                other.request.host == host && other.received < taken
                    && !other.request.bodies.indices.allSatisfy { other.delivered(body: $0) != nil }
            }
            if isFailing { return nil }
            let isBusy = sent.count { $0.at < taken } > answered.count { $0.takenIn! <= taken }
            let limit = record.events[taken].time + rest
            guard !isBusy, let until = record.events[taken...].firstIndex(where: { $0.time > limit }),
                until < course.ended ?? .max, !record.isStopped(before: until)
            else { continue }
            let waiting = record.lives.first { $0.kind.host == host && record.waits($0, from: course.began, to: until) }
            guard let waiting else { continue }
            record.judging.meets(.request(exchange.request.number))
            if sent.contains(where: { $0.at > taken && $0.at <= until }) { continue }
            return Breach(
                .prompt, [waiting.offered, taken, until],
                "\(host) delivered, and operation \(waiting.label) waited for more than two seconds all the same")
        }
        return nil
    }

    /// After a server has asked for time, the first request of its destination is one of an operation without a request
    /// before, if one waits: an operation that the server limits by its key keeps no other back.
    static func turns(_ record: Record) -> [Breach] {
        let sent = record.courses.flatMap { process, course in
            course.submissions.map { (at: $0.at, process: process, labels: $0.labels) }
        }.sorted { $0.at < $1.at }
        return record.exchanges.compactMap { exchange -> Breach? in
            guard exchange.status(ofBody: 0) == 429, let learned = exchange.learned else { return nil }
            let own = sent.filter { record.host(of: $0.labels) == exchange.request.host }
            guard let next = own.first(where: { $0.at > learned }), let label = next.labels.first,
                case .deferred? = record.life(label)?.reports.last(where: { $0.at < next.at })?.report
            else { return nil }
            let course = record.course(of: next.process)
            // Without an answer the circuit breaker may be open, which keeps back what had no attempt.
            let isAnswered = own.allSatisfy { sending in
                sending.at >= next.at
                    || record.exchanges.contains {
                        $0.process == sending.process && $0.reply != nil && !sending.labels.isDisjoint(with: $0.labels)
                    }
            }
            // A delivery ends what the server has asked for, from the moment at which its run takes the answer in.
            let isOver = record.exchanges.contains { other in
                guard other.request.host == exchange.request.host, let learned = other.delivered(body: 0) else {
                    return false
                }
                return (exchange.received..<next.at).contains(other.takenIn ?? learned)
            }
            guard let choice = course.choice, choice.isOpen, !choice.isNow, !course.isDisturbed, isAnswered, !isOver,
                !record.isShared(next.process, course), !record.course(of: exchange.process).isDisturbed,
                course.listings.contains(where: { $0 > learned && $0 < next.at }), !record.isStopped(before: next.at)
            else { return nil }
            record.judging.meets(.request(exchange.request.number))
            let waiting = record.lives.first { life in
                life.kind.host == exchange.request.host && record.waits(life, from: exchange.received, to: next.at)
            }
            guard let waiting else { return nil }
            return Breach(
                .turns, [waiting.entered, learned, next.at],
                "operation \(label), which the server had limited, went before \(waiting.label), which had no request yet"
            )
        }
    }
}

extension RunChoice {
    /// Whether the run chooses among all operations.
    fileprivate var isOpen: Bool { ids == nil && types.isEmpty && limit >= 100 }
}

extension Course {
    fileprivate var isDisturbed: Bool {
        !(refusals + stops + stalls + wakes + interruptions).isEmpty || killed != nil
    }
}

extension Record {
    fileprivate func host(of labels: Set<Label>) -> String? { labels.lazy.compactMap { life($0)?.kind.host }.first }

    /// Whether an operator, a clock, the network or a power cut has changed anything before an event.
    fileprivate func isStopped(before index: Int) -> Bool {
        events[..<index].contains { event in
            switch event.what {
            case .commands, .network, .clockStepped, .cutPower: true
            default: false
            }
        }
    }

    /// Whether an operation without an order certainly waits from one event to another, may be sent, and never was.
    fileprivate func waits(_ life: Life, from first: Int, to last: Int) -> Bool {
        guard life.sequences.isEmpty, !life.kind.needsKept, life.kind.batch == nil, life.kind.order == .any,
            life.offer.notBefore == nil, life.offer.expiresAt == nil, life.kind.expiresAfter == nil,
            life.offer.way != .send, life.offer.way != .sendUnqueued, !life.isReplacing, !life.offer.isDeadLetter,
            life.damaged == nil, life.named.map({ $0 < first }) ?? false, life.entered.map({ $0 < first }) ?? false,
            life.touches.isEmpty, !sharesID(life), !life.reports.contains(where: { $0.at < last }),
            !life.leaves.contains(where: { $0.since < last }), certainEnd(of: life) >= last
        else { return false }
        return !courses.values.contains { course in
            course.submissions.contains { $0.at < last && $0.labels.contains(life.label) }
        }
    }
}
