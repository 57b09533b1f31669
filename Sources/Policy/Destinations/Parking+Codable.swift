/// The parked operations as an object of the ledger's file: `{ blamed, operations: [{ id, status, credentials, since,
/// asked, times, witnessed }] }`.
extension Parking: Codable {
    private enum CodingKeys: String, CodingKey {
        case blamed
        case operations
    }

    /// Throws only if the value is not an object. Skips entries that cannot be read.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let read = (try? fields.decode([Readable<Entry>].self, forKey: .operations)) ?? []
        self.init(entries: read.compactMap(\.value), blamed: try? fields.decode(String.self, forKey: .blamed))
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encodeIfPresent(blamed, forKey: .blamed)
        try fields.encode(entries, forKey: .operations)
    }
}

extension Parking.Entry: Codable {
    private enum CodingKeys: String, CodingKey {
        case id
        case status
        case credentials
        case since
        case asked
        case times
        case witnessed
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        guard let id = OperationID(try fields.decode(String.self, forKey: .id)),
            let asked = Timestamp(rfc3339: try fields.decode(String.self, forKey: .asked))
        else {
            throw DecodingError.dataCorruptedError(forKey: .id, in: fields, debugDescription: "no id or no time")
        }
        let since = (try? fields.decode(String.self, forKey: .since)).flatMap { Timestamp(rfc3339: $0) }
        self.init(
            id: id, status: try fields.decode(Int.self, forKey: .status),
            credentials: (try? fields.decode(String.self, forKey: .credentials)) ?? "", since: since ?? asked,
            asked: asked, times: min(max((try? fields.decode(Int.self, forKey: .times)) ?? 1, 1), 1_000),
            isWitnessed: (try? fields.decode(Bool.self, forKey: .witnessed)) ?? false)
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(id.description, forKey: .id)
        try fields.encode(status, forKey: .status)
        if !credentials.isEmpty { try fields.encode(credentials, forKey: .credentials) }
        try fields.encode(since, forKey: .since)
        try fields.encode(asked, forKey: .asked)
        try fields.encode(times, forKey: .times)
        if isWitnessed { try fields.encode(true, forKey: .witnessed) }
    }
}
