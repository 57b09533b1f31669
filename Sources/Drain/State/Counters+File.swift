import Policy
package import Spool

/// `state/metrics.json`:
///
/// ```
/// { "version": 1, "runs": { "0": 12 }, "quarantined": 0, "delivered": 38, "lastDelivery": time,
///   "destinations": { "https://api.example.com": { "at": time, "counts": { "attempts": 40, "delivered": 38 } } } }
/// ```
/// A run that did something writes it once; `send` writes it once a second. It is not synced. A file that is lost or
/// cannot be decoded begins at 0 again, so a new field must be optional in `init(from:)`.
extension Counters {
    package static func read(from spool: SpoolDirectory) throws(SpoolError) -> Counters {
        decode(try StateFile.metrics.contents(in: spool))
    }

    static func decode(_ bytes: [UInt8]?) -> Counters { StateFile.decode(Counters.self, bytes) ?? Counters() }

    /// Adds these counts to the file, under its lock, so that runs at the same time add up.
    package func addToFile(in spool: SpoolDirectory) throws(SpoolError) {
        try StateFile.metrics.update(Counters(), in: spool) { $0.add(self) }
    }
}

extension Counters: Codable {
    private enum CodingKeys: String, CodingKey {
        case version
        case runs
        case quarantined
        case destinations
        case delivered
        case lastDelivery
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        guard try fields.decode(Int.self, forKey: .version) == 1 else {
            throw DecodingError.dataCorruptedError(forKey: .version, in: fields, debugDescription: "another version")
        }
        self.init(
            runs: try fields.decode([String: Int].self, forKey: .runs),
            quarantined: try fields.decode(Int.self, forKey: .quarantined),
            destinations: try fields.decode([String: PerDestination].self, forKey: .destinations),
            delivered: try fields.decodeIfPresent(Int.self, forKey: .delivered),
            lastDelivery: try fields.decodeIfPresent(String.self, forKey: .lastDelivery)
                .flatMap { Timestamp(rfc3339: $0) })
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(1, forKey: .version)
        try fields.encode(runs, forKey: .runs)
        try fields.encode(quarantined, forKey: .quarantined)
        try fields.encode(destinations, forKey: .destinations)
        try fields.encode(delivered, forKey: .delivered)
        try fields.encodeIfPresent(lastDelivery, forKey: .lastDelivery)
    }
}

extension Counters.PerDestination: Codable {
    private enum CodingKeys: String, CodingKey {
        case at
        case counts
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let at = try fields.decode(String.self, forKey: .at)
        self.init(
            counts: try fields.decode([String: Int].self, forKey: .counts),
            at: Timestamp(rfc3339: at) ?? Timestamp(microseconds: 0))
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(at, forKey: .at)
        try fields.encode(counts, forKey: .counts)
    }
}
