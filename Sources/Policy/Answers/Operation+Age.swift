extension Operation {
    /// The time from which the age counts, for `expiresAfter` and a schedule's `maxAge`; `nil` until known.
    ///
    /// This is the creation time, unless that came from a wrong clock: a clock not set yet, or a clock ahead, so that
    /// the first attempt precedes the creation. Then the age counts from the first attempt by a set clock. Otherwise a
    /// machine that boots in 1970 would fail all operations that it accepts as soon as its clock is set.
    package var ageBegins: Timestamp? {
        let firstAttempt = attempts.first { $0.at.isOfSetClock }?.at
        guard header.createdAt.isOfSetClock else { return firstAttempt }
        return min(header.createdAt, firstAttempt ?? header.createdAt)
    }
}

extension Timestamp {
    /// Whether a set clock can have given this time: unset clocks begin in 1970, 1980 or 2000.
    package var isOfSetClock: Bool { self >= Self.firstOfSetClocks }

    /// 2001-01-01T00:00:00Z
    private static let firstOfSetClocks = Timestamp(microseconds: 978_307_200_000_000)
}
