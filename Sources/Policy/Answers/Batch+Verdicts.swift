extension Batch {
    /// One verdict a member, in their order, where the route says how answers speak of each; else `nil`:
    /// `Classification.verdict` is for all of them, and so it is of an answer that is no delivery as a whole.
    ///
    /// The rules of the route see the whole answer first. Where that is a delivery they see each element as the answer to
    /// one operation, with a status of its own. Where it is not clear which element is about which operation, all are
    /// deferred. `members` are the operations of the request, in its order.
    package func verdicts(
        on report: SealedReport, members: [OperationID], route: Route, now: Timestamp
    ) -> [Verdict]? {
        guard let results, case .answer(let answer) = report.original.result else { return nil }
        let whole = Classification.verdict(on: report, route: route, now: now)
        if whole.outcome != .delivered { return nil }
        func verdict(_ outcome: Outcome, _ rule: Rule) -> Verdict {
            var verdict = whole.becoming(outcome, rule: rule)
            verdict.retryAfter = whole.retryAfter
            return verdict
        }
        guard let document = try? JSONDocument(answer.body),
            let elements = results.elements(of: document, about: members)
        else {
            let rule = Rule.misaligned(results, members: members.count)
            return Array(repeating: verdict(.deferred, rule), count: members.count)
        }
        let rules = route.answerRules(of: results)
        return elements.map { element in
            guard let element else {
                return verdict(results.listsFailures ? .delivered : .deferred, .unlisted(results))
            }
            let status = results.status.map { element.value(at: $0)?.statusNumber ?? AnswerRule.noStatus }
            var judged = JudgedAnswer(element, status: status ?? answer.status, of: answer, in: report)
            var verdict = Classification.verdict(on: &judged, by: rules, route: route, now: now)
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
}

extension Batch.Results {
    /// The element about each member, in their order, and `nil` for one that the answer does not name. `nil` as a whole
    /// where it is not clear which element is about which member.
    fileprivate func elements(of document: JSONDocument, about members: [OperationID]) -> [JSONDocument?]? {
        guard let list = list(in: document) else { return nil }
        guard let match else { return list.count == members.count ? list : nil }
        let places = Dictionary(
            members.enumerated().map { ($1.description, $0) }, uniquingKeysWith: { first, _ in first })
        var found = [JSONDocument?](repeating: nil, count: members.count)
        for element in list {
            guard let name = element.value(at: match), let place = name.text.map({ places[$0] }) ?? name.place,
                members.indices.contains(place), found[place] == nil
            else { return nil }
            found[place] = element
        }
        return found
    }

    /// A list of failures may be left out where there is none.
    private func list(in document: JSONDocument) -> [JSONDocument]? {
        if listsFailures, document.isObject, [nil, .null].contains(document.value(at: pointer)) { return [] }
        return document.elements(at: pointer)
    }

    /// The operations of a batch of at most `most` that this may be the answer to, as far as it names them: the others have
    /// made-up ids. There is one at least.
    package func members(in answer: AttemptReport.Answer, most: Int) -> [OperationID] {
        let list = (try? JSONDocument(answer.body)).flatMap { self.list(in: $0) } ?? []
        let names = list.compactMap { element in match.flatMap { element.value(at: $0) } }
        let named = names.compactMap { $0.text.flatMap { OperationID($0) } }
        let last = match == nil ? list.count - 1 : names.compactMap(\.place).filter { $0 < most }.max() ?? -1
        let count = named.isEmpty ? max(1, last + 1) : last + 1
        return named + (0..<min(count, most)).compactMap { OperationID("\($0)") }
    }

    /// Returns why an answer does not fit a batch of so many members.
    func defect(of members: Int) -> String {
        let place = "at '\(escapedForDisplay(pointer.description))'"
        guard let match else { return "no array of \(members) \(place)" }
        return "no array \(place) that names the operations at '\(escapedForDisplay(match.description))'"
    }
}

extension JSONValue {
    /// 200, 200.0 or "200".
    fileprivate var statusNumber: Int? {
        (100...599).first { self == .number("\($0)") || self == .string("\($0)") }
    }

    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }

    /// A whole number from 0, as a place is written.
    fileprivate var place: Int? {
        guard case .number(let text) = self, let number = Int(text), number >= 0 else { return nil }
        return number
    }
}
