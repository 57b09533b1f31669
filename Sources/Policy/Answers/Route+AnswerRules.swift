extension Route {
    /// Returns the route's rules for whole answers, in the order in which they are tried. The defaults come after them.
    ///
    /// `answers` comes first, then `classify`, the narrowest line first. On a callable route, lines about a code come
    /// before lines about a status, and these before the default of the code. A 2xx that would be a delivery must then
    /// agree with `protocol` and `accept`. `word` is the code in the answer of a callable function: rules about other
    /// codes cannot match, and are left out.
    func answerRules(saying word: CanonicalStatus? = nil) -> [AnswerRule] {
        if answers.isEmpty, classify.isEmpty, accept == nil, `protocol` == .plain { return [] }
        return rules(accepting: acceptance, saying: word)
    }

    /// The rules of `protocol` and `accept`, which a 2xx must pass to be a delivery.
    private var acceptance: [AnswerRule] {
        (`protocol` == .callable ? [CanonicalStatus.unrecognisedAnswerRule] : []) + (accept.map { [$0] } ?? [])
    }

    /// Returns the rules of `protocol` and `accept` that cover this status.
    package func acceptance(ofStatus status: Int) -> [AnswerRule] {
        acceptance.filter { $0.covers(status: status) }
    }

    /// Returns the rules for the elements of an answer that are about one operation each, in the same order.
    func answerRules(of results: Batch.Results) -> [AnswerRule] {
        var acceptance: [AnswerRule] = []
        let none = AnswerRule.noStatus...AnswerRule.noStatus
        if let error = results.error {
            let content = AnswerContent(json: [JSONCondition(pointer: error, test: .unset)])
            acceptance.append(
                AnswerRule(
                    .results(.error), .statuses([none, AnswerRule.success]), content: content, sense: .fails, .failed))
        }
        if let status = results.status {
            acceptance.append(AnswerRule(.results(.noStatus(status)), .statuses([none]), .deferred))
        }
        if results.listsFailures {
            acceptance.append(AnswerRule(.results(.listed), .statuses([AnswerRule.success]), .failed))
        } else if results.status == nil {
            acceptance.append(AnswerRule(.results(.noError), .statuses([AnswerRule.success]), .delivered))
        }
        return rules(accepting: acceptance)
    }

    /// Returns all rules in order. `acceptance` are rules that a 2xx must pass to be a delivery.
    private func rules(accepting acceptance: [AnswerRule], saying word: CanonicalStatus? = nil) -> [AnswerRule] {
        let lines = classify.enumerated().sorted { left, right in
            (left.element.width, -left.offset) < (right.element.width, -right.offset)
        }.map(\.element)
        let words = lines.filter { line in word.map { line.origin == .classify(.canonical($0)) } ?? false }
        let errors = lines.filter { if case .errors = $0.subject { true } else { false } }
        let statuses = lines.filter { line in !line.isOfWord && !errors.contains(line) }
        let successes = statuses.flatMap { line -> [AnswerRule] in
            guard let success = line.limited(to: [AnswerRule.success]) else { return [] }
            guard line.outcome == .delivered, case .statuses(let ranges?) = success.subject else { return [success] }
            return acceptance.compactMap { $0.limited(to: ranges) } + [success]
        }
        return answers + words + statuses.compactMap { $0.limited(to: AnswerRule.noSuccess) }
            + (word.map { [$0.rule] } ?? []) + successes + acceptance + errors
    }
}

extension AnswerRule {
    /// The status of an element that should have one and has none.
    static let noStatus = 0
    fileprivate static let noSuccess = [0...199, 300...999]

    fileprivate var isOfWord: Bool {
        if case .classify(.canonical) = origin { true } else { false }
    }

    /// The width of the pattern: the narrowest line of `classify` goes first.
    fileprivate var width: Int {
        if case .classify(let pattern) = origin { pattern.width } else { 0 }
    }
}
