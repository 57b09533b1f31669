/// Which of a destination's operations a `Selection` could still have a use for: the old ones, and the newest.
package struct Reach: Hashable, Sendable {
    /// Created then, or before.
    var latest = Timestamp(microseconds: .max)
    /// Or created then, or after.
    var earliest = Timestamp(microseconds: .min)

    package static let everything = Reach()
    static let nothing = Reach(latest: Timestamp(microseconds: .min), earliest: Timestamp(microseconds: .max))

    package func contains(_ createdAt: Timestamp) -> Bool {
        createdAt <= latest || createdAt >= earliest
    }
}
