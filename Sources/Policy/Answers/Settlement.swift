/// The decision on an operation after an attempt, or without one: the move of its file, and the record of the attempt.
package struct Settlement: Hashable, Sendable {
    package var disposition: Disposition
    package var rule: Rule
    /// The record of the attempt, shown in reports. It is appended to the file unless the operation is put back.
    package var record: AttemptRecord

    /// The values that a delivery leaves for later operations of its key.
    package var kept = KeptValues.none

    package var isRecorded: Bool { disposition != .putBack && !isWait }

    /// Whether nothing was attempted and the operation waits. Its file gets no record: the same would come again and
    /// again.
    package var isWait = false

    /// Decides what becomes of an operation after an attempt that began at `start` and was answered at `now`.
    ///
    /// - Delivered: the file is removed or kept as a copy. Held: the operation is put back, and nothing counts.
    /// - Deferred: the operation is due by the schedule, or fails if the schedule is used up, with a rule that says so.
    /// - A 429, `RESOURCE_EXHAUSTED` or 503 with Retry-After, or a rule with `until`, does not count as an attempt. The
    ///   operation is due a little after the time that the server named, never before, whatever step the schedule is
    ///   at; only the age bounds it. With any other status, a Retry-After can only extend the schedule's delay. A
    ///   Retry-After of 0 has no effect.
    /// - A proxy's own failure does not count either: neither the operation nor its server had any part in it.
    /// - Without a network the operation stays unchanged. If its request may have left before, the attempt is recorded,
    ///   and the operation is due at once.
    /// - An attempt that this program ended does not count either, and its operation is due at once. From the second in
    ///   a row on the operation waits as the schedule says, so that short runs do not keep sending it. The age bounds
    ///   it.
    /// - An operation of a shared request (`inBatch`) does not fail: if the request was refused, or if attempts or age
    ///   are used up, the operation is due at once, and `isSentAlone` keeps it out of further batches.
    /// - An operation that expires before its due time is due at its expiry, so that a run notices the expiry.
    package static func decide(
        on report: SealedReport, verdict: Verdict, of operation: Operation, name: EntryName, route: Route,
        inBatch: Bool, keepsDelivered: Bool, start: Timestamp, now: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) -> Settlement {
        var rule = verdict.rule
        let disposition: Disposition
        switch verdict.outcome {
        case .delivered: disposition = .delivered(keep: keepsDelivered || route.keepsAnswer)
        case .held: disposition = .putBack
        case .failed where inBatch:
            disposition = .deferred(until: now.roundedUpToMilliseconds, countsAttempt: false)
        case .failed: disposition = .failed(countsAttempt: verdict.countsAttempt)
        case .deferred where verdict.isUntouched: disposition = .putBack
        case .deferred where verdict.absence != nil:
            disposition = .deferred(until: now.roundedUpToMilliseconds, countsAttempt: false)
        case .deferred:
            (disposition, rule) = whenDeferred(
                report, verdict, of: operation, name: name, route: route, inBatch: inBatch, now: now,
                using: &generator)
        }
        var outcome = verdict.outcome
        if case .failed = disposition { outcome = .failed } else if outcome == .failed { outcome = .deferred }
        let record = AttemptRecord(
            at: start, duration: report.duration, outcome: outcome, status: verdict.status ?? report.status,
            error: report.error?.rawValue ?? verdict.canonical?.rawValue, rule: rule,
            retryAfter: verdict.retryAfter.map { Int(clamping: $0.boundedComponents.seconds) },
            excerpt: (verdict.excerpt ?? report.excerpt)?.description,
            accused: verdict.accused(members: inBatch ? 2 : 1), counted: disposition.countsAttempt,
            interruptions: name.interruptions)
        var settlement = Settlement(disposition: disposition, rule: rule, record: record)
        if verdict.outcome == .delivered {
            settlement.kept = report.kept(of: route)
            if route.keepsAnswer { settlement.record.answer = report.keptAnswer }
        }
        return settlement
    }

    /// Decides on an operation for which no request can be made.
    package static func decide(on error: RequestError, now: Timestamp) -> Settlement {
        var settlement = unsent(error.outcome, rule: .request(error), now: now)
        if case .noCredentials(_, let delay) = error {
            settlement.disposition = .deferred(until: (now + delay).roundedUpToMilliseconds, countsAttempt: false)
            settlement.isWait = true
        }
        settlement.record.accused = Verdict(outcome: error.outcome, rule: .request(error)).accused()
        return settlement
    }

    /// Decides on an expired operation; `nil` for any other. Called before every attempt.
    package static func decide(onExpiryOf operation: Operation, route: Route, now: Timestamp) -> Settlement? {
        guard let expiry = expiry(of: operation, route: route), expiry <= now else { return nil }
        return unsent(.failed, rule: .expired(at: expiry), now: now)
    }

    /// Returns the operation's own expiry or the route's, whichever comes first; `nil` if there is neither.
    package static func expiry(of operation: Operation, route: Route) -> Timestamp? {
        let aged = route.expiresAfter.flatMap { lifetime in operation.ageBegins.map { $0 + lifetime } }
        guard let own = operation.header.expiresAt else { return aged }
        return aged.map { min($0, own) } ?? own
    }

    /// Decides on an operation that is not attempted; `nil` while it may wait. Its expiry bounds every wait. The age of
    /// its schedule bounds attempts, and the wait for a kept value, which may never come. The age does not bound a
    /// hold, a pause or a parking: an expired credential must not empty the queue into `failed/`, however long the
    /// operator is away. Once such a wait ends, an older operation gets one attempt.
    package static func decide(
        onAgeOf operation: Operation, lacking kept: String?, route: Route, now: Timestamp
    ) -> Settlement? {
        if let settlement = decide(onExpiryOf: operation, route: route, now: now) { return settlement }
        guard let kept, let age = route.retry.maxAge, let begin = operation.ageBegins, begin + age <= now else {
            return nil
        }
        return unsent(.failed, rule: .ageUsedUp(age, last: .notKept(kept)), now: now)
    }

    private static func unsent(_ outcome: Outcome, rule: Rule, now: Timestamp) -> Settlement {
        Settlement(
            disposition: outcome == .failed ? .failed(countsAttempt: false) : .putBack, rule: rule,
            record: AttemptRecord(at: now, duration: .zero, outcome: outcome, rule: rule))
    }

    private static func whenDeferred(
        _ report: SealedReport, _ verdict: Verdict, of operation: Operation, name: EntryName, route: Route,
        inBatch: Bool, now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> (Disposition, Rule) {
        var schedule = route.bounds(isRateLimited: verdict.isRateLimited).schedule
        let asked = verdict.retryAfter ?? .zero
        let spread = asked > .zero ? RetryAfter.spread(asked, using: &generator) : .zero
        let countsAttempt = verdict.countsAttempt
        let earlier = operation.attempts.reversed().prefix { $0.error == NetworkError.cancelled.rawValue }
        let cutOffs = report.error == .cancelled ? earlier.count : 0
        let ageBegins = operation.ageBegins ?? now
        let next: BackoffSchedule.Next
        if verdict.isOnlyAskedToWait {
            next = schedule.bounded(now + spread, ageBegins: ageBegins, now: now)
        } else if report.error == .cancelled, cutOffs == 0 {
            next = schedule.bounded(now, ageBegins: ageBegins, now: now)
        } else {
            // An attempt that does not count cannot use up the attempts.
            if !countsAttempt { schedule.attempts = nil }
            let used = route.attemptsUsed(
                isRateLimited: verdict.isRateLimited, of: operation.attempts, counted: name.attempts)
            let step = cutOffs > 0 ? cutOffs : used + 1
            next = schedule.next(afterAttempt: step, ageBegins: ageBegins, now: now, atLeast: spread, using: &generator)
        }
        switch next {
        case .attempt(let due):
            let expiry = expiry(of: operation, route: route)?.roundedUpToMilliseconds
            return (.deferred(until: min(due, expiry ?? due), countsAttempt: countsAttempt), verdict.rule)
        case .attemptsUsedUp where inBatch, .ageUsedUp where inBatch:
            return (.deferred(until: now.roundedUpToMilliseconds, countsAttempt: countsAttempt), verdict.rule)
        case .attemptsUsedUp(let allowed):
            return (.failed(countsAttempt: countsAttempt), .attemptsUsedUp(allowed: allowed, last: verdict.rule))
        case .ageUsedUp(let age):
            return (.failed(countsAttempt: countsAttempt), .ageUsedUp(age, last: verdict.rule))
        }
    }

    /// Returns whether the next attempt is made alone: a batch with the operation was refused, a run died with it in
    /// flight, or the attempt may be its last, and no other member of a batch is to end the operation. The first
    /// attempt is never the last: a route that allows a single attempt still sends batches. The name counts the
    /// attempts, as in `Route.attemptsUsed`: a power cut may have taken their records.
    package static func isSentAlone(_ operation: Operation, name: EntryName, route: Route, now: Timestamp) -> Bool {
        if name.interruptions > 0 { return true }
        if operation.attempts.isEmpty, name.attempts == 0 { return false }
        if operation.wasRefusedTogether { return true }
        let ageBegins = operation.ageBegins ?? now
        return [false, true].contains { isRateLimited in
            let schedule = route.bounds(isRateLimited: isRateLimited).schedule
            let isOld = schedule.maxAge.map { ageBegins + $0 <= now } ?? false
            let used = route.attemptsUsed(isRateLimited: isRateLimited, of: operation.attempts, counted: name.attempts)
            return isOld || schedule.attempts.map { used + 1 >= $0 } ?? false
        }
    }
}

extension Operation {
    /// Whether a batch or a merged document with the operation, as its text is now, was refused.
    package var wasRefusedTogether: Bool {
        attempts.dropFirst(header.edited?.attempts ?? 0).contains { $0.accused == .batch }
    }
}

extension AttemptRecord {
    /// Whether the server reported too many requests.
    package var isRateLimited: Bool { status == 429 || error == CanonicalStatus.resourceExhausted.rawValue }
}

extension AttemptReport {
    package var status: Int? {
        switch result {
        case .answer(let answer): answer.status
        case .failure: nil
        }
    }

    package var error: NetworkError? {
        switch result {
        case .answer: nil
        case .failure(let error, _): error
        }
    }
}

extension Settlement {
    /// Returns the settlement of an operation that another process has failed, as it is recorded.
    package init(ofFailed record: AttemptRecord) {
        self.init(
            disposition: .failed(countsAttempt: record.counted), rule: .recorded(record.rule, record.ruleCode),
            record: record)
    }

    /// Returns the settlement of an operation that another process has delivered, as it is recorded.
    package init(ofDelivered record: AttemptRecord) {
        self.init(
            disposition: .delivered(keep: false), rule: .recorded(record.rule, record.ruleCode), record: record)
    }
}
