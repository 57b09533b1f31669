import Policy

extension ConfigurationValue<AcceptRule> {
    static let accept = object("rule", of: ConfigurationKeys.accept, from: AcceptRule()) { rule, position, findings in
        if rule.contentType != nil || !rule.json.isEmpty { return rule }
        findings.add(
            "this rule asks nothing of an answer", at: position,
            hint: "it has a contentType, or json: { pointer: \"/success\", equals: true }, or both")
        return nil
    }
}

extension ConfigurationValue<String> {
    static let mediaType = ConfigurationValue(
        "media type", .text(), hint: "a media type is written application/json, without parameters"
    ) { value in
        guard let parts = value.string?.split(separator: "/", omittingEmptySubsequences: false), parts.count == 2,
            parts.allSatisfy({ HeaderField(name: String($0), value: "").defect != .name })
        else { return nil }
        return value.string
    }
}

extension ConfigurationValue<Outcome> {
    /// What an answer can be that is no delivery.
    static let refusal = ConfigurationValue(
        "outcome", .words(Outcome.allCases.filter { $0 != .delivered }.map(\.verb))
    ) { value, findings in
        let outcomes = Outcome.allCases.filter { $0 != .delivered }
        if let outcome = outcomes.first(where: { $0.verb == value.string }) { return outcome }
        findings.addUnlisted(value, words: outcomes.map(\.verb))
        return nil
    }
}
