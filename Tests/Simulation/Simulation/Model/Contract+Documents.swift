import Policy

extension Contract {
    /// An idempotency key stands for a single document: merged documents with the same key are equal.
    static func documentKeys(_ record: Record) -> [Breach] {
        var documents: [String: (text: [UInt8], place: Int)] = [:]
        var breaches: [Breach] = []
        for (place, exchange) in record.exchanges.enumerated() {
            guard let key = exchange.request.idempotencyKey, exchange.texts.count == 1,
                let life = exchange.labels.first.flatMap(record.life), life.kind.coalescing == .merge
            else { continue }
            record.judging.meets(.request(place))
            if exchange.labels.contains(where: { record.life($0).map(record.sharesID) ?? false }) {
                record.judging.excuses(.request(place))
                continue
            }
            guard let known = documents[key] else {
                documents[key] = (exchange.texts[0], place)
                continue
            }
            let first = record.exchanges[known.place]
            // An import that replaces a part keeps the id of the part, and so the key. The same is true of an import
            // that replaces an operation without a key; such an operation goes alone.
            let values = life.sequences.first(where: \.isValue).flatMap { record.sequences[$0] } ?? []
            let isReplaced =
                values.contains { record.lives[$0].isReplacing }
                || record.lives.contains { $0.isReplacing && $0.id == life.id && $0.id != nil }
            if first.documents[0] == exchange.documents[0] { continue }
            if isReplaced {
                record.judging.excuses(.request(place))
                continue
            }
            breaches.append(
                Breach(
                    .documentKeys, [first.received, exchange.received],
                    "requests \(first.request.number) and \(exchange.request.number) have the key \(key) and different documents"
                ))
        }
        return breaches
    }

    /// Once `import --replace` has answered, no run sends the old operation, and the new operation has the old place in
    /// the order. The answer is "in flight" only if the old operation may be in flight.
    static func replaced(_ record: Record) -> [Breach] {
        record.lives.flatMap { life -> [Breach] in
            guard life.isReplacing, let id = life.id, let answer = life.answers.last else { return [] }
            record.judging.meets(.life(life.label))
            if record.sharesID(life) {
                record.judging.excuses(.life(life.label))
                return []
            }
            let older = record.lives.filter {
                $0.label != life.label && $0.id == id && $0.entered ?? .max < answer.at && !$0.isRejected
                    && $0.isBefore(life)
            }
            switch answer.answer {
            case .accepted(let name):
                return older.flatMap { old -> [Breach] in
                    var breaches = old.exchanges.map { record.exchanges[$0] }.filter { exchange in
                        !record.isExcusedSender(of: exchange) && record.flightEnd(of: exchange) > answer.at
                    }.map {
                        Breach(
                            .replaced, [life.offered, answer.at, $0.received],
                            "operation \(old.label) was sent although \(life.label) has replaced it")
                    }
                    if let created = old.created, old.entered != nil, !created.contains(name.createdAt),
                        !old.leaves.contains(where: { $0.at < answer.at && $0.leave != .replaced })
                    {
                        breaches.append(
                            Breach(
                                .replaced, [old.entered, answer.at],
                                "operation \(life.label) does not have the time of creation of \(old.label), which it replaces"
                            ))
                    }
                    return breaches
                }
            case .inFlight:
                let mayFly = record.courses.contains { process, course in
                    process != life.submitter && course.began < answer.at
                        && (course.ended ?? .max) > record.course(of: life.submitter).began
                }
                // The claims of a dead run are in flight until another run returns them.
                if mayFly || record.isKilled(between: 0, and: answer.at) {
                    record.judging.excuses(.life(life.label))
                    return []
                }
                return [
                    Breach(
                        .replaced, [life.offered, answer.at],
                        "operation \(life.label) was kept out by an operation in flight, and no process could have it in flight"
                    )
                ]
            default: return []
            }
        }
    }
}
