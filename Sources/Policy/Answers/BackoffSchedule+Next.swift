extension BackoffSchedule {
    /// The next step after a deferred attempt.
    package enum Next: Hashable, Sendable {
        case attempt(at: Timestamp)
        case attemptsUsedUp(allowed: Int)
        case ageUsedUp(Duration)
    }

    /// Returns the delay after the nth attempt (from 1), without jitter and whether or not another attempt is allowed.
    package func delay(afterAttempt attempt: Int) -> Duration {
        switch delays {
        case .list(let list):
            guard let last = list.last else { return .zero }
            return attempt <= list.count ? list[max(attempt, 1) - 1] : last
        case .exponential(let base, let multiplier, let longest):
            let limit = longest.inSeconds
            var seconds = base.inSeconds
            // Stops at the limit, or once the delay no longer changes (a multiplier of 1, a base of 0).
            for _ in 1..<min(max(attempt, 1), 9999) {
                let product = seconds * multiplier
                if seconds >= limit || product == seconds { break }
                seconds = product
            }
            return seconds < limit ? .seconds(seconds) : longest
        }
    }

    /// Returns the delay after the nth attempt (from 1), with jitter; `nil` if the attempts are used up.
    package func delay(afterAttempt attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration? {
        if let attempts, attempt >= attempts { return nil }
        let delay = delay(afterAttempt: attempt)
        let spread = min(max(jitter, 0), 1)
        if spread == 0 { return delay }
        return delay.scaled(by: Double.random(in: (1 - spread)...(1 + spread), using: &generator))
    }

    /// Returns when the attempt after the nth is due, at least `atLeast` from now, in whole milliseconds as in file
    /// names.
    ///
    /// If the schedule's next time is after the end of the age, the last attempt is due exactly at the end. The age is
    /// used up only if that attempt is deferred too, or if the end has passed already. So an operation that waited for
    /// a machine to come back still gets its attempt.
    package func next(
        afterAttempt attempt: Int, ageBegins: Timestamp, now: Timestamp, atLeast: Duration = .zero,
        using generator: inout some RandomNumberGenerator
    ) -> Next {
        guard let delay = delay(afterAttempt: attempt, using: &generator) else {
            return .attemptsUsedUp(allowed: attempts ?? attempt)
        }
        return bounded(now + max(delay, atLeast), ageBegins: ageBegins, now: now)
    }

    /// Returns `due` or the end of the age, whichever comes first. The age is used up if its end has passed already.
    func bounded(_ due: Timestamp, ageBegins: Timestamp, now: Timestamp) -> Next {
        let due = due.roundedUpToMilliseconds
        guard let maxAge else { return .attempt(at: due) }
        let end = (ageBegins + maxAge).roundedUpToMilliseconds
        if now >= end { return .ageUsedUp(maxAge) }
        return .attempt(at: min(due, end))
    }

    /// The longest delay that this schedule can give, jitter included.
    package var longestDelay: Duration {
        let longest =
            switch delays {
            case .list(let list): list.max() ?? .zero
            case .exponential(let base, _, let longest): max(base, longest)
            }
        return longest.scaled(by: 1 + min(max(jitter, 0), 1))
    }
}

extension Route {
    /// Returns the longest time by which an operation on this route can still be put off: a later due time comes from a
    /// wrong clock. `asked` is the time for which the server still asks, which the destination's state knows; without
    /// that state an operation goes sooner, and its server asks again. One millisecond is for the rounding.
    package func longestDelay(asked: Duration) -> Duration {
        let schedules = max(retry.longestDelay, retryRateLimited?.longestDelay ?? .zero)
        return max(schedules, asked + RetryAfter.longestJitter) + .milliseconds(1)
    }
}

extension Duration {
    /// Returns the product, computed in seconds: `Duration * Double` turns 200,000 × 1 into 199,999.99….
    func scaled(by factor: Double) -> Duration { .seconds(inSeconds * factor) }
}
