import Policy

extension Contract {
    /// A dead letter is a failed operation, and a copy in `delivered/` is an operation that a server took.
    static func places(_ record: Record) -> [Breach] {
        record.lives.compactMap { life in
            let directories = Set(life.left.map(\.directory))
            let last = record.events.count - 1
            if directories.contains(.failed) || directories.contains(.delivered) {
                record.judging.meets(.life(life.label))
            }
            if directories.contains(.failed), life.isPromised, !mayBeDeadLetter(life, record) {
                return Breach(
                    .places, [life.offered, last], "operation \(life.label) is in failed/ and has not failed")
            }
            let wasTaken = life.exchanges.contains { place in
                let exchange = record.exchanges[place]
                return exchange.body(of: life.label).flatMap { exchange.delivered(body: $0) } != nil
            }
            // The changes of a merged part may stand in no request under the part's own number.
            if directories.contains(.delivered), !wasTaken, life.kind.coalescing != .merge {
                return Breach(
                    .places, [life.offered, last], "operation \(life.label) is in delivered/ and no server took it")
            }
            return nil
        }
    }

    /// Whether a process has reported the failure, or died when the process may have known of the failure.
    private static func mayBeDeadLetter(_ life: Life, _ record: Record) -> Bool {
        if life.reports.contains(where: { if case .failed = $0.report { true } else { false } }) { return true }
        if life.offer.isDeadLetter || life.offer.expiresAt != nil || life.kind.expiresAfter != nil {
            return record.judging.excuses(.life(life.label))
        }
        // A replacement of a dead letter is a dead letter.
        if life.isReplacing { return record.judging.excuses(.life(life.label)) }
        return life.exchanges.map { record.exchanges[$0] }.contains { exchange in
            guard record.course(of: exchange.process).killed != nil else { return false }
            if (exchange.request.attempt ?? .max) > life.kind.delays.count { return true }
            return exchange.status(of: life.label).map { (400..<500).contains($0) } ?? false
        }
    }

    /// A command reports a changed operation only if no request carries the operation at the time.
    static func inFlight(_ record: Record) -> [Breach] {
        record.lives.flatMap { life in
            life.touches.compactMap { touch -> Breach? in
                guard let told = touch.told, ![.pause, .resume, .repair].contains(touch.verb) else { return nil }
                record.judging.meets(.life(life.label))
                let flight = life.exchanges.map { record.exchanges[$0] }.first {
                    $0.received < touch.began && record.flightEnd(of: $0) > told && $0.learned.map { $0 > told } ?? true
                        && !record.isExcusedSender(of: $0)
                }
                guard let flight else { return nil }
                return Breach(
                    .inFlight, [flight.received, touch.began, told],
                    "operation \(life.label) was changed while request \(flight.request.number) carried it")
            }
        }
    }

    /// If a server refuses a merged document or a batch, a run sends the operations separately before any of them
    /// fails.
    static func sentApart(_ record: Record) -> [Breach] {
        record.lives.flatMap { life in
            life.reports.compactMap { at, report -> Breach? in
                guard case .failed(_, isExpired: false) = report else { return nil }
                record.judging.meets(.life(life.label))
                if record.sharesID(life) {
                    record.judging.excuses(.life(life.label))
                    return nil
                }
                guard let place = life.exchanges.last(where: { record.exchanges[$0].received < at })
                else { return nil }
                let exchange = record.exchanges[place]
                guard exchange.process == record.events[at].process, let body = exchange.body(of: life.label),
                    exchange.labels.count > 1, let status = exchange.status(ofBody: body),
                    [400, 404, 410, 422].contains(status)
                else { return nil }
                return Breach(
                    .sentApart, [exchange.received, at],
                    "operation \(life.label) failed with request \(exchange.request.number), which carried others too")
            }
        }
    }
}
