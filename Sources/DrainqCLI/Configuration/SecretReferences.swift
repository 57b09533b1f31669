import Policy

/// `${secret:NAME}` in a text of the configuration.
enum SecretReferences {
    /// The names in the order of the text; `nil` where a `${` in it begins no such reference.
    static func names(in text: some StringProtocol) -> [String]? {
        var names: [String] = []
        var rest = Substring(text)
        while let start = rest.firstRange(of: "${") {
            rest = rest[start.upperBound...]
            guard let end = rest.firstIndex(of: "}"), let name = name(of: rest[..<end]) else { return nil }
            names.append(name)
            rest = rest[end...].dropFirst()
        }
        return names
    }

    /// The NAME of `secret:NAME`.
    static func name(of reference: some StringProtocol) -> String? {
        guard reference.hasPrefix("secret:") else { return nil }
        let name = String(reference.dropFirst("secret:".count))
        return isName(name) ? name : nil
    }
}

/// Whether secrets and destinations may be called so: as types are, so that a name fits everywhere.
func isName(_ text: String) -> Bool {
    TypeName(text) != nil
}

extension ConfigurationFindings {
    /// Notes the secrets that the text names; false, and a finding, where a `${` in it names none.
    @discardableResult
    mutating func mentionSecrets(of text: String, at position: SourcePosition) -> Bool {
        guard let names = SecretReferences.names(in: text) else {
            add("'${' begins no reference to a secret", at: position, hint: "a secret is written ${secret:NAME}")
            return false
        }
        for name in names { mention(.secret, name, at: position) }
        return true
    }
}

extension ConfigurationValue<String> {
    /// A text that may have secrets in it.
    static let secretText = ConfigurationValue("text") { value, findings in
        guard let text = plainText.read(value, &findings) else { return nil }
        return findings.mentionSecrets(of: text, at: value.position) ? text : nil
    }
}
