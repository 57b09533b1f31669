extension DestinationEvent {
    /// Returns what the end of an attempt says about its destination, as events in the order in which they apply.
    /// Returns none if the network, a proxy or this program is to blame.
    ///
    /// - A connection failure of any kind, and a 502, 503 or 504 without Retry-After, say that the server is away. So
    ///   does a 2xx that looks like another server's (`accept`): a captive portal's page does not come from the server.
    /// - 429, `RESOURCE_EXHAUSTED`, and every deferral with Retry-After ask for time; without Retry-After this is the
    ///   first delay of the schedule for rate limits. No wait is longer than `RetryAfter.longest`.
    /// - A delivery may announce a limit: the server takes no further request before that time.
    /// - An HTTP/2 stream that ended without its whole answer shows that HTTP/2 loses answers there.
    /// - A held verdict holds the destination, with the report's words as the reason. `blamed` is the fingerprint of
    ///   configuration and credentials, see `DestinationState.Hold`.
    package static func events(
        of report: SealedReport, _ verdict: Verdict, route: @autoclosure () -> Route, blamed: String?,
        began: Timestamp, now: Timestamp
    ) -> [DestinationEvent] {
        if verdict.absence != nil || verdict.error == .cancelled { return [] }
        let events = eventsOfAnswer(report, verdict, route, blamed: blamed, began: began, now: now)
        return report.original.hasBrokenStream ? [.brokeStream] + events : events
    }

    private static func eventsOfAnswer(
        _ report: SealedReport, _ verdict: Verdict, _ route: () -> Route, blamed: String?, began: Timestamp,
        now: Timestamp
    ) -> [DestinationEvent] {
        let accused = verdict.accused()
        var hold: DestinationEvent {
            .held(reason: verdict.rule.reason(excerpt: report.excerpt?.description), blamed: blamed, began: began)
        }
        switch (report.original.result, verdict.outcome) {
        case (_, .delivered):
            // A limit that a success announces, by a rule's `until`.
            guard verdict.isRateLimited, let wait = verdict.retryAfter, wait > .zero else {
                return [.delivered(began: began)]
            }
            return [.delivered(began: began), .retryAfter(until: now + wait)]
        case (.answer, .held): return [.answered, hold]
        case (.failure, .held): return [hold]
        case (.answer(let answer), let outcome):
            if let wait = wait(verdict, route()) { return [.answered, .retryAfter(until: now + wait)] }
            if outcome == .deferred, let name = absence(answer.status, verdict) { return [.unreachable(name)] }
            return [.answered]
        case (.failure(let error, _), _):
            return accused == .destination || accused == .agent ? [.unreachable(error.rawValue)] : []
        }
    }

    private static func wait(_ verdict: Verdict, _ route: Route) -> Duration? {
        guard verdict.outcome == .deferred else { return nil }
        if let asked = verdict.retryAfter, asked > .zero { return asked }
        guard verdict.isRateLimited else { return nil }
        return min(route.bounds(isRateLimited: true).schedule.delay(afterAttempt: 1), RetryAfter.longest)
    }

    /// Returns why the server seems to be away although an answer came; `nil` if it does not.
    private static func absence(_ status: Int, _ verdict: Verdict) -> String? {
        // The function itself has answered: the server is there.
        if let canonical = verdict.canonical { return canonical == .unavailable ? canonical.rawValue : nil }
        if let match = verdict.rule.match {
            if match.mayBeFromAnotherServer { return "not accepted" }
            if match.sawTheServer { return nil }
        }
        return [502, 503, 504].contains(status) ? "\(status)" : nil
    }
}

extension StormGuard.Answer {
    /// Creates the guard's view of an attempt's end; `nil` if no server has answered.
    package init?(_ verdict: Verdict) {
        switch (verdict.outcome, verdict.status) {
        case (.delivered, _): self = .delivered
        case (.failed, .some) where verdict.rule.match?.rule.origin.namesAnswer ?? false: self = .other
        case (.failed, let status?), (.held, let status?): self = .permanent(status)
        case (.deferred, .some): self = .other
        case (.deferred, nil), (.failed, nil), (.held, nil): return nil
        }
    }
}
