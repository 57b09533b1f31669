/// The ranks (`Ordering.rank`) of a destination's operations that a `Selection` can still use: oldest and newest.
package struct RankBounds: Hashable, Sendable {
    /// Every rank up to this one is in reach.
    var latest = Timestamp(microseconds: .max)
    /// Every rank from this one on is in reach too.
    var earliest = Timestamp(microseconds: .min)

    package static let everything = RankBounds()
    static let nothing = RankBounds(latest: Timestamp(microseconds: .min), earliest: Timestamp(microseconds: .max))

    package func contains(_ createdAt: Timestamp) -> Bool {
        createdAt <= latest || createdAt >= earliest
    }
}
