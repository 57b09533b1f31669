/// A place in a text, counted from 1; columns are Unicode scalars, as most editors show them.
struct SourcePosition: Hashable, Comparable, Sendable {
    var line: Int
    var column: Int

    static func < (left: SourcePosition, right: SourcePosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A value of a JSON5 text, and where it begins.
struct JSON5Value: Hashable, Sendable {
    indirect enum Content: Hashable, Sendable {
        case null
        case boolean(Bool)
        /// As it is written: `1.10`, `0x1F`, `Infinity`.
        case number(String)
        case string(String)
        case array([JSON5Value])
        /// In the order of the text, repeated names included.
        case object([Member])
    }

    struct Member: Hashable, Sendable {
        var name: String
        /// Where the name begins.
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
        let isNegative = number.hasPrefix("-")
        let digits = isNegative || number.hasPrefix("+") ? number.dropFirst() : number[...]
        guard digits.hasPrefix("0x") || digits.hasPrefix("0X") else { return Int(number) }
        return Int((isNegative ? "-" : "") + digits.dropFirst(2), radix: 16)
    }

    /// How a message names the value: a person's own text in single quotes, anything longer by what it is.
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

/// A person's text in single quotes, cut after 60 characters; the message's printer escapes what must not reach a terminal.
func quote(_ text: String) -> String {
    text.unicodeScalars.count > 60 ? "'\(String(text.unicodeScalars.prefix(60)))…'" : "'\(text)'"
}
