package import Policy

/// The times of the operations added by one process. The times increase with the order of the additions, and no time is
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
