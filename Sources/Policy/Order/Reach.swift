/// Which of a destination's operations a `Selection` could still have a use for: the old ones, and the newest.
package struct Reach: Hashable, Sendable {
    /// Created then, or before.
    var latest: Timestamp
    /// Or created then, or after.
    var earliest: Timestamp

    package static let everything = Reach(
        latest: Timestamp(microseconds: .max), earliest: Timestamp(microseconds: .max))
    static let nothing = Reach(latest: Timestamp(microseconds: .min), earliest: Timestamp(microseconds: .max))

    package func contains(_ createdAt: Timestamp) -> Bool {
        createdAt <= latest || createdAt >= earliest
    }
}
