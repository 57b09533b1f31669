extension BackoffSchedule {
    /// 3 retries, 1 s ×2, at most 30 s: 4 attempts in all.
    package static let quick = BackoffSchedule(
        delays: .exponential(base: .seconds(1), multiplier: 2, max: .seconds(30)), attempts: 4)

    /// 5 retries, 0.5 s ×2.5, at most 60 s: 6 attempts in all.
    package static let aggressive = BackoffSchedule(
        delays: .exponential(base: .milliseconds(500), multiplier: 2.5, max: .seconds(60)), attempts: 6)

    /// 2 retries, 5 s ×3, at most 120 s: 3 attempts in all.
    package static let rateLimit = BackoffSchedule(
        delays: .exponential(base: .seconds(5), multiplier: 3, max: .seconds(120)), attempts: 3)

    /// 5 s, 30 s, 2 min, then a dead letter: 4 attempts in all.
    package static let steps = BackoffSchedule(list: [.seconds(5), .seconds(30), .seconds(120)])

    /// 5 retries, 1, 2, 4, 8 and 16 s apart, about 31 s in all: 6 attempts.
    package static let doubling = BackoffSchedule(
        delays: .exponential(base: .seconds(1), multiplier: 2, max: .seconds(16)), attempts: 6)

    /// The schedules that a configuration can name.
    package static let presets: [(name: String, schedule: BackoffSchedule)] = [
        ("standard", .standard), ("quick", .quick), ("aggressive", .aggressive), ("rate-limit", .rateLimit),
        ("steps", .steps), ("doubling", .doubling),
    ]

    /// Creates a schedule of each delay once: one attempt more than there are delays.
    package init(list: [Duration], maxAge: Duration? = nil, jitter: Double = 0) {
        self.init(delays: .list(list), attempts: list.count + 1, maxAge: maxAge, jitter: jitter)
    }
}
