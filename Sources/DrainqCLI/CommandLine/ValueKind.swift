package import Policy

/// The kind of an option's value: gives documents its placeholder and completions their candidates.
package enum ValueKind: Hashable, Sendable {
    case flag
    case text(String)
    /// A JSON Pointer (RFC 6901).
    case pointer
    case file(String)
    case directory(String)
    case count(ClosedRange<Int>)
    /// A count, or the given word.
    case countOr(String, ClosedRange<Int>)
    case duration
    case interval
    case time
    case choice([String])
    case typeName
    /// A type or a key, or a template that makes one from each payload.
    case template(TemplateUse, String)
    case destination
    case operationID
    case header
    case rate
    /// A status or an error, see `AnswerPattern`.
    case answer
    /// A service of `drainq init --example`.
    case example

    /// Whether the value is a path, which may be bytes that are not text.
    var takesAnyBytes: Bool {
        switch self {
        case .file, .directory: true
        default: false
        }
    }

    /// The word that stands for the value; `nil` for a flag.
    package var placeholder: String? {
        switch self {
        case .flag: nil
        case .text(let word), .file(let word), .directory(let word): word
        case .pointer: "POINTER"
        case .count: "N"
        case .countOr(let word, _): "N|\(word)"
        case .duration, .interval: "D"
        case .time: "TIME"
        case .choice(let words): words.joined(separator: "|")
        case .typeName: "TYPE"
        case .template(_, let word): word
        case .destination: "DESTINATION"
        case .operationID: "ID"
        case .header: "HEADER"
        case .rate: "N/s"
        case .answer: "STATUS|ERROR"
        case .example: "NAME"
        }
    }
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
