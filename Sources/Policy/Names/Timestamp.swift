/// A moment in UTC, in whole microseconds since 1970-01-01T00:00:00Z (POSIX time: leap seconds do not exist).
///
/// The only type for time in names, files and decisions. The caller reads the clock.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    /// Adds, and saturates at the ends of the range: a due time of "in 300,000 years" stays a due time.
    package static func + (moment: Timestamp, distance: Duration) -> Timestamp {
        Timestamp(microseconds: moment.microseconds +| distance.wholeMicroseconds)
    }

    package static func - (moment: Timestamp, distance: Duration) -> Timestamp { moment + (.zero - distance) }

    package static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .microseconds(later.microseconds -| earlier.microseconds)
    }
}

extension Duration {
    /// The microseconds, truncated towards zero and saturated to 64 bits.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = boundedComponents
        return seconds *| 1_000_000 +| attoseconds / 1_000_000_000_000
    }

    /// The duration in seconds, as a fraction.
    package var inSeconds: Double {
        let (seconds, attoseconds) = boundedComponents
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// The `components` of the nearest duration whose seconds fit into 64 bits: `components` itself traps beyond that.
    package var boundedComponents: (seconds: Int64, attoseconds: Int64) {
        min(max(self, .seconds(Int64.min)), .seconds(Int64.max)).components
    }
}
