/// A moment in UTC, in whole microseconds since 1970-01-01T00:00:00Z (POSIX time: leap seconds do not exist).
///
/// The one type for time in names, files and decisions. Reading the clock is the caller's work.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var microseconds: Int64

    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }

    /// Saturates at the ends of the range: a due time of "in 300,000 years" stays a due time.
    package static func + (moment: Timestamp, distance: Duration) -> Timestamp {
        Timestamp(microseconds: moment.microseconds +| distance.wholeMicroseconds)
    }

    package static func - (moment: Timestamp, distance: Duration) -> Timestamp {
        moment + (.zero - distance)
    }

    package static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .microseconds(later.microseconds -| earlier.microseconds)
    }
}

extension Duration {
    /// Truncated towards zero, saturated to what 64 bits hold.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = boundedComponents
        return seconds *| 1_000_000 +| attoseconds / 1_000_000_000_000
    }

    /// The duration in seconds, as a fraction.
    package var inSeconds: Double {
        let (seconds, attoseconds) = boundedComponents
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// `components`, which traps beyond what 64 bits of seconds hold: of the nearest duration within.
    package var boundedComponents: (seconds: Int64, attoseconds: Int64) {
        min(max(self, .seconds(Int64.min)), .seconds(Int64.max)).components
    }
}
