import Policy

extension ClassificationOverride {
    /// The outcomes as the configuration writes them.
    static let outcomes: [(word: String, outcome: Outcome)] = [
        ("deliver", .delivered), ("defer", .deferred), ("hold", .held), ("fail", .failed),
    ]

    /// Applied to the overrides a route inherits: one of the same answers takes the place of the inherited one.
    static func apply(_ changes: [ClassificationOverride], to overrides: inout [ClassificationOverride]) {
        for change in changes {
            overrides.removeAll { $0.match == change.match }
            overrides.append(change)
        }
    }
}

extension ClassificationOverride.Match {
    /// Reads `404`, `500-599` and the names of `NetworkError`.
    init?(configured text: String) {
        if let error = NetworkError(rawValue: text) {
            self = .error(error)
            return
        }
        let bounds = text.split(separator: "-", omittingEmptySubsequences: false).map { part in
            part.utf8.count == 3 && part.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(part) : nil
        }
        guard (1...2).contains(bounds.count), let lower = bounds.first ?? nil, let upper = bounds.last ?? nil,
            lower <= upper, (100...599).contains(lower), (100...599).contains(upper)
        else { return nil }
        self = .statuses(lower...upper)
    }
}

extension ConfigurationValue<[ClassificationOverride]> {
    static let classify = ConfigurationValue("outcomes") { value, findings in
        findings.members(of: value, hint: "outcomes are written { \"404\": \"defer\", tls: \"hold\" }").map { members in
            members.compactMap { member in findings.within(member.name) { override(member, &$0) } }
        }
    }

    private static func override(
        _ member: JSON5Value.Member, _ findings: inout ConfigurationFindings
    ) -> ClassificationOverride? {
        let match = ClassificationOverride.Match(configured: member.name)
        if match == nil {
            let errors = NetworkError.allCases.map(\.rawValue)
            findings.add(
                "\(quote(member.name)) is neither a status, a range of statuses nor an error", at: member.position,
                hint: didYouMean(member.name, among: errors)
                    ?? "write \"404\", \"500-599\", or one of \(errors.joined(separator: ", "))")
        }
        guard let outcome = ClassificationOverride.outcomes.first(where: { $0.word == member.value.string })?.outcome
        else {
            findings.addUnlisted(member.value, words: ClassificationOverride.outcomes.map(\.word))
            return nil
        }
        return match.map { ClassificationOverride(match: $0, outcome: outcome) }
    }
}
