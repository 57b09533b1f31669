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
        let (sum, overflow) = moment.microseconds.addingReportingOverflow(distance.wholeMicroseconds)
        return Timestamp(microseconds: overflow ? (distance < .zero ? .min : .max) : sum)
    }

    package static func - (moment: Timestamp, distance: Duration) -> Timestamp {
        moment + (.zero - distance)
    }

    package static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        let (difference, overflow) = later.microseconds.subtractingReportingOverflow(earlier.microseconds)
        return .microseconds(overflow ? (later > earlier ? Int64.max : Int64.min) : difference)
    }
}

extension Duration {
    /// Truncated towards zero, saturated to what 64 bits hold.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in seconds, as a fraction.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
