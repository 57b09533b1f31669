/// The reason why a text is not JSON5, in words for its author.
struct JSON5SyntaxError: Error, Hashable, Sendable {
    var position: SourcePosition
    var reason: String
    var hint: String?
}

/// Reads a JSON5 text (spec.json5.org) into values with their positions.
///
/// Not Foundation's, because `JSONDecoder` drops facts that messages need: the line of each value, names that are
/// written twice (it silently keeps the first), and numbers as written. A second reader only for positions could
/// disagree with the first. Nesting is bounded, so no file can exhaust the stack.
struct JSON5Parser {
    static let maximumDepth = 32

    private let text: [Unicode.Scalar]
    /// The offset of each line. A line ends with LF, CR LF or CR.
    private var lineStarts: [Int]
    private var offset = 0
    private var depth = 0

    /// Returns the only value of a text. Only white space and comments may surround it.
    static func value(of bytes: [UInt8]) throws(JSON5SyntaxError) -> JSON5Value {
        guard let string = String(validating: bytes, as: UTF8.self) else {
            throw JSON5SyntaxError(position: firstInvalidPosition(in: bytes), reason: "this is not UTF-8 text")
        }
        var parser = JSON5Parser(text: Array(string.unicodeScalars))
        try parser.skipSpace()
        let value = try parser.value()
        try parser.skipSpace()
        if parser.peek != nil { throw parser.unexpected("the end of the file") }
        return value
    }

    private init(text: [Unicode.Scalar]) {
        self.text = text
        lineStarts = [0]
        for (index, scalar) in text.enumerated() {
            let endsLine = scalar == "\n" || (scalar == "\r" && !(index + 1 < text.count && text[index + 1] == "\n"))
            if endsLine { lineStarts.append(index + 1) }
        }
    }

    // MARK: - Positions and errors

    private func position(of offset: Int) -> SourcePosition {
        var line = 0
        var end = lineStarts.count
        while end - line > 1 {
            let middle = (line + end) / 2
            if lineStarts[middle] <= offset { line = middle } else { end = middle }
        }
        return SourcePosition(line: line + 1, column: offset - lineStarts[line] + 1)
    }

    private static func firstInvalidPosition(in bytes: [UInt8]) -> SourcePosition {
        var (decoder, iterator, text) = (UTF8(), bytes.makeIterator(), [Unicode.Scalar]())
        while case .scalarValue(let scalar) = decoder.decode(&iterator) { text.append(scalar) }
        return JSON5Parser(text: text).position(of: text.count)
    }

    private func error(_ reason: String, at offset: Int? = nil, hint: String? = nil) -> JSON5SyntaxError {
        JSON5SyntaxError(position: position(of: offset ?? self.offset), reason: reason, hint: hint)
    }

    private func unexpected(_ expected: String, hint: String? = nil) -> JSON5SyntaxError {
        guard let scalar = peek else { return error("expected \(expected), but the file ends here", hint: hint) }
        return error("expected \(expected), found '\(scalar)'", hint: hint)
    }

    // MARK: - Characters

    private var peek: Unicode.Scalar? { offset < text.count ? text[offset] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard peek == scalar else { return false }
        offset += 1
        return true
    }

