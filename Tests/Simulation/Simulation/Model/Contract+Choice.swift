import Policy

extension Contract {
    /// A run sends only operations that its options name, by id and by type. In a pass a run sends no more operations
    /// than its limit.
    static func choice(_ record: Record) -> [Breach] {
        Dictionary(grouping: record.exchanges, by: \.process).sorted { $0.key < $1.key }.flatMap {
            process, exchanges -> [Breach] in
            let course = record.course(of: process)
            guard let choice = course.choice else { return [] }
            var sent: Set<Label> = []
            // A refusal may ask for samples.
            let isLimited =
                !choice.stays && choice.ids == nil
                && !exchanges.contains { $0.status(ofBody: 0).map { (400..<500).contains($0) } ?? false }
            return exchanges.flatMap { exchange -> [Breach] in
                record.judging.meets(.request(exchange.request.number))
                return exchange.request.bodies.compactMap { labels -> Breach? in
                    guard let life = record.newest(of: labels).map({ record.lives[$0] }) else { return nil }
                    sent.insert(life.label)
                    let reason =
                        if !choice.types.isEmpty, !choice.types.contains(life.offer.type) {
                            "of another type"
                        } else if let ids = choice.ids, let id = life.id, !ids.contains(id) {
                            "that its user had not named"
                        } else if isLimited, sent.count > choice.limit {
                            "beyond its limit of \(choice.limit)"
                        } else {
                            String?.none
                        }
                    return reason.map {
                        Breach(
                            .choice, [course.began, exchange.received], "a run sent operation \(life.label), \($0)")
                    }
                }
            }
        }
    }
}
