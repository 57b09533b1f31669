/// The meaning of an attempt's report, and the rule that decided.
package struct Verdict: Hashable, Sendable {
    package var outcome: Outcome
    package var rule: Rule
    /// The wait that the server asked for, at most `RetryAfter.longest`; `nil` without an answer.
    package var retryAfter: Duration?
    /// Whether the server says that it gets too much: 429, `RESOURCE_EXHAUSTED`, or a time at the rule's `until`.
    package var isRateLimited: Bool
    /// The code that a callable function returned.
    package var canonical: CanonicalStatus?
    /// The status in a batch's answer for this operation, otherwise the status of the answer.
    package var status: Int?
    /// The beginning of the element about this operation in a batch's answer; `nil` if there is none.
    package var excerpt: RedactedText?
    /// The network error, if there is no answer.
    package var error: NetworkError?
    /// Whether the server cannot have read the request.
    package var isUnread = false
    /// Why this machine has no network, if that kept the answer from arriving.
    package private(set) var absence: NetworkAbsence?

    package init(
        outcome: Outcome, rule: Rule, retryAfter: Duration? = nil, isRateLimited: Bool = false,
        canonical: CanonicalStatus? = nil
    ) {
        self.outcome = outcome
        self.rule = rule
        self.retryAfter = retryAfter
        self.isRateLimited = isRateLimited
        self.canonical = canonical
    }

    /// Whether the server only asked for time: 429, `RESOURCE_EXHAUSTED` or 503 with Retry-After, or a rule's `until`.
    package var isOnlyAskedToWait: Bool {
        outcome == .deferred && retryAfter ?? .zero > .zero && (isRateLimited || status == 503)
    }

    /// Whether the attempt counts for the operation. File, name, `explain` and metrics all show this decision.
    ///
    /// An attempt does not count if the server only asked for time or cannot have read the request, if the network or
    /// this machine is to blame, or if the destination is held.
    package var countsAttempt: Bool {
        if isUnread || accused()?.excusesOperation ?? false { return false }
        return outcome != .held && !isOnlyAskedToWait
    }

    /// Whether the operation stays unchanged and due at once, because nothing was sent without a network.
    package var isUntouched: Bool {
        outcome == .deferred && (error == .offline || absence != nil && error?.provesNotSent ?? false)
    }

    /// Returns the verdict on the same error if this machine has no network: the operation is deferred and not charged,
    /// unless the route decides otherwise on `offline`. The verdict on an answer does not change.
    package func excused(by absence: NetworkAbsence, route: Route) -> Verdict {
        guard let error else { return self }
        var verdict = Classification.verdict(on: .offline, route: route)
        if verdict.rule.match?.rule.origin == .standard { verdict.rule = .noNetwork(error, absence) }
        verdict.error = error
        verdict.absence = absence
        return verdict
    }

    /// Returns the same answer with another outcome, and without the wait that it asked for.
    package func becoming(_ outcome: Outcome, rule: Rule) -> Verdict {
        var verdict = Verdict(outcome: outcome, rule: rule)
        (verdict.status, verdict.error, verdict.canonical) = (status, error, canonical)
        verdict.isUnread = isUnread
        verdict.absence = absence
        return verdict
    }

    /// Whether fresh secrets may help: the server says that the request lacks valid credentials, whatever the route
    /// decides, or the route holds because of the body, as for `{"error": "invalid_auth"}`. `isAboutCredentials`
    /// decides who is to blame.
    package var mayNeedFreshSecrets: Bool {
        if outcome == .delivered { return false }
        return status == 401 || canonical == .unauthenticated
            || outcome == .held && rule.match?.isOfAnswersWords == true
    }
}
