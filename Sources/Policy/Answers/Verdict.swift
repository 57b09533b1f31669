/// The meaning of an attempt's report, and the rule that decided.
package struct Verdict: Hashable, Sendable {
    package var outcome: Outcome
    package var rule: Rule
    /// The wait that the server asked for, cut to the cap; only with an answer.
    package var retryAfter: Duration?
    /// Whether the server says that it gets too much: 429, `RESOURCE_EXHAUSTED`, or a time at the `until` of the rule.
    package var isRateLimited: Bool
    /// The code that a callable function returned.
    package var canonical: CanonicalStatus?
    /// Its own status: the one that a batch's answer has for this operation, else that of the answer.
    package var status: Int?
    /// Why there is no answer.
    package var error: NetworkError?
    /// Why this machine has no network, where that kept the answer from coming.
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

    /// Whether the server has only asked for time: 429, `RESOURCE_EXHAUSTED` or 503 with a Retry-After, or a rule's `until`.
    package var isOnlyAskedToWait: Bool {
        outcome == .deferred && retryAfter ?? .zero > .zero && (isRateLimited || status == 503)
    }

    /// Whether this was one of the operation's attempts. File, name, `explain` and metrics all show this decision.
    ///
    /// A wait that the server asked for is none, nor is one that the network or this machine is to blame for, or one that
    /// holds the destination.
    package var countsAttempt: Bool {
        if accused()?.excusesOperation ?? false { return false }
        return outcome != .held && !isOnlyAskedToWait
    }

    /// Whether the operation stays as it was, due at once: without a network nothing was sent.
    package var isUntouched: Bool {
        outcome == .deferred && (error == .offline || absence != nil && error?.provesNotSent ?? false)
    }

    /// The same end where this machine has no network: it is put off and nobody is charged, unless the route says something
    /// else of `offline`.
    package func excused(by absence: NetworkAbsence, route: Route) -> Verdict {
        guard let error else { return self }
        var verdict = Classification.verdict(on: .offline, route: route)
        if verdict.rule.match?.rule.origin == .standard { verdict.rule = .noNetwork(error, absence) }
        verdict.error = error
        verdict.absence = absence
        return verdict
    }

    /// The same answer with another meaning, and without what it asked for.
    package func becoming(_ outcome: Outcome, rule: Rule) -> Verdict {
        var verdict = Verdict(outcome: outcome, rule: rule)
        (verdict.status, verdict.error, verdict.canonical) = (status, error, canonical)
        verdict.absence = absence
        return verdict
    }

    /// Whether the server may have refused the credentials that came with the request: it says so, whatever the route makes of
    /// that, or the route holds by what the answer says, as in `{"error": "invalid_auth"}`.
    package var isUnauthenticated: Bool {
        if outcome == .delivered { return false }
        return status == 401 || canonical == .unauthenticated
            || outcome == .held && rule.match?.isOfAnswersWords == true
    }
}
