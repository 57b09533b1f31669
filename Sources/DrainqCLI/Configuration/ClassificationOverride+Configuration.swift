import Policy

extension ClassificationOverride {
    /// Applied to the overrides a route inherits: one of the same answers takes the place of the inherited one.
    static func apply(_ changes: [ClassificationOverride], to overrides: inout [ClassificationOverride]) {
        for change in changes {
            overrides.removeAll { $0.match == change.match }
            overrides.append(change)
        }
    }
}

extension ClassificationOverride.Match {
    /// Everything an answer can be called but its status.
    static let errorNames =
        NetworkError.allCases.map(\.rawValue).filter { Self($0) != nil } + CanonicalStatus.allCases.map(\.rawValue)

    /// Those that the route can meet.
    static func errorNames(on route: Route) -> [String] {
        switch route.protocol {
        case .callable: errorNames
        case .plain: errorNames.filter { CanonicalStatus(rawValue: $0) == nil }
        }
    }
}

extension ConfigurationValue<[ClassificationOverride]> {
    static let classify = ConfigurationValue(
        "outcomes", .map(.words(Outcome.allCases.map(\.verb)))
    ) { value, findings in
        findings.members(of: value, hint: "outcomes are written { \"404\": \"defer\", tls: \"hold\" }").map { members in
            members.compactMap { member in findings.within(member.name) { override(member, &$0) } }
        }
    }

    private static func override(
        _ member: JSON5Value.Member, _ findings: inout ConfigurationFindings
    ) -> ClassificationOverride? {
        let match = ClassificationOverride.Match(member.name)
        if match == nil {
            let errors = ClassificationOverride.Match.errorNames
            findings.add(
                "\(quote(member.name)) is neither a status, a range of statuses nor an error", at: member.position,
                hint: didYouMean(member.name, among: errors)
                    ?? "write \"404\", \"500-599\", or one of \(errors.joined(separator: ", "))")
        }
        guard let outcome = member.value.string.flatMap({ Outcome(verb: $0) }) else {
            findings.addUnlisted(member.value, words: Outcome.allCases.map(\.verb))
            return nil
        }
        return match.map { ClassificationOverride(match: $0, outcome: outcome) }
    }
}
