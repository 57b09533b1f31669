extension Contract {
    /// A sequence has at most one request in flight.
    static func oneInFlight(_ record: Record) -> [Breach] {
        batchesWithinSequences(record)
            + record.sequences.values.flatMap { members in
                let places = Set(members.flatMap { record.lives[$0].exchanges }).sorted()
                return overlaps(of: places, in: record).map { first, second in
                    let (one, other) = (record.exchanges[first], record.exchanges[second])
                    return Breach(
                        .oneInFlight, [one.received, other.received],
                        "requests \(one.request.number) and \(other.request.number) of one sequence were in flight together"
                    )
                }
            }
    }

    /// Returns a breach for each batch with two operations of the same sequence.
    private static func batchesWithinSequences(_ record: Record) -> [Breach] {
        record.exchanges.compactMap { exchange in
            var met: Set<Sequence> = []
            let isDoubled = exchange.request.bodies.contains { labels in
                let sequences = Set(labels.compactMap { record.life($0) }.flatMap(\.sequences))
                defer { met.formUnion(sequences) }
                return !met.isDisjoint(with: sequences)
            }
            guard isDoubled else { return nil }
            return Breach(
                .oneInFlight, [exchange.received],
                "request \(exchange.request.number) carried two operations of one sequence: \(exchange.labels)")
        }
    }

    /// No two requests carry the same operation at the same time.
    static func oneClaim(_ record: Record) -> [Breach] {
        record.lives.flatMap { life in
            overlaps(of: life.exchanges, in: record).map { first, second in
                let (one, other) = (record.exchanges[first], record.exchanges[second])
                return Breach(
                    .oneClaim, [one.received, other.received],
                    "requests \(one.request.number) of \(one.process) and \(other.request.number) of \(other.process) carried operation \(life.label) at the same time"
                )
            }
        }
    }

    /// A destination has no more requests in flight than its `concurrency`, over all processes.
    static func concurrency(_ record: Record) -> [Breach] {
        guard let most = record.history.setup.concurrency, !record.hasSeveralHosts else { return [] }
        var flying: [String: [(number: Int, end: Int)]] = [:]
        return record.exchanges.compactMap { exchange in
            // A run without a lock on a slot says so, and continues by its own limit.
            record.judging.meets(.request(exchange.request.number))
            if record.isExcusedSender(of: exchange) || !record.course(of: exchange.process).refusals.isEmpty {
                record.judging.excuses(.request(exchange.request.number))
                return nil
            }
            let host = exchange.request.host
            // An attempt that a run cuts off ends before anybody learns the answer.
            let known = exchange.isLost ? exchange.ended : exchange.learned
            let end = known ?? record.course(of: exchange.process).killed ?? exchange.received
            let others = (flying[host] ?? []).filter { $0.end > exchange.received }
            flying[host] = others + [(exchange.request.number, end)]
            if others.count < most { return nil }
            return Breach(
                .concurrency, [exchange.received],
                "request \(exchange.request.number) went to \(host) beside \(others.count) others, and its concurrency is \(most)"
            )
        }
    }

    /// Returns the requests that began before an earlier request of the list was over, each with the earlier request.
    private static func overlaps(of places: [Int], in record: Record) -> [(Int, Int)] {
        var overlaps: [(Int, Int)] = []
        var last: (place: Int, end: Int)?
        for place in places {
            let exchange = record.exchanges[place]
            record.judging.meets(.request(place))
            if record.course(of: exchange.process).killed.map({ $0 < exchange.received }) == true {
                record.judging.excuses(.request(place))
                continue
            }
            if let last, exchange.received < last.end { overlaps.append((last.place, place)) }
            let end = record.flightEnd(of: exchange)
            if end > last?.end ?? -1 { last = (place, end) }
        }
        return overlaps
    }
}

extension Record {
    /// The end of the flight of a request. If hosts share a queue, a process that stands still may have lost its lock.
    func flightEnd(of exchange: Exchange) -> Int {
        let stop = hasSeveralHosts ? course(of: exchange.process).stops.first { $0 > exchange.received } : nil
        return min(exchange.ended ?? .max, stop ?? .max)
    }
}
