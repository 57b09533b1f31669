extension Contract {
    /// An operation takes effect twice only if its process died before the next request, the power was cut, the answer
    /// to the operation was lost or was no delivery, or an operator queued the operation again.
    static func repeats(_ record: Record) -> [Breach] {
        record.lives.flatMap { life -> [Breach] in
            let effects = record.effects(of: life)
            if !effects.isEmpty { record.judging.meets(.life(life.label)) }
            return zip(effects, effects.dropFirst()).compactMap { earlier, later -> Breach? in
                let (first, second) = (record.exchanges[earlier.exchange], record.exchanges[later.exchange])
                if earlier.exchange == later.exchange { return nil }
                if isExcused(life, first, earlier.body, second, in: record) {
                    record.judging.excuses(.life(life.label))
                    return nil
                }
                return Breach(
                    .repeats, [first.received, first.learned, second.received],
                    "operation \(life.label) took effect again by request \(second.request.number), without a cause since request \(first.request.number)"
                )
            }
        }
    }

    private static func isExcused(_ life: Life, _ first: Exchange, _ body: Int, _ second: Exchange, in record: Record)
        -> Bool
    {
        if life.touches.contains(where: {
            $0.verb.frees && $0.began < second.received && ($0.told ?? .max) > first.received
        }) {
            return true
        }
        let course = record.course(of: first.process)
        let wasStopped = course.stops.contains { stop in
            stop < second.received && !course.wakes.contains { $0 > stop && $0 < first.received }
        }
        if wasStopped, record.hasSeveralHosts { return true }
        // The second request began before the first request was over: `one claim` judges this case.
        guard let learned = first.delivered(body: body) else {
            return first.ended.map { $0 < second.received } ?? false
        }
        // A removal refused by the system removes nothing.
        if course.refusals.contains(where: { $0 > learned && $0 < second.received }) { return true }
        // Nor does a process that finds a lock kept by a stopped process.
        let hasFailed = record.events.indices.contains { index in
            guard index > learned, index < second.received, record.events[index].process == first.process else {
                return false
            }
            if case .reports(.error) = record.events[index].what { return true }
            return false
        }
        if hasFailed { return true }
        if let killed = course.killed, killed < second.received {
            let wasPowerCut = record.powerCuts.contains { $0 > learned && $0 < second.received }
            if !wasPowerCut, let takenIn = first.takenIn,
                course.submissions.contains(where: { $0.at > takenIn && $0.at < killed })
            {
                return false
            }
            // A run that got no processor for a while removes the operation later, and reports the removal afterwards.
            let told = life.reports.last { $0.at < killed && record.events[$0.at].process == first.process }?.at
            let distance = record.events[killed].time - record.events[max(learned, told ?? learned)].time
            let wasStalled = course.stalls.contains { stall in
                stall < killed && !course.wakes.contains { $0 > stall && $0 < learned }
            }
            return distance <= removal || wasStopped || wasStalled
        }
        return false
    }
}

extension Record {
    /// Returns the visible effects of an operation, in the order of the requests.
    func effects(of life: Life) -> [Effect] {
        life.exchanges.compactMap { place in
            let exchange = exchanges[place]
            guard let replied = exchange.replied, exchange.reply?.applied.contains(life.label) == true else {
                return nil
            }
            return Effect(at: replied, exchange: place, body: exchange.body(of: life.label) ?? 0)
        }
    }
}
