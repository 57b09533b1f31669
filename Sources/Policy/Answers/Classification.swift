/// What an attempt's report means, and by which rule.
package struct Verdict: Hashable, Sendable {
    package var outcome: Outcome
    package var rule: Rule
    /// What the server asked for, cut to the cap; only with an answer.
    package var retryAfter: Duration?
    /// Whether the server says that it gets too much: 429 or `RESOURCE_EXHAUSTED`.
    package var isRateLimited: Bool
    /// What a callable function has said.
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

    /// Whether the server has only asked for time: 429, `RESOURCE_EXHAUSTED` or 503, with a Retry-After.
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
        if case .error = verdict.rule { verdict.rule = .noNetwork(error, absence) }
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

    /// Whether the server refused the credentials that came with the request, whatever the route makes of that.
    package var isUnauthenticated: Bool {
        outcome != .delivered && (status == 401 || canonical == .unauthenticated)
    }
}

/// The one place where it is decided what an answer means.
package enum Classification {
    /// What the report means on this route. `now` is the moment of the answer, for a Retry-After without a Date;
    /// `retryAfterMax` the most that one gets.
    ///
    /// Of the route's overrides that match, the one with the fewest statuses wins, and of those the last. Without one
    /// the defaults decide. That this program ended the attempt itself means nothing and cannot be overridden. A 2xx
    /// that would be a delivery must agree with the route's `accept` rule besides.
    package static func verdict(
        on report: SealedReport, route: Route, now: Timestamp, retryAfterMax: Duration = RetryAfter.longest
    ) -> Verdict {
        switch report.original.result {
        case .answer(let answer):
            var verdict =
                switch route.protocol {
                case .plain: verdict(onStatus: answer.status, route: route)
                case .callable: verdict(onCallable: answer, route: route)
                }
            if verdict.outcome == .delivered, (200...299).contains(answer.status), verdict.canonical == nil,
                let accept = route.accept,
                let objection = accept.objection(to: answer, in: report, limit: route.answerLimit)
            {
                verdict = Verdict(outcome: accept.otherwise, rule: .notAccepted(objection, accept.otherwise))
            }
            verdict.retryAfter = RetryAfter.asked(by: answer, now: now, cap: retryAfterMax)
            verdict.status = answer.status
            return verdict
        case .failure(let error, _):
            return verdict(on: error, route: route)
        }
    }

    /// What a callable function's answer means: its own words first, whatever the HTTP status, and the status where it
    /// is not the function that answers. A 2xx without any of these words is somebody else's, such as a captive portal's.
    private static func verdict(onCallable answer: AttemptReport.Answer, route: Route) -> Verdict {
        let status = verdict(onStatus: answer.status, route: route)
        let isSuccess = (200...299).contains(answer.status)
        switch CallableAnswer(answer) {
        case .error(let canonical):
            var verdict = verdict(on: canonical, route: route)
            // What the route says of this status goes before what is said of the word by default.
            if case .overridden = status.rule, case .canonical = verdict.rule, !isSuccess {
                verdict.outcome = status.outcome
                verdict.rule = status.rule
            }
            verdict.isRateLimited = canonical == .resourceExhausted || status.isRateLimited
            return verdict
        case .foreign where isSuccess && status.outcome == .delivered:
            let objection: AcceptRule.Objection = answer.isCut(at: route.answerLimit) ? .cut : .notCallable
            return Verdict(outcome: .deferred, rule: .notAccepted(objection, .deferred))
        case .result, .foreign: return status
        }
    }

    private static func verdict(on canonical: CanonicalStatus, route: Route) -> Verdict {
        if let override = route.classify.last(where: { $0.match == .canonical(canonical) }) {
            return Verdict(outcome: override.outcome, rule: .overridden(override), canonical: canonical)
        }
        let outcome = canonical.defaultOutcome
        return Verdict(outcome: outcome, rule: .canonical(canonical, default: outcome), canonical: canonical)
    }

    package static func verdict(onStatus status: Int, route: Route) -> Verdict {
        let matches = route.classify.filter { override in
            if case .statuses(let range) = override.match { return range.contains(status) }
            return false
        }
        if let override = mostSpecific(of: matches) {
            return verdict(override.outcome, .overridden(override), status)
        }
        let (range, outcome) = defaultOutcome(ofStatus: status)
        return verdict(outcome, .status(status, default: range, outcome), status)
    }

    private static func verdict(_ outcome: Outcome, _ rule: Rule, _ status: Int) -> Verdict {
        var verdict = Verdict(outcome: outcome, rule: rule, isRateLimited: status == 429)
        verdict.status = status
        return verdict
    }

    package static func verdict(on error: NetworkError, route: Route) -> Verdict {
        let outcome = defaultOutcome(of: error)
        var verdict = Verdict(outcome: outcome, rule: .error(error, default: outcome))
        if error != .cancelled, let override = route.classify.last(where: { $0.match == .error(error) }) {
            verdict = Verdict(outcome: override.outcome, rule: .overridden(override))
        }
        verdict.error = error
        return verdict
    }

    /// Statuses with a meaning of their own; the ranges stand for all others.
    private static let singleStatuses: [Outcome: [Int]] = [
        .held: [401, 403, 407],
        // 409 is deferred because every request carries our idempotency key: the server may still be at the first one.
        .deferred: [408, 409, 421, 423, 425, 429],
        .failed: [501, 505],
    ]

    private static let statusRanges: [(range: ClosedRange<Int>, outcome: Outcome)] = [
        // An interim answer that was never followed by a final one.
        (100...199, .deferred),
        (200...299, .delivered),
        // Redirects are not followed: where the requests should go is for a person to say.
        (300...399, .held),
        // Also those that nobody has assigned: the server blames the request (RFC 9110 §15).
        (400...499, .failed),
        (500...599, .deferred),
    ]

    private static func defaultOutcome(ofStatus status: Int) -> (ClosedRange<Int>, Outcome) {
        for (outcome, statuses) in singleStatuses where statuses.contains(status) { return (status...status, outcome) }
        // Outside 100–599 nothing is HTTP: a server error (RFC 9110 §15).
        return statusRanges.first { $0.range.contains(status) } ?? (status...status, .deferred)
    }

    private static func defaultOutcome(of error: NetworkError) -> Outcome {
        switch error {
        case .dns, .refused, .unreachable, .connectTimeout, .timeout, .deadline, .reset, .emptyAnswer, .truncated,
            .malformedAnswer, .proxy, .offline, .agentDied, .cancelled, .other:
            .deferred
        case .tls: .held
        case .badURL, .bodyFileChanged: .failed
        }
    }

    private static func mostSpecific(of overrides: [ClassificationOverride]) -> ClassificationOverride? {
        var best: (width: Int, override: ClassificationOverride)?
        for override in overrides {
            guard case .statuses(let range) = override.match else { continue }
            if range.count <= best?.width ?? .max { best = (range.count, override) }
        }
        return best?.override
    }
}

