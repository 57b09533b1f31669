/// Until when each destination with a `rate` is taken: `state/rates.json`.
///
/// ```
/// { "version": 1, "until": { "https://api.example.com": "2026-11-23T09:15:00.25Z" } }
/// ```
/// A process takes a destination for a short span, and until the span ends nobody else begins attempts there. So the rate
/// is that of the queue, however many runs there are and however often they start. Losing the file costs a span.
package struct RateLedger: Hashable, Sendable {
    package static let version = 1

    /// For how long from now on a destination is taken, and whose it is.
    package enum Span: Hashable, Sendable {
        case own(Duration)
        case others(Duration)
    }

    private var until: [String: Timestamp] = [:]

    package init() {}

    /// The time for which a process takes a destination: that of a tenth of a second's attempts, at least of one. An unused span
    /// loses no more than this.
    static func span(of interval: Duration) -> Duration {
        let attempts = Duration.milliseconds(100).wholeMicroseconds / max(1, interval.wholeMicroseconds)
        return interval * max(1, Int(clamping: attempts))
    }

    /// How far the clock of another host may be ahead.
    private static let skew = Duration.seconds(10)

    /// The delay after a span within which the next span begins at its end: the rate is reached although each process comes a
    /// little late.
    private static let lateness = Duration.milliseconds(50)

    /// Takes a destination for attempts with this interval; for one of them where no other follows.
    ///
    /// An end further away than a span and `skew` is one of a clock that has been set back since, or of a lower rate.
    package mutating func take(
        _ destination: String, every interval: Duration, isOnly: Bool = false, at now: Timestamp
    ) -> Span {
        let span = Self.span(of: interval)
        let end = until[destination].flatMap { $0 <= now + span + Self.skew ? $0 : nil }
        if let end, end > now { return .others(end - now) }
        until = until.filter { $0.value > now }
        let begin = end.flatMap { now - $0 <= Self.lateness ? $0 : nil } ?? now
        let ownEnd = begin + (isOnly ? interval : span)
        until[destination] = ownEnd
        return .own(ownEnd - now)
    }
}

extension RateLedger: Codable {
    private enum CodingKeys: String, CodingKey {
        case version
        case until
    }

    /// What cannot be read, or is of another version, is as if it were not there.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        guard try fields.decode(Int.self, forKey: .version) == Self.version else { return }
        until = try fields.decode([String: String].self, forKey: .until).compactMapValues { Timestamp(rfc3339: $0) }
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(Self.version, forKey: .version)
        try fields.encode(until.mapValues(\.rfc3339), forKey: .until)
    }
}
