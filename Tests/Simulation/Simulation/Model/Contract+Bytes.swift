extension Contract {
    /// A single operation arrives with its payload exactly; a merged document is the merge of its operations, oldest to
    /// newest.
    static func byteForByte(_ record: Record) -> [Breach] {
        record.exchanges.flatMap { exchange in
            record.judging.meets(.request(exchange.request.number))
            let bodies = exchange.request.bodies
            let texts = exchange.texts.map { String(decoding: $0, as: UTF8.self) }
            guard texts.count == bodies.count else {
                return [
                    Breach(
                        .byteForByte, [exchange.received],
                        "request \(exchange.request.number) has \(texts.count) texts for \(bodies.count) operations")
                ]
            }
            return zip(bodies, texts).compactMap { labels, text in
                isRight(text, of: labels, in: exchange, record)
                    ? nil
                    : Breach(
                        .byteForByte, labels.map { record.life($0)?.offered } + [exchange.received],
                        "request \(exchange.request.number) carried \(text) for \(labels)")
            }
        }
    }

    private static func isRight(_ text: String, of labels: [Label], in exchange: Exchange, _ record: Record) -> Bool {
        let lives = labels.compactMap { record.life($0) }
        guard let first = lives.first, lives.count == labels.count else { return true }
        if labels.count == 1, text == first.offer.payload { return true }
        guard first.kind.coalescing == .merge, lives.allSatisfy({ $0.sequences == first.sequences }) else {
            return false
        }
        // Parts whose every member a newer part has replaced leave no trace.
        let sorted = lives.sorted { $0.precedes($1) }
        let merged = sorted.compactMap(\.patch).reduce(nil as Document?) { $0?.followed(by: $1) ?? $1 }
        return Document(text) == merged
    }

    /// All requests for an operation carry the same idempotency key, and no other operation has the key.
    static func oneKey(_ record: Record) -> [Breach] {
        var keys: [[Label]: (key: String?, at: Int)] = [:]
        var owners: [String: (labels: [Label], at: Int)] = [:]
        var breaches: [Breach] = []
        for exchange in record.exchanges {
            let isMerged = exchange.labels.contains { record.life($0)?.kind.coalescing == .merge }
            if isMerged { continue }
            record.judging.meets(.request(exchange.request.number))
            let labels = exchange.labels
            let key = exchange.request.idempotencyKey
            if let known = keys[labels], known.key != key {
                breaches.append(
                    Breach(
                        .oneKey, [known.at, exchange.received],
                        "\(labels) had the keys \(known.key ?? "none") and \(key ?? "none")"))
            }
            keys[labels] = keys[labels] ?? (key, exchange.received)
            guard let key else { continue }
            if let owner = owners[key], owner.labels != labels, !replaces(owner.labels, labels, record) {
                breaches.append(
                    Breach(
                        .oneKey, [owner.at, exchange.received], "\(owner.labels) and \(labels) have the same key \(key)"
                    ))
            }
            owners[key] = owners[key] ?? (labels, exchange.received)
        }
        return breaches
    }

    /// Whether the two lists are contents of the same ids: replacements, or ids that were free again.
    private static func replaces(_ one: [Label], _ other: [Label], _ record: Record) -> Bool {
        let ids = one.map { record.life($0)?.id }
        return ids.allSatisfy { $0 != nil } && ids == other.map { record.life($0)?.id }
    }
}
