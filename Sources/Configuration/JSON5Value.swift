import Policy

/// A position in a text, counted from 1. Columns are Unicode scalars, as in most editors.
struct SourcePosition: Hashable, Comparable, Sendable {
    var line: Int
    var column: Int

    static func < (left: SourcePosition, right: SourcePosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A value of a JSON5 text, and its position.
struct JSON5Value: Hashable, Sendable {
    indirect enum Content: Hashable, Sendable {
        case null
        case boolean(Bool)
        /// As written: `1.10`, `0x1F`, `Infinity`.
        case number(String)
        case string(String)
        case array([JSON5Value])
        /// In the order of the text, with repeated names.
        case object([Member])
    }

    struct Member: Hashable, Sendable {
        var name: String
        /// The position of the name.
        var position: SourcePosition
        var value: JSON5Value
    }

    var position: SourcePosition
    var content: Content

    var isNull: Bool { content == .null }

    var string: String? {
        if case .string(let text) = content { text } else { nil }
    }

    var number: String? {
        if case .number(let text) = content { text } else { nil }
    }

    /// A whole number, decimal or hexadecimal.
    var integer: Int? {
        guard let number else { return nil }
        let isNegative = number.begins(with: "-")
        let digits = isNegative || number.begins(with: "+") ? number.dropFirst() : number[...]
        guard digits.begins(with: "0x") || digits.begins(with: "0X") else { return Int(number) }
        return Int((isNegative ? "-" : "") + digits.dropFirst(2), radix: 16)
    }

    /// The value in a message: a text in single quotes, a list or an object by its kind.
    var quoted: String {
        switch content {
        case .null: "null"
        case .boolean(let truth): "\(truth)"
        case .number(let text): text
        case .string(let text): quote(text)
        case .array: "a list"
        case .object: "an object"
        }
    }
}

/// Returns the user's text in single quotes, cut after 60 characters. The message's printer escapes control characters.
func quote(_ text: String) -> String {
    text.unicodeScalars.count > 60 ? "'\(String(text.unicodeScalars.prefix(60)))…'" : "'\(text)'"
}
