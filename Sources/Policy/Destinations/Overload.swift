/// A destination whose server has refused attempts because too many were in flight, and said so (429, Retry-After).
///
/// All runs keep below it. After a while one of them tries as many again: after a minute, then after twice as long each time
/// that they are refused again.
package struct Overload: Hashable, Sendable {
    /// So many attempts of all runs were too many.
    package var inFlight: Int
    /// When that was found last.
    package var at: Timestamp
    /// How often in a row.
    package var times: Int

    package init(inFlight: Int, at: Timestamp, times: Int = 1) {
        self.inFlight = inFlight
        self.at = at
        self.times = times
    }

    /// How many attempts the server is believed to bear at `now`.
    package func bearable(at now: Timestamp) -> Int {
        max(1, isToBeTried(at: now) ? inFlight : inFlight -| 1)
    }

    /// Whether it is time to try as many again. A clock that has jumped back does not put that off.
    package func isToBeTried(at now: Timestamp) -> Bool {
        now < at || now >= at + Self.wait(after: times)
    }

    /// The overload after one more refusal at `now`, of so many attempts in flight.
    package func joined(by inFlight: Int, at now: Timestamp) -> Overload {
        // A run knows its own attempts, and takes the others to have as many: one refusal is no proof of less than half.
        let fewer = max(inFlight, self.inFlight / 2 + 1)
        if fewer < self.inFlight { return Overload(inFlight: fewer, at: now) }
        guard isToBeTried(at: now) else { return self }
        return Overload(inFlight: self.inFlight, at: now, times: min(times, Self.mostTimes) + 1)
    }

    /// 1, 2, 4, 8, and then 16 minutes.
    private static func wait(after times: Int) -> Duration {
        .seconds(60 << min(max(times, 1) - 1, mostTimes - 1))
    }

    private static let mostTimes = 5
}

extension Overload: Codable {
    private enum CodingKeys: String, CodingKey {
        case inFlight
        case at
        case times
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        guard let inFlight = fields.count(.inFlight, upTo: DestinationState.mostCounted), let at = fields.time(.at)
        else {
            throw DecodingError.dataCorruptedError(
                forKey: .inFlight, in: fields, debugDescription: "no count or no time")
        }
        self.init(inFlight: inFlight, at: at, times: fields.count(.times, upTo: Self.mostTimes) ?? 1)
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(inFlight, forKey: .inFlight)
        try fields.encode(at.rfc3339, forKey: .at)
        try fields.encode(times, forKey: .times)
    }
}
