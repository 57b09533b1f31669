import Policy

extension Contract {
    /// From the answer until its delivery, or until a rule or an operator removes the operation, an accepted operation
    /// is in exactly one place.
    static func kept(_ record: Record) -> [Breach] {
        var breaches: [Breach] = []
        let fates = fates(record)
        for (index, life) in record.lives.enumerated() {
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
}
