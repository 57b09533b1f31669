/// What follows for an operation: what happens to its file, and the line its history gains.
package struct Settlement: Hashable, Sendable {
    package var disposition: Disposition
    package var record: AttemptRecord

    package init(disposition: Disposition, record: AttemptRecord) {
        self.disposition = disposition
        self.record = record
    }

    /// Whether this was an attempt: a request was sent, and the server did not merely ask for time.
    package var countsAttempt: Bool {
        switch disposition {
        case .delivered: true
        case .deferred(_, let counts), .failed(let counts): counts
        case .putBack, .quarantined: false
        }
    }

    /// What an attempt's report makes of the operation.
    ///
    /// A wait that the server asked for by Retry-After is no attempt; only the operation's age bounds how often that
    /// goes on. What this program cut off itself is due at once and no attempt either.
    package static func after(
        _ report: AttemptReport, _ header: OperationHeader, _ name: EntryName, route: Route, began: Timestamp,
        now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> Settlement {
        let verdict = Classification.verdict(on: report, route: route, now: now)
        var record = AttemptRecord(
            at: began, duration: report.duration, outcome: verdict.outcome, rule: verdict.rule.description)
        record.retryAfter = verdict.retryAfter.map { Int($0.components.seconds) }
        switch report.result {
        case .answer(let answer):
            record.status = answer.status
            record.excerpt = excerpt(of: answer.body)
        case .failure(let error, let detail):
            record.error = error.rawValue
            record.excerpt = excerpt(of: Array(detail.utf8))
            if error == .cancelled {
                return Settlement(disposition: .deferred(until: now, countsAttempt: false), record: record)
            }
        }
        switch verdict.outcome {
        case .delivered: return Settlement(disposition: .delivered(keep: false), record: record)
        case .held: return Settlement(disposition: .putBack, record: record)
        case .failed: return Settlement(disposition: .failed(countsAttempt: true), record: record)
        case .deferred: break
        }
        let schedule = route.schedule(afterStatus: record.status)
        let next: BackoffSchedule.Next
        var counts = true
        if let asked = verdict.retryAfter, asked > .zero {
            counts = false
            let due = now + RetryAfter.spread(asked, using: &generator)
            next = schedule.bounded(due, createdAt: header.createdAt, now: now)
        } else {
            next = schedule.next(
                afterAttempt: name.attempts + 1, createdAt: header.createdAt, now: now, using: &generator)
        }
        switch next {
        case .attempt(let due):
            return Settlement(disposition: .deferred(until: due, countsAttempt: counts), record: record)
        case .attemptsUsedUp(let allowed): record.rule = Rule.attemptsUsedUp(allowed: allowed, last: verdict.rule).description
        case .ageUsedUp(let age): record.rule = Rule.ageUsedUp(age, last: verdict.rule).description
        }
        record.outcome = .failed
        return Settlement(disposition: .failed(countsAttempt: counts), record: record)
    }

    /// What ends an operation before its next attempt: it has expired. `nil` for one that may be sent.
    package static func beforeAttempt(
        _ header: OperationHeader, _ name: EntryName, route: Route, now: Timestamp
    ) -> Settlement? {
        let ends = [header.expiresAt, route.expiresAfter.map { header.createdAt + $0 }].compactMap { $0 }
        guard let end = ends.min(), end <= now else { return nil }
        let record = AttemptRecord(
            at: now, duration: .zero, outcome: .failed, rule: Rule.expired(at: end).description)
        return Settlement(disposition: .failed(countsAttempt: false), record: record)
    }

    /// What becomes of an operation of which no request can be made: held where the configuration is to blame.
    package static func refused(_ error: RequestError, now: Timestamp) -> Settlement {
        let record = AttemptRecord(
            at: now, duration: .zero, outcome: error.outcome, rule: Rule.request(error).description)
        return Settlement(
            disposition: error.outcome == .held ? .putBack : .failed(countsAttempt: false), record: record)
    }
}
