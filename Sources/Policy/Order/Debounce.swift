/// The wait of a value for newer ones of its key: until it has been the newest for a time, and at most `most` times as
/// long since the oldest that it takes with it.
struct Debounce: Hashable, Sendable {
    let quiet: Duration
    static let most = 10

    /// Returns the end of the wait; `nil` if it is over. A creation time further in the future than the wait is that of
    /// a clock that has jumped, and delays nothing.
    func end(oldest: Timestamp, newest: Timestamp, at now: Timestamp) -> Timestamp? {
        let end = min(newest + quiet, oldest + quiet * Self.most)
        return end > now && newest <= now + quiet ? end : nil
    }
}
