import Policy

/// A rule of `answers` as written.
struct AnswerDraft: Hashable, Sendable {
    var statuses: AnswerRule.Subject?
    var errors: AnswerRule.Subject?
    var content = AnswerContent()
    var outcome = Outcome.deferred
    var until: AnswerLimit?
}

extension ConfigurationValue<[AnswerRule]> {
    /// The rules of `answers`, in their order. The list may be empty.
    static let answers = ConfigurationValue(
        "list of rules", .list(.object(of: ConfigurationKeys.answer), atLeast: 0)
    ) { value, findings in
        guard case .array(let elements) = value.content else {
            return findings.refuse(
                value, "is not a list of rules", hint: "rules are written [{ status: 409, is: \"deliver\" }]")
        }
        var rules: [AnswerRule] = []
        var isWhole = true
        for (index, element) in elements.enumerated() {
            guard let rule = rule(element, index, &findings) else {
                isWhole = false
                continue
            }
            if let earlier = rule.ruleBefore(in: rules) {
                findings.add(
                    "this rule never decides: the rules up to line \(earlier.line.number) match the same answers",
                    at: element.position, hint: "the first rule that matches decides: write the narrower one first")
                isWhole = false
            }
            rules.append(rule)
        }
        return isWhole ? rules : nil
    }

    private static func rule(
        _ value: JSON5Value, _ index: Int, _ findings: inout ConfigurationFindings
    ) -> AnswerRule? {
        ConfigurationValue<AnswerDraft>.object(
            "rule", of: ConfigurationKeys.answer, from: AnswerDraft(), finish: { draft, _, _ in draft }
        ).read(value, &findings).flatMap { draft in
            if let (reason, hint) = draft.problem {
                return findings.refuse(reason, at: value.position, hint: hint)
            }
            return AnswerRule(
                .answers(index), line: SourceLine(value.position.line),
                draft.errors ?? draft.statuses ?? .statuses(nil),
                content: draft.content, draft.outcome, until: draft.until)
        }
    }

    static let classify = ConfigurationValue(
        "outcomes", .map(.words(Outcome.allCases.map(\.verb)))
    ) { value, findings in
        findings.members(of: value, hint: "outcomes are written { \"404\": \"defer\", tls: \"hold\" }").map { members in
            var seen: [AnswerRule.Origin: (name: String, outcome: Outcome)] = [:]
            return members.compactMap { member in
                findings.within(member.name) { findings in
                    let rule = line(member, &findings)
                    guard let rule else { return nil }
                    let rival = seen.first { $0.key.isRival(of: rule.origin) && $0.value.outcome != rule.outcome }
                    if let earlier = seen.updateValue((member.name, rule.outcome), forKey: rule.origin) {
                        findings.add(
                            "this line is written twice", at: member.position,
                            hint: "\(quote(earlier.name)) means the same answers")
                    } else if let rival {
                        findings.add(
                            "\(quote(rival.value.name)) has some of these answers too, and neither line is the narrower",
                            at: member.position, hint: "write lines that have no answer in common")
                    }
                    return rule
                }
            }
        }
    }

    private static func line(_ member: JSON5Value.Member, _ findings: inout ConfigurationFindings) -> AnswerRule? {
        let pattern = AnswerPattern(member.name)
        if pattern == nil {
            findings.add(
                "\(quote(member.name)) is neither a status, a range of statuses nor an error", at: member.position,
                hint: didYouMean(member.name, among: AnswerPattern.errorNames)
                    ?? "write \"404\", \"500-599\", \"5xx\", or one of \(AnswerPattern.errorNames.joined(separator: ", "))"
            )
        }
        guard let outcome = ConfigurationValue<Outcome>.outcome.read(member.value, &findings) else { return nil }
        return pattern.map { .classify($0, outcome: outcome, line: SourceLine(member.position.line)) }
    }
}

extension AnswerRule {
    /// Applies lines of `classify` to inherited ones. A line replaces an inherited one for the same answers.
    static func apply(_ changes: [AnswerRule], to lines: inout [AnswerRule]) {
        for change in changes {
            lines.removeAll { $0.origin == change.origin }
            lines.append(change)
        }
    }
}

extension AnswerDraft {
    /// The reason why the draft is no rule; `nil` if it is one.
    fileprivate var problem: (reason: String, hint: String)? {
        if statuses == nil, errors == nil, content.isEmpty {
            return ("this rule has no condition", "give it a status, which may be \"any\", or an error")
        }
        if errors != nil, statuses != nil || !content.isEmpty || until != nil {
            return (
                "a rule with 'error' cannot have 'until' or conditions on an answer",
                "write two rules, one for the error and one for the answer"
            )
        }
        if until != nil, outcome != .deferred, outcome != .delivered {
            return (
                "this rule has 'until', and neither defers nor delivers",
                "only such a rule may have 'until': write is: \"defer\" or is: \"deliver\""
            )
        }
        return nil
    }
}

extension ConfigurationValue<AnswerRule> {
    static let accept = ConfigurationValue(
        "rule", .object(of: ConfigurationKeys.accept), members: { ConfigurationKeys.accept.flatMap(\.entries) }
    ) { value, findings in
        let rule = object("rule", of: ConfigurationKeys.accept, from: .accept()) { rule, _, _ in rule }
        guard var rule = rule.read(value, &findings) else { return nil }
        rule.line = SourceLine(value.position.line)
        if !rule.content.isEmpty { return rule }
        return findings.refuse(
            "this rule has no condition", at: value.position,
            hint: "give it a contentType, or json: { pointer: \"/success\", equals: true }, or both")
    }
}
