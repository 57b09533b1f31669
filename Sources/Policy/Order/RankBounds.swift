/// The ranks (`Ordering.rank`) of a destination's operations that a `Selection` can still use: every rank up to `latest`,
/// and every rank from `earliest` on. The ranks between the two are of no use.
package struct RankBounds: Hashable, Sendable {
    /// The last useful rank among the oldest.
    var latest = Timestamp(microseconds: .max)
    /// The first useful rank among the newest.
    var earliest = Timestamp(microseconds: .min)

    package static let everything = RankBounds()
    static let nothing = RankBounds(latest: Timestamp(microseconds: .min), earliest: Timestamp(microseconds: .max))

    package func contains(_ rank: Timestamp) -> Bool {
        rank <= latest || rank >= earliest
    }
}
