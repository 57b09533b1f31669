import Testing

@testable import Policy

struct BackoffScheduleTests {
    static let start = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!

    /// Returns the delays after attempts 1, 2, …, 20 without jitter, in seconds, until the schedule ends.
    private func delays(_ schedule: BackoffSchedule) -> [Double] {
        var plain = schedule
        plain.jitter = 0
        var generator = SeededGenerator(seed: 0)
        var now = Self.start
        var delays: [Double] = []
        for attempt in 1...20 {
            switch plain.next(afterAttempt: attempt, ageBegins: Self.start, now: now, using: &generator) {
            case .attempt(let due):
                delays.append((due - now).inSeconds)
                now = due
            case .attemptsUsedUp, .ageUsedUp: return delays
            }
        }
        return delays
    }

    @Test func `every preset has its exact delays`() {
        let table: [String: [Double]] = [
            // The last delay is cut: the last attempt is due when the operation is 3 days old.
            "standard": [30, 120, 600, 1800, 3600, 10800, 21600, 43200, 43200, 43200, 43200, 43200, 4650],
            "quick": [1, 2, 4],
            "aggressive": [0.5, 1.25, 3.125, 7.813, 19.532],
            "rate-limit": [5, 15],
            "steps": [5, 30, 120],
            "doubling": [1, 2, 4, 8, 16],
        ]
        #expect(BackoffSchedule.presets.map(\.name).sorted() == table.keys.sorted())
        for (name, schedule) in BackoffSchedule.presets {
            let exact = delays(schedule)
            let text = exact.map { "\($0) s" }.joined(separator: ", ")
            let allowed = Bounds(schedule, lifetime: nil).attemptsAllowed
            print("\(name): \(text); \(allowed.map(String.init) ?? "any number of") attempts")
            #expect(exact == table[name], "\(name)")
            #expect(allowed == exact.count + 1, "\(name)")
        }
    }

    @Test func `delays are exact to the microsecond and not rounded`() {
        #expect(BackoffSchedule.aggressive.delay(afterAttempt: 5) == .microseconds(19_531_250))
        #expect(BackoffSchedule.aggressive.delay(afterAttempt: 7) == .seconds(60))
        #expect(BackoffSchedule.doubling.delay(afterAttempt: 5) == .seconds(16))
        #expect(BackoffSchedule.doubling.delay(afterAttempt: 6) == .seconds(16))
        #expect(BackoffSchedule.doubling.delay(afterAttempt: 0) == .seconds(1))
        #expect(BackoffSchedule.standard.delay(afterAttempt: 100) == .seconds(43_200))
    }

