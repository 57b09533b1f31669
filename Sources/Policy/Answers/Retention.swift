/// How long what is done with is kept. `nil` for `failed` is for ever; `.zero` for `delivered` is not at all.
package struct Retention: Hashable, Sendable {
    package var delivered: Duration
    package var failed: Duration?

    package init(delivered: Duration = .zero, failed: Duration? = nil) {
        self.delivered = delivered
        self.failed = failed
    }

    /// A look into `failed/` for what has been there too long.
    package struct Look: Hashable, Sendable {
        /// What came to `failed/` before that is removed.
        package var limit: Timestamp?
        /// Whether `now` is to be given to the next look as the last one.
        package var isRemembered: Bool

        package init(limit: Timestamp?, isRemembered: Bool) {
            self.limit = limit
            self.isRemembered = isRemembered
        }
    }

    /// The look that a run takes, if it is time for one.
    ///
    /// Where they are kept for a day or longer there is one look a day, and it removes what the last one found too old
    /// already: a clock that is ahead for less than a day, by however much, removes nothing before its time.
    package func look(last: Timestamp?, now: Timestamp) -> Look? {
        guard let failed else { return nil }
        if failed < Self.pause { return Look(limit: now - failed, isRemembered: false) }
        guard let last, last <= now else { return Look(limit: nil, isRemembered: true) }
        return now - last < Self.pause ? nil : Look(limit: last - failed, isRemembered: true)
    }

    private static let pause = Duration.seconds(86_400)
}
