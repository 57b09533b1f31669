/// The delays between the attempts of a deferred operation, and the bounds of their number and of the operation's age.
package struct BackoffSchedule: Hashable, Sendable {
    package enum Delays: Hashable, Sendable {
        /// `min(base × multiplier^(n − 1), max)` after the nth attempt.
        case exponential(base: Duration, multiplier: Double, max: Duration)
        /// The nth delay after the nth attempt; the last delay repeats while attempts are left.
        case list([Duration])
    }

    package var delays: Delays
    /// The number of attempts in all, the first included; `nil` if only the age ends the schedule.
    package var attempts: Int?
    /// The age that ends the schedule, from `Operation.ageBegins`; `nil` if only the attempts end it.
    package var maxAge: Duration?
    /// The jitter of each delay: 0.2 means ±20 %.
    package var jitter: Double

    package init(delays: Delays, attempts: Int? = nil, maxAge: Duration? = nil, jitter: Double = 0) {
        self.delays = delays
        self.attempts = attempts
        self.maxAge = maxAge
        self.jitter = jitter
    }

    /// For unattended queues: 30 s, 2 min, 10 min, 30 min, 1 h, 3 h, 6 h, then 12 h apart, up to 3 days, ±20 %.
    package static let standard = BackoffSchedule(
        delays: .list([30, 120, 600, 1800, 3600, 10800, 21600, 43200].map { .seconds($0) }),
        maxAge: .seconds(3 * 86_400), jitter: 0.2)
}
