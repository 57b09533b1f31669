/// The times for which kept values and the files of finished operations stay. `nil` for `failed`: files stay for ever.
/// `.zero` for `delivered`: delivered operations leave no file.
package struct Retention: Hashable, Sendable {
    package var delivered: Duration
    package var failed: Duration?
    /// The time for which a kept value stays while no operation of its key is in the queue.
    package var kept: Duration

    /// The time for which answers are kept if `delivered` is zero.
    package static let answers = Duration.seconds(86_400)
    package static let defaultKept = Duration.seconds(7 * 86_400)

    package init(delivered: Duration = .zero, failed: Duration? = nil, kept: Duration = Self.defaultKept) {
        self.delivered = delivered
        self.failed = failed
        self.kept = kept
    }

    /// One search for files in `failed/`, and for kept values without operations, that are too old.
    package struct Search: Hashable, Sendable {
        /// Files that came to `failed/` before this time are removed; `nil` removes none.
        package var limit: Timestamp?
        /// Values without operations that were kept before this time are removed; `nil` removes none.
        package var keptLimit: Timestamp?
        /// Whether the run must store `now` as the `last` of the next search.
        package var isRemembered: Bool

        package init(limit: Timestamp?, keptLimit: Timestamp? = nil, isRemembered: Bool) {
            self.limit = limit
            self.keptLimit = keptLimit
            self.isRemembered = isRemembered
        }
    }

    /// Returns the search that a run makes now; `nil` if it is not time for one.
    ///
    /// If files are kept for a day or longer, there is one search a day, which removes only files that were too old at
    /// the search before. So a clock that is ahead for less than a day, by however much, removes nothing early.
    /// `keepsValues` says whether values are kept for keys.
    package func search(last: Timestamp?, keepsValues: Bool = false, now: Timestamp) -> Search? {
        let failed = failed.flatMap { Self.search(for: $0, last, now) }
        let kept = keepsValues ? Self.search(for: kept, last, now) : nil
        if failed == nil && kept == nil { return nil }
        return Search(
            limit: failed?.limit, keptLimit: kept?.limit,
            isRemembered: [failed, kept].contains { $0?.isRemembered ?? false })
    }

    private static func search(for time: Duration, _ last: Timestamp?, _ now: Timestamp) -> Search? {
        if time < searchInterval { return Search(limit: now - time, isRemembered: false) }
        guard let last, last <= now else { return Search(limit: nil, isRemembered: true) }
        return now - last < searchInterval ? nil : Search(limit: last - time, isRemembered: true)
    }

    private static let searchInterval = Duration.seconds(86_400)
}
