/// The time of a run by activity. Every moment belongs to one activity, so their sum is the run's duration.
package struct TimeSpent: Hashable, Sendable {
    package enum Activity: Int, Hashable, Sendable, CaseIterable {
        /// Looking at what there is: recovering, taking in what others have dropped, listing, deciding.
        case choosing
        /// Claiming, reading and handing over to an agent what has been chosen.
        case claiming
        /// Waiting for answers, for a rate, or for what comes due.
        case waiting
        /// Taking answers in: recording, removing, moving.
        case settling
        /// Making durable what has been settled.
        case syncing
    }

    private var spent = Activity.allCases.map { _ in Duration.zero }
    private var activity = Activity.choosing
    private var since: ContinuousClock.Instant

    init(now: ContinuousClock.Instant = .now) { since = now }

    package subscript(activity: Activity) -> Duration { spent[activity.rawValue] }

    /// Ends the activity that went on until now, and returns it, for who takes it up again later.
    @discardableResult
    mutating func begin(_ next: Activity, now: ContinuousClock.Instant = .now) -> Activity {
        spent[activity.rawValue] += since.duration(to: now)
        defer { (activity, since) = (next, now) }
        return activity
    }

    mutating func end(now: ContinuousClock.Instant = .now) { begin(activity, now: now) }
}
