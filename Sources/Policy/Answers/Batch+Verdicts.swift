extension Batch {
    /// Returns one verdict per member, in order. Returns `nil` if the route does not say how an answer speaks of each
    /// operation, or if the whole answer is not a delivery: then `Classification.verdict` holds for all members.
    ///
    /// The route's rules judge the whole answer first. If the whole answer is a delivery, they judge each element as
    /// the answer to one operation, with a status of its own. If it is not clear which element is about which
    /// operation, all are deferred. `members` are the operations of the request, in its order; `repeated` has those of
    /// which an earlier request may have arrived.
    package func verdicts(
        on report: SealedReport, members: [OperationID], repeated: Set<OperationID> = [], route: Route, now: Timestamp
    ) -> [Verdict]? {
        guard let results, case .answer(let answer) = report.original.result else { return nil }
        let whole = Classification.verdict(
            on: report, route: route, mayHaveArrived: members.allSatisfy(repeated.contains), now: now)
        if whole.outcome != .delivered { return nil }
        func verdict(_ outcome: Outcome, _ rule: Rule) -> Verdict {
            var verdict = whole.becoming(outcome, rule: rule)
            verdict.retryAfter = whole.retryAfter
            return verdict
        }
        var judged = JudgedAnswer(answer, in: report, limit: route.answerLimit)
        guard let elements = judged.document.flatMap({ results.elements(of: $0, about: members) }) else {
            let rule = Rule.misaligned(results, members: members.count, isCut: judged.isCut)
            return Array(repeating: verdict(.deferred, rule), count: members.count)
        }
        let rules = route.answerRules(of: results)
        return zip(members, elements).map { member, element in
            guard let element else {
                return verdict(results.listsFailures ? .delivered : .deferred, .unlisted(results))
            }
            let status = results.status.map { element.value(at: $0)?.statusNumber ?? AnswerRule.noStatus }
            var judged = JudgedAnswer(
                head: answer, status: status ?? answer.status, report: report,
                mayHaveArrived: repeated.contains(member), isCut: false, element: element)
            var verdict = Classification.verdict(on: &judged, by: rules, route: route, now: now)
            verdict.rule = .member(verdict.rule)
            verdict.excerpt = report.excerpt(of: element.bytes[element.range])
            if judged.status == AnswerRule.noStatus { verdict.status = answer.status }
            return verdict
        }
    }

    /// Returns whether the halves of a batch must be sent separately, to find the refused operation. A permanent
    /// failure of a batch charges none of its operations; a request of one operation is not split.
    package static func isToBeSplit(_ verdict: Verdict, members: Int) -> Bool {
        members > 1 && verdict.outcome == .failed
    }
}

extension Batch.Results {
    /// Returns the element about each member, in order, with `nil` for a member that the answer does not name. Returns
    /// `nil` if it is not clear which element is about which member.
    fileprivate func elements(of document: JSONDocument, about members: [OperationID]) -> [JSONDocument?]? {
        // A longer list has an element about no member, or two elements about the same member.
        guard let list = list(in: document, most: members.count) else { return nil }
        guard let match else { return list.count == members.count ? list : nil }
        let places = Dictionary(members.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        var found = [JSONDocument?](repeating: nil, count: members.count)
        for element in list {
            guard let name = element.value(at: match),
                let place = name.text.map({ OperationID($0).flatMap { places[$0] } }) ?? name.place,
                members.indices.contains(place), found[place] == nil
            else { return nil }
            found[place] = element
        }
        return found
    }

    /// Returns the list of results; `nil` without one of at most `most` elements. No list of failures is an empty one.
    private func list(in document: JSONDocument, most: Int = .max) -> [JSONDocument]? {
        if listsFailures, document.isObject, [nil, .null].contains(document.value(at: pointer)) { return [] }
        return document.elements(at: pointer, most: most)
    }

    /// Returns operations that this answer may be about, in a batch of at most `most`: operations named by id, and
    /// made-up ids for the others. Returns at least one, and no more than `most`.
    package func members(in answer: AttemptReport.Answer, most: Int) -> [OperationID] {
        let list = (try? JSONDocument(answer: answer.body)).flatMap { self.list(in: $0) } ?? []
        let names = list.compactMap { element in match.flatMap { element.value(at: $0) } }
        let named = names.compactMap { $0.text.flatMap { OperationID($0) } }
        let last = match == nil ? list.count - 1 : names.compactMap(\.place).filter { $0 < most }.max() ?? -1
        let count = named.isEmpty ? max(1, last + 1) : last + 1
        return Array((named + (0..<min(count, most)).compactMap { OperationID("\($0)") }).prefix(most))
    }

    /// Returns why an answer does not fit a batch of `members` operations.
    func defect(of members: Int) -> String {
        let place = "at '\(escapedForDisplay(pointer.description))'"
        guard let match else { return "no array of \(members) \(place)" }
        return "no array \(place) that names the operations at '\(escapedForDisplay(match.description))'"
    }
}

extension JSONValue {
    /// The status that 200, 200.0 or "200" stands for; `nil` for other values and outside 100–599. Reads the value
    /// once, because a server may send a number of any length.
    fileprivate var statusNumber: Int? {
        switch self {
        case .number(let text): JSONNumber(text).flatMap { Self.statuses[$0] }
        case .string(let text): text.utf8.count == 3 ? Int(text).flatMap { (100...599).contains($0) ? $0 : nil } : nil
        default: nil
        }
    }

    private static let statuses = Dictionary(
        uniqueKeysWithValues: (100...599).compactMap { status in JSONNumber("\(status)").map { ($0, status) } })

    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }

    /// The place in the request: a whole number from 0.
    fileprivate var place: Int? {
        guard case .number(let text) = self, let number = Int(text), number >= 0 else { return nil }
        return number
    }
}
