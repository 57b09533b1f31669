package import Policy

/// The times of one submitter's operations. Each is later than the one before, so that names keep the order of the
/// input.
package struct SubmissionTimes: Sendable {
    private var last = Timestamp(microseconds: 0)

    package init() {}

    /// Returns the time of the next operation: `now`, or a microsecond after the last one if the clock shows no later
    /// time.
    package mutating func next(at now: Timestamp) -> Timestamp {
        last = max(now, last + .microseconds(1))
        return last
    }
}
