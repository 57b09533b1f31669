import Policy

extension Contract {
    /// An accepted operation goes to quarantine after five processes have died, not before, and is not sent again then. A
    /// power cut does not count.
    static func interruptions(_ record: Record) -> [Breach] {
        record.lives.flatMap { life -> [Breach] in
            if !record.deaths(with: life).isEmpty { record.judging.meets(.life(life.label)) }
            if record.sharesID(life) {
                record.judging.excuses(.life(life.label))
                return []
            }
            return early(life, record) + late(life, record)
        }
    }

    private static func early(_ life: Life, _ record: Record) -> [Breach] {
        life.reports.compactMap { at, report -> Breach? in
            guard case .quarantined(let id?, path: _) = report, id == life.id, life.isPromised, life.damaged == nil,
                life.offer.way != .foreign
            else { return nil }
            let deaths = record.interruptions(of: life, before: at)
            if deaths >= record.history.setup.interruptions { return nil }
            return Breach(
                .interruptions, [life.offered, at],
                "operation \(life.label) went to quarantine after \(deaths) deaths of processes")
        }
    }

    /// Judges operations that go alone. After an interruption a run sends the operations of a batch or a merged
    /// document separately.
    private static func late(_ life: Life, _ record: Record) -> [Breach] {
        guard life.kind.batch == nil, life.kind.coalescing != .merge, !record.hasSeveralHosts else {
            if !record.deaths(with: life).isEmpty { record.judging.excuses(.life(life.label)) }
            return []
        }
        var deaths: [Int] = []
        for exchange in life.exchanges.map({ record.exchanges[$0] }) {
            let course = record.course(of: exchange.process)
            let wasReset =
                record.powerCuts.contains { $0 > deaths.first ?? .max && $0 < exchange.received }
                || life.touches.contains { $0.began < exchange.received && $0.told ?? .max > deaths.first ?? .max }
                // A report of an attempt that reached no server.
                || life.reports.contains { $0.at > deaths.first ?? .max && $0.at < exchange.received }
            if wasReset { deaths = [] }
            if deaths.count >= record.history.setup.interruptions {
                return [
                    Breach(
                        .interruptions, deaths + [exchange.received],
                        "operation \(life.label) was sent again after \(deaths.count) processes had died with it")
                ]
            }
            if exchange.learned != nil || exchange.isLost || !course.refusals.isEmpty {
                deaths = []
            } else if let killed = course.killed, !record.powerCuts.contains(killed) {
                deaths.append(killed)
            }
        }
        return []
    }
}
