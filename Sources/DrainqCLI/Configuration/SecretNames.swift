import Policy

/// Whether secrets and destinations may be called so: as types are, so that a name fits everywhere.
func isName(_ text: String) -> Bool {
    TypeName(text) != nil
}

extension ConfigurationFindings {
    /// Notes the secrets that the text names; false, and a finding, where a `${` in it names none.
    @discardableResult
    mutating func mentionSecrets(of text: String, at position: SourcePosition) -> Bool {
        if let problem = SecretText.problem(in: text) {
            add(problem.reason, at: position, hint: problem.hint)
            return false
        }
        for name in SecretText(text).names { mention(.secret, name, at: position) }
        return true
    }
}

extension ConfigurationValue<String> {
    /// A text that may have secrets in it.
    static let secretText = ConfigurationValue("text", .text()) { value, findings in
        guard let text = plainText.read(value, &findings) else { return nil }
        return findings.mentionSecrets(of: text, at: value.position) ? text : nil
    }
}
