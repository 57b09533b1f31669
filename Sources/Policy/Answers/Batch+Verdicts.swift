extension Batch {
    /// One verdict a member, in their order, where the route says how answers speak of each; else `nil`:
    /// `Classification.verdict` is for all of them, and so it is of an answer that is no delivery as a whole.
    ///
    /// The rules of the route see the whole answer first. Where that is a delivery they see each element as the answer to
    /// one operation, with a status of its own. An array that is not there, or not as long as the batch, leaves open which
    /// were taken: all are deferred.
    package func verdicts(
        on report: SealedReport, members: Int, route: Route, now: Timestamp,
        retryAfterMax: Duration = RetryAfter.longest
    ) -> [Verdict]? {
        guard let results, case .answer(let answer) = report.original.result else { return nil }
        let whole = Classification.verdict(on: report, route: route, now: now, retryAfterMax: retryAfterMax)
        if whole.outcome != .delivered { return nil }
        guard let elements = (try? JSONDocument(answer.body))?.elements(at: results.pointer), elements.count == members
        else {
            var verdict = whole.becoming(.deferred, rule: .misaligned(results.pointer, members: members))
            verdict.retryAfter = whole.retryAfter
            return Array(repeating: verdict, count: members)
        }
        let rules = route.answerRules(of: results)
        return elements.map { element in
            let status = results.status.map { element.value(at: $0)?.statusNumber ?? AnswerRule.noStatus }
            var judged = JudgedAnswer(element, status: status ?? answer.status, of: answer, in: report)
            var verdict = Classification.verdict(on: &judged, by: rules, route: route, now: now, cap: retryAfterMax)
            verdict.rule = .member(verdict.rule)
            if judged.status == AnswerRule.noStatus { verdict.status = answer.status }
            return verdict
        }
    }

    /// Whether the halves of a batch are to be sent by themselves to find which of its operations is refused: none of
    /// them is charged for the batch's permanent failure, and one alone is what it is.
    package static func isToBeSplit(_ verdict: Verdict, members: Int) -> Bool {
        members > 1 && verdict.outcome == .failed
    }

    /// How many operations the answer speaks of; `nil` where it has no array in its place.
    package func count(in answer: AttemptReport.Answer) -> Int? {
        results.flatMap { (try? JSONDocument(answer.body))?.elements(at: $0.pointer)?.count }
    }
}

extension JSONValue {
    /// 200, 200.0 or "200".
    fileprivate var statusNumber: Int? {
        (100...599).first { self == .number("\($0)") || self == .string("\($0)") }
    }
}
