/// What a batch's answer says of one operation.
package indirect enum BatchResult: Hashable, Sendable, CustomStringConvertible {
    /// Its status, by the rule that an HTTP status would have met.
    case status(Rule)
    /// Its error, shown safely.
    case error(RedactedText)
    case noError
    /// The answer has no array at the pointer, or one of another length than the batch.
    case misaligned(JSONPointer, members: Int)
    /// Its element has no status where one belongs.
    case noStatus(JSONPointer)

    package var description: String {
        switch self {
        case .status(let rule): "\(rule)"
        case .error(let text): "error \(text): fails"
        case .noError: "no error: delivers"
        case .misaligned(let pointer, let members):
            "no array of \(members) at '\(escapedForDisplay(pointer.description))': defers"
        case .noStatus(let pointer): "no status at '\(escapedForDisplay(pointer.description))': defers"
        }
    }
}

extension Batch {
    /// One verdict a member, in their order, where the route says how answers speak of each; else `nil`:
    /// `Classification.verdict` is for all of them, and so it is of an answer that is no delivery as a whole.
    ///
    /// An array that is not there, or not as long as the batch, leaves open which were taken: all are deferred.
    package func verdicts(
        on report: SealedReport, members: Int, route: Route, now: Timestamp,
        retryAfterMax: Duration = RetryAfter.longest
    ) -> [Verdict]? {
        let whole = Classification.verdict(on: report, route: route, now: now, retryAfterMax: retryAfterMax)
        guard let results, whole.outcome == .delivered, case .answer(let answer) = report.original.result else {
            return nil
        }
        guard let elements = (try? JSONDocument(answer.body))?.elements(at: results.pointer), elements.count == members
        else {
            let rule = Rule.batchResult(.misaligned(results.pointer, members: members))
            var verdict = whole.becoming(.deferred, rule: rule)
            verdict.retryAfter = whole.retryAfter
            return Array(repeating: verdict, count: members)
        }
        return elements.map { element in
            var verdict = results.verdict(on: element, in: report, route: route)
            verdict.retryAfter = whole.retryAfter
            verdict.status = verdict.status ?? answer.status
            return verdict
        }
    }

    /// Whether the halves of a batch are to be sent by themselves to find which of its operations is refused: none of
    /// them is charged for the batch's permanent failure, and one alone is what it is.
    package static func isToBeSplit(_ verdict: Verdict, members: Int) -> Bool {
        members > 1 && verdict.outcome == .failed
    }
}

extension Batch.Results {
    fileprivate func verdict(on element: JSONDocument, in report: SealedReport, route: Route) -> Verdict {
        let failure = error.flatMap(element.value(at:)).flatMap { value -> RedactedText? in
            value == .null || value == .bool(false) ? nil : report.excerpt(of: value.description.utf8, limit: 80)
        }
        if let status {
            if let number = element.value(at: status)?.statusNumber {
                var verdict = Classification.verdict(onStatus: number, route: route)
                verdict.rule = .batchResult(.status(verdict.rule))
                if verdict.outcome != .delivered || failure == nil { return verdict }
            } else if failure == nil {
                return Verdict(outcome: .deferred, rule: .batchResult(.noStatus(status)))
            }
        }
        guard let failure else { return Verdict(outcome: .delivered, rule: .batchResult(.noError)) }
        return Verdict(outcome: .failed, rule: .batchResult(.error(failure)))
    }
}

extension JSONValue {
    /// 200, 200.0 or "200".
    fileprivate var statusNumber: Int? {
        (100...599).first { self == .number("\($0)") || self == .string("\($0)") }
    }
}
