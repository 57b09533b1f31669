/// The meaning of the results of attempts, as a `Verdict`. No other code decides it.
package enum Classification {
    /// Returns the verdict on the report, on this route. `now` is the moment of the answer, for a time without a Date.
    ///
    /// The route's first matching rule decides; if none matches, the defaults decide. No rule can override the meaning
    /// of an attempt that this program ended itself. `mayHaveArrived`: whether an earlier request of the operation may
    /// have arrived (`Operation.mayHaveArrived`).
    package static func verdict(
        on report: SealedReport, route: Route, mayHaveArrived: Bool = false, now: Timestamp
    ) -> Verdict {
        switch report.original.result {
        case .answer(let answer):
            var judged = JudgedAnswer(answer, in: report, limit: route.answerLimit, mayHaveArrived: mayHaveArrived)
            let rules = route.answerRules(saying: route.protocol == .callable ? judged.word : nil)
            return verdict(on: &judged, by: rules, route: route, now: now)
        case .failure(let error, _):
            var verdict = verdict(on: error, route: route)
            verdict.isUnread = report.original.isUnread
            return verdict
        }
    }

    /// Returns the verdict by these rules on a whole answer, or on its element for one operation of a batch.
    static func verdict(
        on answer: inout JudgedAnswer, by rules: [AnswerRule], route: Route, now: Timestamp
    ) -> Verdict {
        var match = match(&answer, by: rules)
        // The code of a callable function may be in the cut part.
        if route.protocol == .callable, answer.isCut, answer.document == nil { match.isCut = true }
        var verdict = Verdict(outcome: match.rule.outcome, rule: .answer(match), isRateLimited: answer.status == 429)
        verdict.status = answer.status
        if route.protocol == .callable {
            verdict.canonical = answer.word
            if answer.word == .resourceExhausted { verdict.isRateLimited = true }
        }
        verdict.retryAfter = RetryAfter.asked(by: answer.head, now: now)
        if let wait = match.rule.until?.wait(in: &answer, now: now) {
            verdict.retryAfter = wait
            if wait > .zero { verdict.isRateLimited = true }
        }
        return verdict
    }

    private static func match(_ answer: inout JudgedAnswer, by rules: [AnswerRule]) -> RuleMatch {
        var isCut = false
        for rule in rules where rule.covers(status: answer.status) {
            switch rule.asks(&answer) {
            case .matches(let objection):
                return RuleMatch(rule: rule, end: .status(answer.status), objection: objection, isCut: isCut)
            case .cut: isCut = true
            case .differs: break
            }
        }
        return RuleMatch(rule: .standard(answer.status), end: .status(answer.status), isCut: isCut)
    }

    /// Returns the verdict on a status without the rest of its answer, by the rules that have no other condition.
    package static func verdict(onStatus status: Int, route: Route) -> Verdict {
        let own = route.answerRules().first { $0.content.isEmpty && $0.covers(status: status) }
        let rule = own ?? .standard(status)
        var verdict = Verdict(
            outcome: rule.outcome, rule: .answer(RuleMatch(rule: rule, end: .status(status))),
            isRateLimited: status == 429)
        verdict.status = status
        return verdict
    }

    package static func verdict(on error: NetworkError, route: Route) -> Verdict {
        let own = error == .cancelled ? nil : route.answerRules().first { $0.covers(error) }
        let rule = own ?? .standard(error)
        var verdict = Verdict(outcome: rule.outcome, rule: .answer(RuleMatch(rule: rule, end: .error(error))))
        verdict.error = error
        return verdict
    }
}

/// The rule that matched the end of an attempt, and the reason why it matched.
package struct RuleMatch: Hashable, Sendable {
    package enum End: Hashable, Sendable {
        case status(Int)
        case error(NetworkError)
    }

    package var rule: AnswerRule
    /// The end of the attempt.
    package var end: End
    /// The condition that the answer did not meet, if the rule matches answers that do not meet its content.
    package var objection: AnswerContent.Objection?
    /// Whether an earlier rule could not be checked because the body is cut.
    package var isCut = false

    /// Whether another server may have answered, such as a captive portal.
    var mayBeFromAnotherServer: Bool {
        switch rule.origin {
        case .callable(nil): objection != .cut
        case .accept: objection?.mayBeFromAnotherServer ?? false
        case .answers, .classify, .callable, .results, .standard: false
        }
    }

    /// Whether the rule matched the content of the body, which shows that the server itself answered.
    var sawTheServer: Bool { rule.sense == .meets && rule.content.looksIntoBody }

    /// Whether a rule of `answers` matched the content of the body.
    var isOfAnswersWords: Bool {
        if case .answers = rule.origin { sawTheServer } else { false }
    }
}

extension RuleMatch: CustomStringConvertible {
    package var description: String {
        words + (isCut && objection != .cut ? "; \(AnswerContent.Objection.cut): no rule looks into its body" : "")
    }

    private var words: String {
        let verb = rule.outcome.verb
        switch rule.origin {
        case .standard:
            switch (end, rule.subject) {
            case (.status(let status), .statuses(let ranges?)):
                return "status \(status): default \(ranges[0].shortDescription) \(verb)s"
            case (.status(let status), _): return "status \(status): default \(verb)s"
            case (.error(let error), _): return "error \(error.rawValue): default \(verb)s"
            }
        case .accept: return "accept: \(objection.map { "\($0)" } ?? ""): \(verb)s"
        case .callable(nil) where objection == .cut: return "callable: \(AnswerContent.Objection.cut): \(verb)s"
        case .callable(nil): return "callable: neither 'result' nor a known 'error.status' in the answer: \(verb)s"
        case .results(.error):
            guard case .condition(_, let found?) = objection else { return "an error: \(verb)s" }
            return "error \(found): \(verb)s"
        case .results(.noStatus(let pointer)):
            return "no status at '\(escapedForDisplay(pointer.description))': \(verb)s"
        case .results(.noError): return "no error: \(verb)s"
        case .results(.listed): return "listed as failed: \(verb)s"
        case .answers, .classify, .callable: return rule.description
        }
    }
}

extension Outcome {
    package var verb: String {
        switch self {
        case .delivered: "deliver"
        case .deferred: "defer"
        case .held: "hold"
        case .failed: "fail"
        }
    }
}
