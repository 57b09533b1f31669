import Policy

/// A member of a route's `headers`: a field to send, or the removal of an inherited field.
struct HeaderChange: Hashable, Sendable {
    var name: String
    /// The field's value; `nil` removes the field.
    var value: String?

    /// Applies changes to the fields that a route inherits. A name occurs once, compared without case (RFC 9110 §5.1).
    static func apply(_ changes: [HeaderChange], to fields: inout [HeaderField]) {
        for change in changes {
            fields.removeAll { $0.name.lowercased() == change.name.lowercased() }
            if let value = change.value { fields.append(HeaderField(name: change.name, value: value)) }
        }
    }
}

extension ConfigurationValue<[HeaderChange]> {
    static let headers = ConfigurationValue("header fields", .map(.oneOf([.text(), .null]))) { value, findings in
        findings.members(of: value, hint: "headers are written { Name: \"value\" }").map { members in
            var seen: [String: String] = [:]
            return members.compactMap { member in
                findings.within(member.name) { findings in
                    if let earlier = seen.updateValue(member.name, forKey: member.name.lowercased()) {
                        findings.add(
                            "this field is written twice", at: member.position,
                            hint: "case makes no difference: '\(earlier)' is the same field")
                    }
                    return change(member, &findings)
                }
            }
        }
    }

    private static func change(_ member: JSON5Value.Member, _ findings: inout ConfigurationFindings) -> HeaderChange? {
        // With a valid value, only the name can be wrong.
        switch HeaderField(name: member.name, value: "").defect {
        case .name:
            findings.addBadHeaderName(member.name, at: member.position)
            return nil
        case .reserved, .value:
            return findings.refuse(
                "this header cannot be set", at: member.position,
                hint: "drainq writes it for each request, from the URL, the body and the operation")
        case nil: break
        }
        if member.value.isNull { return HeaderChange(name: member.name) }
        let position = member.value.position
        guard let text = member.value.string else {
            return findings.refuse(member.value, "is not text", hint: "header values are text in quotes")
        }
        guard text.utf8.allSatisfy({ $0 == 0x09 || (0x20...0x7E).contains($0) }) else {
            return findings.refuse(
                "the value has a line break, a control character or a letter that is not ASCII", at: position,
                hint: "header values are printable ASCII")
        }
        if text.first == " " || text.first == "\t" || text.last == " " || text.last == "\t" {
            return findings.refuse(
                "the value begins or ends with a space", at: position, hint: "servers ignore it: remove it")
        }
        if !findings.check(text, as: .header, at: position) { return nil }
        return HeaderChange(name: member.name, value: text)
    }
}