    /// Returns whether a character is white space. Consults Unicode's tables only for characters beyond ASCII.
    private func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09...0x0D, 0x20: true
        case ..<0x80: false
        // Unicode calls U+0085 white space too, JSON5 does not.
        default: scalar.value != 0x85 && scalar.properties.isWhitespace || scalar == "\u{FEFF}"
        }
    }

    private func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "$", "_": true
        default: !scalar.isASCII && scalar.properties.isIDStart
        }
    }

    private func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "0"..."9": true
        default: isLetter(scalar) || (!scalar.isASCII && scalar.properties.isIDContinue)
        }
    }

    private func text(from start: Int) -> String {
        var view = String.UnicodeScalarView()
        for scalar in text[start..<offset] { view.append(scalar) }
        return String(view)
    }

    private mutating func skipSpace() throws(JSON5SyntaxError) {
        while let scalar = peek {
            if scalar == "/" {
                try skipComment()
            } else if isSpace(scalar) {
                offset += 1
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws(JSON5SyntaxError) {
        let start = offset
        offset += 1
        if take("/") {
            while let scalar = peek, !["\n", "\r", "\u{2028}", "\u{2029}"].contains(scalar) { offset += 1 }
        } else if take("*") {
            while peek != nil {
                if take("*") {
                    if take("/") { return }
                } else {
                    offset += 1
                }
            }
            throw error("this comment has no end", at: start)
        } else {
            throw error("a comment begins with // or /*", at: start)
        }
    }

    // MARK: - Values

    private mutating func value() throws(JSON5SyntaxError) -> JSON5Value {
        let position = position(of: offset)
        guard let scalar = peek else { throw unexpected("a value") }
        let content: JSON5Value.Content
        switch scalar {
        case "{", "[":
            depth += 1
            if depth > Self.maximumDepth { throw error("nested deeper than \(Self.maximumDepth)") }
            content = scalar == "{" ? .object(try members()) : .array(try elements())
            depth -= 1
        case "\"", "'": content = .string(try string())
        case "0"..."9", "+", "-", ".": content = .number(try number())
        default:
            let start = offset
            let word = word()
            switch word {
            case "null": content = .null
            case "true": content = .boolean(true)
            case "false": content = .boolean(false)
            case "Infinity", "NaN": content = .number(word)
            case "": throw unexpected("a value")
            default: throw error("expected a value, found '\(word)'", at: start, hint: "text needs quotes: \"\(word)\"")
            }
        }
        return JSON5Value(position: position, content: content)
    }

    private mutating func members() throws(JSON5SyntaxError) -> [JSON5Value.Member] {
        let start = offset
        offset += 1
        var members: [JSON5Value.Member] = []
        while true {
            try skipSpace()
            if take("}") { return members }
            let position = position(of: offset)
            let name = try name(openedAt: start)
            try skipSpace()
            guard take(":") else {
                let needsQuotes = peek == "-" || peek == "."
                throw unexpected("':' after the name", hint: needsQuotes ? "a name with '-' or '.' needs quotes" : nil)
            }
            try skipSpace()
            members.append(JSON5Value.Member(name: name, position: position, value: try value()))
            try skipSpace()
            if take(",") { continue }
            guard peek == "}" else { throw unclosed("',' or '}'", openedAt: start) }
        }
    }

    private mutating func elements() throws(JSON5SyntaxError) -> [JSON5Value] {
        let start = offset
        offset += 1
        var elements: [JSON5Value] = []
        while true {
            try skipSpace()
            if take("]") { return elements }
            if peek == nil { throw unclosed("a value or ']'", openedAt: start) }
            elements.append(try value())
            try skipSpace()
            if take(",") { continue }
            guard peek == "]" else { throw unclosed("',' or ']'", openedAt: start) }
        }
    }

    /// Returns the error for a missing delimiter. At the end of the file its hint names the bracket that is still open.
    private func unclosed(_ expected: String, openedAt start: Int) -> JSON5SyntaxError {
        let opened = position(of: start)
        let hint = peek == nil ? "'\(text[start])' of line \(opened.line), column \(opened.column) is still open" : nil
        return unexpected(expected, hint: hint)
    }

    private mutating func name(openedAt start: Int) throws(JSON5SyntaxError) -> String {
        switch peek {
        case nil: throw unclosed("a name or '}'", openedAt: start)
        case "\"", "'": return try string()
        default:
            let word = try identifier()
            if !word.isEmpty { return word }
            let digit = peek.map { ("0"..."9").contains($0) } ?? false
            throw unexpected("a name", hint: digit ? "a name that begins with a digit needs quotes" : nil)
        }
    }

    /// Reads an identifier of letters, digits, `$` and `_`; empty if the next character is a digit or another one.
    private mutating func word() -> String {
        let start = offset
        while let scalar = peek, offset == start ? isLetter(scalar) : isLetterOrDigit(scalar) { offset += 1 }
        return text(from: start)
    }

    /// Reads a name without quotes: a word in which a character may also be written `\uXXXX`.
    private mutating func identifier() throws(JSON5SyntaxError) -> String {
        var name = word()
        while peek == "\\" {
            let start = offset
            offset += 1
            guard take("u"), let scalar = Unicode.Scalar(try hexadecimal(digits: 4)),
                name.isEmpty ? isLetter(scalar) : isLetterOrDigit(scalar)
            else { throw error("no letter or digit of a name", at: start, hint: "this name needs quotes") }
            name.unicodeScalars.append(scalar)
            let rest = offset
            while let scalar = peek, isLetterOrDigit(scalar) { offset += 1 }
            name += text(from: rest)
        }
        return name
    }

    // MARK: - Numbers

    private mutating func number() throws(JSON5SyntaxError) -> String {
        let start = offset
        if !take("-") { _ = take("+") }
        if peek == "I" || peek == "N" {
            let word = word()
            guard word == "Infinity" || word == "NaN" else { throw error("expected a number", at: start) }
        } else if peek == "0", offset + 1 < text.count, text[offset + 1] == "x" || text[offset + 1] == "X" {
            offset += 2
            let digits = offset
            while let scalar = peek, scalar.properties.isASCIIHexDigit { offset += 1 }
            if offset == digits { throw unexpected("a hexadecimal digit") }
        } else {
            let zero = peek == "0"
            let whole = skipDigits()
            if zero, whole > 1 { throw error("a number does not begin with 0", at: start) }
            let fraction = take(".") ? skipDigits() : 0
            if whole + fraction == 0 { throw unexpected("a digit") }
            if peek == "e" || peek == "E" {
                offset += 1
                if !take("-") { _ = take("+") }
                if skipDigits() == 0 { throw unexpected("a digit") }
            }
        }
        if let scalar = peek, isLetterOrDigit(scalar) || scalar == "-" {
            throw error(
                "a number ends with a digit, found '\(scalar)'", hint: "text, and a number with a unit, needs quotes")
        }
        return text(from: start)
    }

    private mutating func skipDigits() -> Int {
        let start = offset
        while let scalar = peek, ("0"..."9").contains(scalar) { offset += 1 }
        return offset - start
    }

    // MARK: - Strings

    private mutating func string() throws(JSON5SyntaxError) -> String {
        let start = offset
        let quote = text[offset]
        offset += 1
        var string = String.UnicodeScalarView()
        while let scalar = peek {
            if scalar == "\n" || scalar == "\r" { break }
            offset += 1
            if scalar == quote { return String(string) }
            if scalar != "\\" {
                string.append(scalar)
            } else if let escaped = try escape(inStringAt: start) {
                string.append(escaped)
            }
        }
        throw error("this text has no end", at: start, hint: "it lacks \(quote) before the end of the line")
    }

    /// Reads an escape and returns its character; `nil` if it stands for none.
    private mutating func escape(inStringAt start: Int) throws(JSON5SyntaxError) -> Unicode.Scalar? {
        guard let scalar = peek else { return nil }
        offset += 1
        switch scalar {
        case "b": return "\u{08}"
        case "f": return "\u{0C}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "v": return "\u{0B}"
        case "0" where !(peek.map { ("0"..."9").contains($0) } ?? false): return "\0"
        case "0"..."9": throw error("no such escape: '\\\(scalar)'", at: offset - 2)
        case "x": return Unicode.Scalar(UInt8(try hexadecimal(digits: 2)))
        case "u":
            let unit = try hexadecimal(digits: 4)
            if let scalar = Unicode.Scalar(unit) { return scalar }
            guard UTF16.isLeadSurrogate(unit), take("\\"), take("u"), case let second = try hexadecimal(digits: 4),
                UTF16.isTrailSurrogate(second)
            else { throw error("half of a surrogate pair in this text", at: start) }
            return Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        case "\r":
            _ = take("\n")
            return nil
        case "\n", "\u{2028}", "\u{2029}": return nil
        default: return scalar
        }
    }

    private mutating func hexadecimal(digits: Int) throws(JSON5SyntaxError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<digits {
            guard let digit = peek.flatMap({ $0.isASCII ? UInt32(String($0), radix: 16) : nil }) else {
                throw unexpected("\(digits) hexadecimal digits")
            }
            value = value << 4 | UInt16(digit)
            offset += 1
        }
        return value
    }
}