    @Test func `a schedule with extreme numbers yields a delay`() {
        func delay(_ base: Duration, _ multiplier: Double, _ longest: Duration) -> Duration {
            BackoffSchedule(delays: .exponential(base: base, multiplier: multiplier, max: longest))
                .delay(afterAttempt: Int.max)
        }
        #expect(delay(.seconds(1), 1, .seconds(10)) == .seconds(1))
        #expect(delay(.zero, 2, .seconds(10)) == .zero)
        #expect(delay(.seconds(1), 1e300, .seconds(10)) == .seconds(10))
        #expect(delay(.seconds(30), 2, .seconds(10)) == .seconds(10))
        #expect(delay(.seconds(1), 2, .seconds(Int64.max)) == .seconds(Int64.max))
        let nothing = BackoffSchedule(delays: .list([]))
        #expect(nothing.delay(afterAttempt: 3) == .zero)
        #expect(nothing.longestDelay == .zero)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `jitter stays within its bounds and nearly reaches them`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let drawn = try (0..<200).map { _ in
            try #require(BackoffSchedule.standard.delay(afterAttempt: 2, using: &generator)).inSeconds
        }
        #expect(drawn.allSatisfy { (96...144).contains($0) })
        #expect(drawn.min()! < 100 && drawn.max()! > 140)
        var again = SeededGenerator(seed: seed)
        #expect(BackoffSchedule.standard.delay(afterAttempt: 2, using: &again)?.inSeconds == drawn[0])
    }

    @Test func `no delay exceeds longestDelay, which includes the jitter`() {
        var generator = SeededGenerator(seed: 1)
        for (name, schedule) in BackoffSchedule.presets {
            for attempt in 1...20 {
                guard let delay = schedule.delay(afterAttempt: attempt, using: &generator) else { break }
                #expect(delay <= schedule.longestDelay, "\(name)")
            }
        }
        #expect(BackoffSchedule.standard.longestDelay == .seconds(51_840))
        #expect(BackoffSchedule.doubling.longestDelay == .seconds(16))
    }

    @Test func `the schedule ends after the last allowed attempt`() {
        var generator = SeededGenerator(seed: 0)
        func next(_ attempt: Int) -> BackoffSchedule.Next {
            BackoffSchedule.steps.next(
                afterAttempt: attempt, ageBegins: Self.start, now: Self.start, using: &generator)
        }
        #expect(next(3) == .attempt(at: Self.start + .seconds(120)))
        #expect(next(4) == .attemptsUsedUp(allowed: 4))
        #expect(next(9) == .attemptsUsedUp(allowed: 4))
    }

    @Test func `the last attempt is due when maxAge ends`() {
        var generator = SeededGenerator(seed: 0)
        let schedule = BackoffSchedule(delays: .list([.seconds(100)]), maxAge: .seconds(150))
        func next(at second: Int) -> BackoffSchedule.Next {
            let now = Self.start + .seconds(second)
            return schedule.next(afterAttempt: 2, ageBegins: Self.start, now: now, using: &generator)
        }
        #expect(next(at: 0) == .attempt(at: Self.start + .seconds(100)))
        #expect(next(at: 100) == .attempt(at: Self.start + .seconds(150)))
        #expect(next(at: 149) == .attempt(at: Self.start + .seconds(150)))
        #expect(next(at: 150) == .ageUsedUp(.seconds(150)))
        #expect(next(at: 100_000) == .ageUsedUp(.seconds(150)))
        #expect(Bounds(schedule, lifetime: nil).attemptsAllowed == 3)
    }

    private func allowed(
        _ delays: BackoffSchedule.Delays = .list([.seconds(10)]), attempts: Int? = nil, maxAge: Int? = nil,
        lifetime: Int? = nil
    ) -> Int? {
        let schedule = BackoffSchedule(delays: delays, attempts: attempts, maxAge: maxAge.map { .seconds($0) })
        return Bounds(schedule, lifetime: lifetime.map { .seconds($0) }).attemptsAllowed
    }

    @Test func `the first limit to end decides the attempts allowed`() {
        #expect(allowed() == nil)
        #expect(allowed(attempts: 3) == 3)
        #expect(allowed(attempts: 3, maxAge: 1000) == 3)
        #expect(allowed(attempts: 30, maxAge: 100) == 11)
        #expect(allowed(.list([.zero]), maxAge: 100) == nil)
        // An operation as old as its lifetime fails unsent.
        #expect(allowed(lifetime: 100) == 10 && allowed(maxAge: 50, lifetime: 100) == 6)
        #expect(allowed(attempts: 3, maxAge: 1000, lifetime: 100) == 3 && allowed(maxAge: 1000, lifetime: 5) == 1)
    }

    @Test func `the schedule of the last answer decides the attempts allowed`() {
        let route = Route(
            retry: BackoffSchedule(delays: .list([.seconds(1)]), attempts: 9),
            retryRateLimited: BackoffSchedule(delays: .list([.seconds(1)]), attempts: 2))
        func records(_ statuses: Int...) -> [AttemptRecord] {
            statuses.map {
                AttemptRecord(at: Self.start, duration: .zero, outcome: .deferred, status: $0, rule: "", counted: true)
            }
        }
        #expect(route.attemptsAllowed(after: [], counted: 0) == 9)
        #expect(route.attemptsAllowed(after: records(503), counted: 1) == 9)
        #expect(route.attemptsAllowed(after: records(429), counted: 1) == 2)
        #expect(route.attemptsAllowed(after: records(503, 503, 429), counted: 3) == 4)
        #expect(route.attemptsAllowed(after: records(429, 429, 503), counted: 3) == 9)
        // An operator's retry restarts the count.
        #expect(route.attemptsAllowed(after: records(429, 429, 429), counted: 1) == 2)
    }

    @Test func `a route's longest delay covers its schedules and the server's retry-after`() {
        let quick = Route(retry: .quick)
        #expect(quick.longestDelay(asked: .zero) == .milliseconds(300_001))
        #expect(quick.longestDelay(asked: RetryAfter.longest) == .milliseconds(86_700_001))
        let slow = BackoffSchedule(list: [.seconds(200_000)])
        let route = Route(retry: .quick, retryRateLimited: slow)
        #expect(route.longestDelay(asked: RetryAfter.longest) == .milliseconds(200_000_001))
    }

    @Test func `429 uses its own schedule if configured`() {
        let route = Route(retry: .quick, retryRateLimited: .rateLimit)
        #expect(route.bounds(isRateLimited: true).schedule == .rateLimit)
        #expect(route.bounds(isRateLimited: false).schedule == .quick)
        #expect(Route(retry: .quick).bounds(isRateLimited: true).schedule == .quick)
    }
}
