/// The state of a destination as an object of the ledger's file. A field whose value is `nil`, false or 0 is left out.
///
/// ```
/// hold            { reason, since, byHand, status, blamed, lastProbe }
/// paused          true
/// notBefore       until when the server asked for time
/// failures        connection-level failures in a row
/// downSince       the time of the first of them
/// lastFailure     the name of the last one, or its status; lastFailureAt its time
/// coolDownUntil   until when the circuit breaker is open
/// coolDowns       how often it opened in a row
/// window          how many attempts may be in flight after a failure
/// lastSuccess     time
/// storm           { status, count, at }: failures for good in a row, of one status
/// overload        { inFlight, at, times }, see `Overload`
/// parked          { blamed, operations }, see `Parking`
/// ```
/// Times are RFC 3339 in UTC. A field that cannot be read counts as absent, an unknown one is ignored.
extension DestinationState: Codable {
    private enum CodingKeys: String, CodingKey {
        case hold
        case paused
        case notBefore
        case failures
        case downSince
        case lastFailure
        case lastFailureAt
        case coolDownUntil
        case coolDowns
        case window
        case lastSuccess
        case parked
        case storm
        case overload
    }

    /// Throws only if the value is not an object.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            hold: fields.value(.hold), isPaused: fields.value(.paused) ?? false,
            notBefore: fields.time(.notBefore), failures: fields.count(.failures, upTo: Self.mostCounted) ?? 0,
            downSince: fields.time(.downSince), lastFailure: fields.value(.lastFailure),
            lastFailureAt: fields.time(.lastFailureAt),
            coolDownUntil: fields.time(.coolDownUntil),
            coolDowns: fields.count(.coolDowns, upTo: Self.mostCounted) ?? 0,
            window: fields.count(.window, upTo: Self.widest), lastSuccess: fields.time(.lastSuccess),
            parking: fields.value(.parked) ?? Parking(), storm: fields.value(.storm),
            overload: fields.value(.overload))
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encodeIfPresent(hold, forKey: .hold)
        if isPaused { try fields.encode(true, forKey: .paused) }
        try fields.encodeIfPresent(notBefore, forKey: .notBefore)
        if failures > 0 { try fields.encode(failures, forKey: .failures) }
        try fields.encodeIfPresent(downSince, forKey: .downSince)
        try fields.encodeIfPresent(lastFailure, forKey: .lastFailure)
        try fields.encodeIfPresent(lastFailureAt, forKey: .lastFailureAt)
        try fields.encodeIfPresent(coolDownUntil, forKey: .coolDownUntil)
        if coolDowns > 0 { try fields.encode(coolDowns, forKey: .coolDowns) }
        try fields.encodeIfPresent(window, forKey: .window)
        try fields.encodeIfPresent(lastSuccess, forKey: .lastSuccess)
        if !parking.isEmpty { try fields.encode(parking, forKey: .parked) }
        try fields.encodeIfPresent(storm, forKey: .storm)
        try fields.encodeIfPresent(overload, forKey: .overload)
    }
}

extension DestinationState.Storm: Codable {
    private enum CodingKeys: String, CodingKey {
        case status
        case count
        case at
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        guard let count = fields.count(.count, upTo: DestinationState.mostCounted), let at = fields.time(.at) else {
            throw DecodingError.dataCorruptedError(forKey: .count, in: fields, debugDescription: "no count or no time")
        }
        self.init(status: try fields.decode(Int.self, forKey: .status), count: count, at: at)
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(status, forKey: .status)
        try fields.encode(count, forKey: .count)
        try fields.encode(at, forKey: .at)
    }
}

extension DestinationState.Hold: Codable {
    private enum CodingKeys: String, CodingKey {
        case reason
        case since
        case byHand
        case status
        case blamed
        case lastProbe
    }

    /// Reads a hold. One without `since` counts as old: it is probed at once, unless a person made it.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            reason: fields.value(.reason) ?? "unknown",
            since: fields.time(.since) ?? Timestamp(microseconds: 0),
            isByHand: fields.value(.byHand) ?? false, status: fields.value(.status), blamed: fields.value(.blamed),
            lastProbe: fields.time(.lastProbe))
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(reason, forKey: .reason)
        try fields.encode(since, forKey: .since)
        if isByHand { try fields.encode(true, forKey: .byHand) }
        try fields.encodeIfPresent(status, forKey: .status)
        try fields.encodeIfPresent(blamed, forKey: .blamed)
        try fields.encodeIfPresent(lastProbe, forKey: .lastProbe)
    }
}

extension KeyedDecodingContainer {
    /// Returns a field; `nil` if it is absent or cannot be read. An absent field costs no error: most fields of most
    /// destinations are absent, and errors take most of the time of reading a ledger.
    func value<Value: Decodable>(_ key: Key) -> Value? {
        contains(key) ? try? decode(Value.self, forKey: key) : nil
    }

    func time(_ key: Key) -> Timestamp? {
        value(key).flatMap { Timestamp(rfc3339: $0) }
    }

    /// Returns a number from 1 on, at most `most`; `nil` if it is absent, smaller, or cannot be read.
    func count(_ key: Key, upTo most: Int) -> Int? {
        guard let number: Int = value(key), number > 0 else { return nil }
        return min(number, most)
    }
}

/// A value that need not be readable; `value` is `nil` if it is not.
struct Readable<Value: Decodable>: Decodable {
    var value: Value?

    init(from decoder: any Decoder) throws {
        value = try? Value(from: decoder)
    }
}
