package import Policy

/// The times of the operations that one process adds. They increase, so that what comes later is later, and no time is
/// ahead of the wall clock by more than `AdmissionRule.skew`: after the clock was set back they begin anew.
package struct SubmissionClock: Sendable {
    private var last = Timestamp(microseconds: 0)

    package init() {}

    /// Returns the time of the next operation.
    package mutating func next(now: Timestamp) -> Timestamp {
        last = last > now + AdmissionRule.skew ? now : max(now, last + .microseconds(1))
        return last
    }
}
