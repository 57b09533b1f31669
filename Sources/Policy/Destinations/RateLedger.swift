/// The times until which destinations with a `rate` are reserved: `state/rates.json`.
///
/// ```
/// { "version": 1, "until": { "https://api.example.com": "2026-11-23T09:15:00.25Z" } }
/// ```
/// A process reserves a destination for a short span, in which no other process begins attempts there. So the rate is
/// that of the queue, whatever the number of runs and their starts. Losing the file allows one span too many.
package struct RateLedger: Hashable, Sendable {
    package static let version = 1

    /// The time from now on for which a destination is reserved, by this process or by another one.
    package enum Span: Hashable, Sendable {
        case own(Duration)
        case others(Duration)
    }

    private var until: [String: Timestamp] = [:]

    package init() {}

    /// Returns the time for which a process reserves a destination: that of a tenth of a second's attempts, at least of
    /// one. An unused span loses no more than this.
    static func span(of interval: Duration) -> Duration {
        let attempts = Duration.milliseconds(100).wholeMicroseconds / max(1, interval.wholeMicroseconds)
        return interval * max(1, Int(clamping: attempts))
    }

    /// The longest time by which the clock of another host may be ahead.
    private static let skew = Duration.seconds(10)

    /// The delay after a span within which the next one begins at its end: the rate is reached if processes are late.
    package static let lateness = Duration.milliseconds(50)

    /// Reserves a destination for attempts with this interval; `isOnly` reserves it for one attempt.
    ///
    /// Ignores an end further away than a span and `skew`: the clock has been set back since, or the rate was lower.
    package mutating func acquire(
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

extension RateLedger: StoredObject {
    package static let blank = RateLedger()
    package static let fields: [StoredField<RateLedger>] = [.version(version), .init("until", \.until, .required)]
}
