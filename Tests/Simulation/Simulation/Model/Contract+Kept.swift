import Policy

extension Contract {
    /// From the answer until its delivery, or until a rule or an operator removes the operation, an accepted operation
    /// is in exactly one place.
    static func kept(_ record: Record) -> [Breach] {
        var breaches: [Breach] = []
        let fates = fates(record)
        for (index, life) in record.lives.enumerated() {
            if life.isPromised { judge(life, fates[index], record) }
            let places = life.left.filter(\.isInQueue)
            if places.count > 1 {
                breaches.append(
                    Breach(
                        .kept, [life.offered, life.answers.last?.at],
                        "operation \(life.label) is in \(places.count) places: \(places.map(\.path).joined(separator: ", "))"
                    ))
            }
            if fates[index] == .lost {
                breaches.append(
                    Breach(
                        .kept, [life.offered, life.entered, life.exchanges.last.map { record.exchanges[$0].received }],
                        "operation \(life.label) was accepted and is nowhere"))
            }
        }
        var byID: [OperationID: [Place]] = [:]
        for place in record.lives.flatMap(\.left) where place.isInQueue && place.directory != .quarantine {
            if let id = place.name?.id { byID[id, default: []].append(place) }
        }
        for (id, places) in byID.sorted(by: { $0.key < $1.key }) where Set(places.map(\.path)).count > 1 {
            let events = record.lives(of: id, before: record.events.count).map { record.lives[$0].offered }
            guard Set(places.compactMap(\.payload)).count > 1 else { continue }
            breaches.append(
                Breach(
                    .kept, events,
                    "id \(id) is in the queue \(places.count) times: \(places.map(\.path).joined(separator: ", "))"))
        }
        return breaches
    }

    /// Counts an operation as excused if only the death of a process, or damage, explains that it is gone.
    private static func judge(_ life: Life, _ fate: Fate, _ record: Record) {
        let leaves = life.leaves.map(\.leave)
        let isExplained =
            switch fate {
            case .vanished: false
            case .evicted: leaves.contains(.evicted)
            case .pruned: leaves.contains { if case .failed = $0 { true } else { false } }
            case .superseded: leaves.contains(.superseded)
            case .dropped: life.touches.contains { $0.verb.drops && $0.told != nil }
            case .present, .delivered, .merged, .replaced, .refused, .absent, .lost: true
            }
        if isExplained { record.judging.meets(.life(life.label)) } else { record.judging.excuses(.life(life.label)) }
    }
}
