extension Route {
    /// Returns the route's rules for whole answers, in the order in which they are tried. The defaults come after them.
    ///
    /// `answers` comes first, then `classify`: the code in the answer of a callable function, then the status, the
    /// narrowest line first. The default of the code, `protocol` and `accept` judge the answers that no line judges.
    /// `word` is that code: rules about other codes cannot match, and are left out.
    func answerRules(saying word: CanonicalStatus? = nil) -> [AnswerRule] {
        if answers.isEmpty, classify.isEmpty, accept == nil, `protocol` == .plain { return [] }
        let lines = narrowestFirst
        let words = lines.filter { line in word.map { line.origin == .classify(.canonical($0)) } ?? false }
        return answers + words + lines.filter { !$0.isOfWord } + (word.map { [$0.rule] } ?? []) + acceptance
    }

    /// The rules of `protocol` and `accept`, which a 2xx must pass to be a delivery by default.
    private var acceptance: [AnswerRule] {
        (`protocol` == .callable ? [CanonicalStatus.unrecognisedAnswerRule] : []) + (accept.map { [$0] } ?? [])
    }

    /// Returns the rules of `protocol` and `accept` that cover this status.
    package func acceptance(ofStatus status: Int) -> [AnswerRule] {
        acceptance.filter { $0.covers(status: status) }
    }

    /// Returns the rules for the elements of an answer that are about one operation each, in the order in which they
    /// are tried. A line of `classify` about 2xx cannot deliver an element that the results call a failure.
    func answerRules(of results: Batch.Results) -> [AnswerRule] {
        // An element with a status of its own is judged by its other members only if that status is 2xx or missing.
        let none = AnswerRule.noStatus...AnswerRule.noStatus
        func subject(_ ranges: [ClosedRange<Int>]) -> AnswerRule.Subject {
            .statuses(results.status == nil ? nil : ranges)
        }
        var rules = answers
        if let error = results.error {
            let content = AnswerContent(json: [JSONCondition(pointer: error, test: .unset)])
            rules.append(
                AnswerRule(
                    .results(.error), subject([none, AnswerRule.success]), content: content, sense: .fails, .failed))
        }
        if let status = results.status {
            rules.append(AnswerRule(.results(.noStatus(status)), .statuses([none]), .deferred))
        }
        if results.listsFailures {
            rules.append(AnswerRule(.results(.listed), subject([AnswerRule.success]), .failed))
        } else if results.status == nil {
            rules.append(AnswerRule(.results(.noError), .statuses(nil), .delivered))
        }
        return rules + narrowestFirst.filter { !$0.isOfWord }
    }

    /// The lines of `classify`, the narrowest first, and of equally narrow ones the last first.
    private var narrowestFirst: [AnswerRule] {
        classify.enumerated().sorted { left, right in
            (left.element.width, -left.offset) < (right.element.width, -right.offset)
        }.map(\.element)
    }
}

extension AnswerRule {
    /// The status of an element that should have one and has none.
    static let noStatus = 0

    fileprivate var isOfWord: Bool {
        if case .classify(.canonical) = origin { true } else { false }
    }

    /// The width of the pattern: the narrowest line of `classify` goes first.
    fileprivate var width: Int {
        if case .classify(let pattern) = origin { pattern.width } else { 0 }
    }
}
