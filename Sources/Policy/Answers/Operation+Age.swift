extension Operation {
    /// From when its age counts, for `expiresAfter` and a schedule's `maxAge`; `nil` until that can be known.
    ///
    /// That is its creation, unless a clock that was wrong has told it: one that was not set yet, or that was ahead, so
    /// that the first attempt lies before. Then the first attempt by a clock that was set stands for it. Else a machine
    /// that boots in 1970 would give up all that it accepts as soon as its clock is set.
    package var ageBegins: Timestamp? {
        let firstAttempt = attempts.first { $0.at.isOfSetClock }?.at
        guard header.createdAt.isOfSetClock else { return firstAttempt }
        return min(header.createdAt, firstAttempt ?? header.createdAt)
    }
}

extension Timestamp {
    /// Whether a clock that somebody has set can have told it: those that nobody has begin in 1970, 1980 or 2000.
    package var isOfSetClock: Bool { self >= Self.firstOfSetClocks }

    /// 2001-01-01T00:00:00Z
    private static let firstOfSetClocks = Timestamp(microseconds: 978_307_200_000_000)
}
