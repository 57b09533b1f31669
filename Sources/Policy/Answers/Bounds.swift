/// What ends the attempts of an operation after an answer of one kind: the schedule, and the lifetime if shorter.
///
/// The run that settles, `explain` and the count of attempts all ask this value.
package struct Bounds: Hashable, Sendable {
    package var schedule: BackoffSchedule
    /// The age at which an operation fails unsent; `nil` if the schedule has ended by then.
    package var lifetime: Duration?

    package init(_ schedule: BackoffSchedule, lifetime: Duration?) {
        self.schedule = schedule
        self.lifetime = lifetime.flatMap { lifetime in
            schedule.maxAge.map { lifetime < $0 } ?? true ? lifetime : nil
        }
    }

    /// The number of attempts that fit, the 8 of "3 of 8": `attempts`, or as many as fit into the age (without jitter)
    /// if these are fewer. `nil` if neither ends them within the 9,999 attempts that a name can count.
    package var attemptsAllowed: Int? {
        guard schedule.maxAge != nil || lifetime != nil else { return schedule.attempts }
        let most = min(schedule.attempts ?? 9999, 9999)
        var elapsed = Duration.zero
        var count = 1
        // The last attempt is made at the end of the schedule's age, and none at the end of the lifetime.
        while count < most, schedule.maxAge.map({ elapsed < $0 }) ?? true {
            elapsed += schedule.delay(afterAttempt: count)
            if let lifetime, elapsed >= lifetime { break }
            count += 1
        }
        return count >= 9999 ? schedule.attempts : count
    }
}

extension Route {
    /// Returns the bounds after an answer that reports too many requests, or after any other result. The age of the
    /// other schedule bounds a schedule for rate limits without an age of its own.
    package func bounds(isRateLimited: Bool) -> Bounds {
        guard isRateLimited, var schedule = retryRateLimited else { return Bounds(retry, lifetime: expiresAfter) }
        schedule.maxAge = schedule.maxAge ?? retry.maxAge
        return Bounds(schedule, lifetime: expiresAfter)
    }

    /// Returns the number of attempts on the schedule of one kind of answers that an operation has used.
    ///
    /// A schedule of its own for rate limits counts only rate-limited attempts, so that a busy server does not end an
    /// operation that has used its attempts on other failures. Only attempts since the last `retry` are considered,
    /// which are the last ones that the name counts.
    ///
    /// - Parameter counted: the number in the operation's name.
    package func attemptsUsed(isRateLimited: Bool, of records: [AttemptRecord], counted: Int) -> Int {
        guard isRateLimited, retryRateLimited != nil else { return counted }
        return records.filter(\.counted).suffix(counted).count(where: \.isRateLimited)
    }

    /// Returns the number of attempts that an operation gets in all if each further attempt ends like the last; `nil`
    /// if nothing limits them.
    package func attemptsAllowed(after records: [AttemptRecord], counted: Int) -> Int? {
        let isRateLimited = records.last?.isRateLimited ?? false
        let used = attemptsUsed(isRateLimited: isRateLimited, of: records, counted: counted)
        return bounds(isRateLimited: isRateLimited).attemptsAllowed.map { max(counted, counted - used + $0) }
    }
}