extension ClassificationOverride.Match: CustomStringConvertible {
    /// `404`, `500-599`, the name of a network error or a canonical status (`NOT_FOUND`), as a configuration writes it;
    /// `nil` for anything else, for a status outside 100–599, and for `cancelled`, which no answer can mean.
    package init?(_ text: some StringProtocol) {
        if let error = NetworkError(rawValue: String(text)) {
            guard error != .cancelled else { return nil }
            self = .error(error)
            return
        }
        if let canonical = CanonicalStatus(rawValue: String(text)) {
            self = .canonical(canonical)
            return
        }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard (1...2).contains(ends.count), ends.allSatisfy({ $0.utf8.count == 3 && $0.utf8.first != 0x2B }),
            let first = Int(ends[0]), let last = Int(ends[ends.count - 1]),
            first <= last, first >= 100, last <= 599
        else { return nil }
        self = .statuses(first...last)
    }

    package var description: String {
        switch self {
        case .statuses(let range): range.shortDescription
        case .error(let error): error.rawValue
        case .canonical(let canonical): canonical.rawValue
        }
    }
}

extension ClosedRange<Int> {
    /// `404` or `500-599`.
    var shortDescription: String {
        lowerBound == upperBound ? "\(lowerBound)" : "\(lowerBound)-\(upperBound)"
    }
}

extension Outcome {
    /// `deliver`, `defer`, `hold` or `fail`: the word of a configuration.
    package init?(verb: some StringProtocol) {
        guard let outcome = Outcome.allCases.first(where: { $0.verb == verb }) else { return nil }
        self = outcome
    }

    package var verb: String {
        switch self {
        case .delivered: "deliver"
        case .deferred: "defer"
        case .held: "hold"
        case .failed: "fail"
        }
    }
}
