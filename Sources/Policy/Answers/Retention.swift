/// How long what is done with is kept. `nil` for `failed` is for ever; `.zero` for `delivered` is not at all.
package struct Retention: Hashable, Sendable {
    package var delivered: Duration
    package var failed: Duration?
    /// How long after it was kept a value for a key is there, while no operation of the key is in the queue.
    package var kept: Duration

    /// How long answers are kept where `delivered` says nothing.
    package static let answers = Duration.seconds(86_400)
    package static let defaultKept = Duration.seconds(7 * 86_400)

    package init(delivered: Duration = .zero, failed: Duration? = nil, kept: Duration = Self.defaultKept) {
        self.delivered = delivered
        self.failed = failed
        self.kept = kept
    }

    /// A look for what has been in `failed/`, or kept for keys that are done, too long.
    package struct Look: Hashable, Sendable {
        /// The time before which a file that came to `failed/` is removed.
        package var limit: Timestamp?
        /// The time before which a value kept for a key without operations is removed.
        package var keptLimit: Timestamp?
        /// Whether `now` is to be given to the next look as the last one.
        package var isRemembered: Bool

        package init(limit: Timestamp?, keptLimit: Timestamp? = nil, isRemembered: Bool) {
            self.limit = limit
            self.keptLimit = keptLimit
            self.isRemembered = isRemembered
        }
    }

    /// The look that a run takes, if it is time for one.
    ///
    /// Where they are kept for a day or longer there is one look a day, and it removes what the last one found too old
    /// already: a clock that is ahead for less than a day, by however much, removes nothing before its time.
    ///
    /// `keepsValues`: something is kept for keys.
    package func look(last: Timestamp?, keepsValues: Bool = false, now: Timestamp) -> Look? {
        let failed = failed.flatMap { Self.look(for: $0, last, now) }
        let kept = keepsValues ? Self.look(for: kept, last, now) : nil
        if failed == nil && kept == nil { return nil }
        return Look(
            limit: failed?.limit, keptLimit: kept?.limit,
            isRemembered: [failed, kept].contains { $0?.isRemembered ?? false })
    }

    private static func look(for time: Duration, _ last: Timestamp?, _ now: Timestamp) -> Look? {
        if time < pause { return Look(limit: now - time, isRemembered: false) }
        guard let last, last <= now else { return Look(limit: nil, isRemembered: true) }
        return now - last < pause ? nil : Look(limit: last - time, isRemembered: true)
    }

    private static let pause = Duration.seconds(86_400)
}
