extension Contract {
    /// An attempt while the machine has no network is nobody's: it does not count, and no operation fails by it.
    static func noNetwork(_ record: Record) -> [Breach] {
        let absences = record.absences
        if absences.isEmpty { return [] }
        return record.lives.flatMap { life in
            life.reports.compactMap { at, report -> Breach? in
                let process = record.events[at].process
                let submission = record.course(of: process).submissions.last {
                    $0.at < at && $0.labels.contains(life.label)
                }
                guard let begun = submission?.at, absences.contains(where: { $0.from < begun && at < $0.to }),
                    !life.exchanges.contains(where: {
                        record.exchanges[$0].process == process && record.exchanges[$0].received > begun
                    })
                else { return nil }
                record.judging.meets(.life(life.label))
                switch report {
                case .deferred(_, counted: true), .failed(_, isExpired: false):
                    return Breach(
                        .noNetwork, [life.offered, begun, at],
                        "the attempt of operation \(life.label) without a network was charged")
                default: return nil
                }
            }
        }
    }
}

extension Record {
    /// Whether the machine had no network at any time between two events.
    func lacksNetwork(from first: Int, to last: Int) -> Bool {
        absences.contains { $0.from < last && first < $0.to }
    }
}
