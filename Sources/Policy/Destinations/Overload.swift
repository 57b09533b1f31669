/// The overload of a destination: its server refused attempts, and said that too many were in flight (429,
/// Retry-After).
///
/// All runs keep below it. After a minute one of them tries as many again; each refusal in a row doubles that time.
package struct Overload: Hashable, Sendable {
    /// The number of attempts of all runs that was too many.
    package var inFlight: Int
    /// The time at which this was last found.
    package var at: Timestamp
    /// The number of times in a row that this was found.
    package var times = 1

    /// Returns the number of attempts that the server is believed to sustain at `now`.
    package func sustainable(at now: Timestamp) -> Int {
        max(1, isToBeTried(at: now) ? inFlight : inFlight -| 1)
    }

    /// Returns whether it is time to try as many again. A clock that has jumped back does not put that off.
    package func isToBeTried(at now: Timestamp) -> Bool { now < at || now >= at + Self.wait(after: times) }

    /// Returns the overload after one more refusal at `now`, with `inFlight` attempts in flight.
    package func joined(by inFlight: Int, at now: Timestamp) -> Overload {
        // A run counts its own attempts, and as many for each other run: one refusal does not prove less than half.
        let fewer = max(inFlight, self.inFlight / 2 + 1)
        if fewer < self.inFlight { return Overload(inFlight: fewer, at: now) }
        guard isToBeTried(at: now) else { return self }
        return Overload(inFlight: self.inFlight, at: now, times: min(times, Self.mostTimes) + 1)
    }

    /// Returns the wait after `times` refusals in a row: 1, 2, 4, 8, and then 16 minutes.
    private static func wait(after times: Int) -> Duration {
        .seconds(60 << min(max(times, 1) - 1, mostTimes - 1))
    }

    private static let mostTimes = 5
}

extension Overload: StoredObject {
    package static let blank = Overload(inFlight: 0, at: Timestamp(microseconds: 0))
    package static let fields: [StoredField<Overload>] = [
        .init("inFlight", \.inFlight, .required, reading: counted(upTo: DestinationState.mostCounted)),
        .init("at", \.at, .required),
        .init("times", \.times, .always, reading: counted(upTo: mostTimes)),
    ]
}
