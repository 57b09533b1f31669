/// The time of a run by activity. Every moment belongs to one activity, so their sum is the run's duration.
package struct TimeSpent: Hashable, Sendable {
    package enum Activity: Int, Hashable, Sendable, CaseIterable {
        /// Looking at the queue: recovering, admitting foreign files, listing, deciding.
        case choosing
        /// Claiming and reading chosen operations, and handing them to an agent.
        case claiming
        /// Waiting for answers, for a rate, or for the next due operation.
        case waiting
        /// Processing answers: recording, removing, moving.
        case settling
        /// Syncing settled operations.
        case syncing
    }

    private var spent = Activity.allCases.map { _ in Duration.zero }
    private var activity = Activity.choosing
    private var since: ContinuousClock.Instant

    init(now: ContinuousClock.Instant) { since = now }

    package subscript(activity: Activity) -> Duration { spent[activity.rawValue] }

    /// Begins an activity. Returns the activity before, for the caller to begin again later.
    @discardableResult
    mutating func begin(_ next: Activity, now: ContinuousClock.Instant) -> Activity {
        spent[activity.rawValue] += since.duration(to: now)
        defer { (activity, since) = (next, now) }
        return activity
    }

    mutating func end(now: ContinuousClock.Instant) { begin(activity, now: now) }
}
