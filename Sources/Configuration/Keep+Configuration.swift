import Policy

extension ConfigurationValue<[String: AnswerPlace]> {
    /// Places in an answer, by the names under which their values are kept.
    static let keep = ConfigurationValue("places by name", .map(.text(pattern: "."))) { value, findings in
        let hint = "values are kept by name: { noteId: \"/id\" }"
        guard let members = findings.members(of: value, hint: hint) else { return nil }
        if members.count > KeptValue.mostOfRoute {
            findings.add("more than \(KeptValue.mostOfRoute) values are kept", at: value.position, hint: hint)
        }
        var places: [String: AnswerPlace] = [:]
        for member in members {
            findings.within(member.name) { findings in
                if !KeptValue.isName(member.name) {
                    findings.add(
                        "\(quote(member.name)) is not a name", at: member.position,
                        hint: "a name is 1 to 64 of A-Z a-z 0-9 _ and -")
                }
                places[member.name] = ConfigurationValue<AnswerPlace>.answerPlace.read(member.value, &findings)
            }
        }
        return places
    }
}
