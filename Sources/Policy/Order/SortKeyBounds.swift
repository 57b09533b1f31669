/// The sort keys (`Ordering.sortKey`) of a destination's operations that a `Selection` can still use: every key up to
/// `latest`, and every key from `earliest` on. The keys between the two are of no use.
package struct SortKeyBounds: Hashable, Sendable {
    /// The last useful key among the oldest.
    var latest = Timestamp(microseconds: .max)
    /// The first useful key among the newest.
    var earliest = Timestamp(microseconds: .min)

    package static let everything = SortKeyBounds()
    static let nothing = SortKeyBounds(latest: Timestamp(microseconds: .min), earliest: Timestamp(microseconds: .max))

    package func contains(_ sortKey: Timestamp) -> Bool { sortKey <= latest || sortKey >= earliest }
}
