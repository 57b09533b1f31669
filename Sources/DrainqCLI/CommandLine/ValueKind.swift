package import Policy

/// What documents and completions know of an option's value.
package struct ValueKind: Hashable, Sendable {
    static let flag = ValueKind()

    /// The word that stands for the value; `nil` for a flag.
    package var placeholder: String?
    var candidates = Completion.Candidates.none

    /// Whether the value is a path, which may be bytes that are not text.
    var takesAnyBytes: Bool { candidates == .files || candidates == .directories }
}

extension HeaderField {
    /// Reads `Name: value`. The name is a token (RFC 9110 §5.1); the trimmed value has no control characters but tabs.
    package init?(argument: String) {
        guard let colon = argument.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let (name, value) = (String(argument[..<colon]), argument.utf8[colon...].dropFirst().trimmedText)
        guard name.isToken, HeaderField.canSend(value: value) else { return nil }
        self.init(name: name, value: value)
    }
}
