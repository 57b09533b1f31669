/// The parser of one template, for one use.
struct TemplateParser {
    private let use: TemplateUse
    private var rest: ArraySlice<UInt8>
    private var parts: [Template.Part] = []
    private var plain: [UInt8] = []
    private var place: Template.Place
    /// Whether the last byte was a backslash that escapes the next byte; only within a JSON string.
    private var isEscaped = false

    init(_ text: String, _ use: TemplateUse) {
        self.use = use
        rest = Array(text.utf8)[...]
        place =
            switch use {
            case .url: .path
            case .proxy: .query
            // Without a media type it is not known yet what may stand where.
            case .header, .body(nil): .header
            case .body(.json), .batch: .jsonValue
            case .body(.form): .form
            case .body(.text): .text
            case .key, .idempotencyKey, .type, .setting: .key
            case .file: .segment
            }
    }

    mutating func parse() throws(RouteProblem) -> [Template.Part] {
        while let byte = rest.first {
            if rest.starts(with: "${".utf8), !rest.starts(with: "${{".utf8) {
                try takeSecret()
            } else if byte == UInt8(ascii: "{"), !use.words.isEmpty {
                try takeBrace()
            } else {
                take(byte)
            }
        }
        endText()
        return parts
    }

    // MARK: - Text

    private mutating func take(_ byte: UInt8) {
        plain.append(byte)
        rest.removeFirst()
        switch place {
        case .path where byte == UInt8(ascii: "?"): place = .query
        case .jsonValue where byte == UInt8(ascii: "\""): place = .jsonString
        case .jsonString where isEscaped: isEscaped = false
        case .jsonString where byte == UInt8(ascii: "\\"): isEscaped = true
        case .jsonString where byte == UInt8(ascii: "\""): place = .jsonValue
        default: break
        }
    }

    private mutating func endText() {
        if !plain.isEmpty || parts.isEmpty { parts.append(.text(plain)) }
        plain = []
    }

    // MARK: - Values

    private mutating func takeBrace() throws(RouteProblem) {
        let body = rest.dropFirst()
        guard let next = body.first, next != UInt8(ascii: "{") else {
            if !body.isEmpty { rest.removeFirst() }
            return take(UInt8(ascii: "{"))
        }
        guard (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(next | 0x20) else { return take(UInt8(ascii: "{")) }
        let written = try takePlaceholder(body)
        let isOptional = written.word.last == UInt8(ascii: "?")
        let named = isOptional ? written.word.dropLast() : written.word
        let colon = named.firstIndex(of: UInt8(ascii: ":")) ?? named.endIndex
        let format = Template.Format(rawValue: String(decoding: named[colon...].dropFirst(), as: UTF8.self))
        guard let word = TemplateWord(named[..<colon]), use.allows(word), format != nil || colon == named.endIndex,
            format == nil || format == .base64 || word == .createdAt
        else { throw unknown(named) }
        var placeholder = Template.Placeholder(word: word, format: format, place: place)
        if isOptional || written.fallback != nil {
            guard word.mayBeMissing else {
                throw RouteProblem(
                    reason: "'{\(shown(named))}' has a default, and is never missing",
                    hint: "{key} and {payload.NAME} can have a default")
            }
            if let fallback = written.fallback {
                placeholder.fallback = .value(fallback)
            } else {
                placeholder.fallback = .nothing(length: try lengthBeforeOptional(of: named, end: written.end))
            }
        }
        endText()
        parts.append(.value(placeholder))
        rest = rest[written.end...]
    }

    private typealias Written = (word: ArraySlice<UInt8>, fallback: [UInt8]?, end: Int)

    /// Returns the text of a word, of its default, and the end of the placeholder.
    private func takePlaceholder(_ body: ArraySlice<UInt8>) throws(RouteProblem) -> Written {
        let stop = body.firstIndex { "{}\"|\n".utf8.contains($0) } ?? body.endIndex
        let word = body[..<stop]
        guard stop < body.endIndex, body[stop] == UInt8(ascii: "|") else {
            if stop < body.endIndex, body[stop] == UInt8(ascii: "}") { return (word, nil, stop + 1) }
            throw RouteProblem(
                reason: "'{\(shown(body.prefix { !"{}\" \n".utf8.contains($0) }))' is no placeholder: it has no '}'",
                hint: "a brace itself is '{{'")
        }
        let end = body[(stop + 1)...].endOfDefault
        let fallback = Array(body[(stop + 1)..<end])
        guard end < body.endIndex, body[end] == UInt8(ascii: "}"), (try? JSONDocument(fallback)) != nil else {
            throw RouteProblem(
                reason: "the default of '{\(shown(word))}' is not JSON",
                hint: #"a text stands in quotes: {\#(shown(word))|"none"}"#)
        }
        return (word, fallback, end + 1)
    }

    /// Returns the length of the text before an optional value that goes with it. Throws if the value is not all of a
    /// member of JSON, of a parameter, or of an element.
    private func lengthBeforeOptional(of word: ArraySlice<UInt8>, end: Int) throws(RouteProblem) -> Int {
        let next = rest[end...].first { place != .jsonValue || !$0.isJSONWhitespace }
        switch place {
        case .header: return 0
        case .jsonValue:
            if let length = plain.lengthOfMemberName, let next, ",}]".utf8.contains(next) { return length }
        case .query, .form:
            let start = plain.lastIndex { "?&".utf8.contains($0) }
            let isFirst = place == .form && start == nil && parts.isEmpty
            if start != nil || isFirst, plain.last == UInt8(ascii: "="), next == nil || next == UInt8(ascii: "&") {
                return plain.count - (start.map { $0 + 1 } ?? 0)
            }
        case .path, .jsonString, .text, .key, .segment: break
        }
        throw RouteProblem(
            reason: "'{\(shown(word))?}' is not the whole value of a member of JSON, of a parameter or of a header",
            hint: #"elsewhere a default takes its place: {\#(shown(word))|"none"}"#)
    }

    private func unknown(_ written: ArraySlice<UInt8>) -> RouteProblem {
        let name = written.prefix { $0 != UInt8(ascii: ":") }
        let words = use.words.map { "{\($0)}" }.joined(separator: " ")
        let reason =
            TemplateWord(name) != nil && name.count == written.count
            ? "'{\(shown(written))}' means nothing here" : "'{\(shown(written))}' is an unknown placeholder"
        let names = use.words.filter { $0 != "payload.NAME" && $0 != "kept.NAME" }
        let near = nearest(to: String(decoding: name, as: UTF8.self), in: names)
        let question = near.map { "did you mean {\($0)}? " } ?? ""
        return RouteProblem(reason: reason, hint: "\(question)placeholders are \(words); a brace itself is '{{'")
    }

    private func shown(_ bytes: some Collection<UInt8>) -> String {
        escapedForDisplay(String(decoding: bytes, as: UTF8.self))
    }

    // MARK: - Secrets

    private mutating func takeSecret() throws(RouteProblem) {
        let hint = "a secret is written ${secret:NAME}, and NAME is a key of 'secrets'"
        let opening = "${secret:".utf8
        let close = rest.firstIndex(of: UInt8(ascii: "}"))
        guard rest.starts(with: opening), let close else {
            let reference = String(decoding: rest[..<(close ?? rest.endIndex)], as: UTF8.self).unicodeScalars.prefix(40)
            throw RouteProblem(
                reason: "'\(escapedForDisplay(String(reference)))\(close == nil ? "" : "}")' is not a secret reference",
                hint: hint)
        }
        let written = rest[..<close].dropFirst(opening.count)
        let isBase64 = written.reversed().starts(with: ":base64".utf8.reversed())
        let name = String(decoding: isBase64 ? written.dropLast(":base64".utf8.count) : written, as: UTF8.self)
        guard TypeName(name) != nil else {
            throw RouteProblem(reason: "'\(escapedForDisplay(name))' is not the name of a secret", hint: hint)
        }
        guard use.allowsSecrets else {
            throw RouteProblem(
                reason: "a secret cannot stand here", hint: "it would be in the queue's files or the server's memory")
        }
        endText()
        parts.append(.secret(name, isBase64: isBase64, place))
        rest = rest[close...].dropFirst()
    }
}

extension ArraySlice<UInt8> {
    /// The end of the JSON value at the start: of an object, array or string, or the next brace, quotation mark or LF.
    fileprivate var endOfDefault: Int {
        if let first, "{[".utf8.contains(first) {
            var scanner = JSONScanner(Array(self))
            return (try? scanner.next()).map { startIndex + $0.upperBound } ?? endIndex
        }
        guard first == UInt8(ascii: "\"") else { return firstIndex { "{}\"\n".utf8.contains($0) } ?? endIndex }
        var isEscaped = false
        let end = dropFirst().firstIndex { byte in
            if byte == UInt8(ascii: "\""), !isEscaped { return true }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            return false
        }
        return end.map { $0 + 1 } ?? endIndex
    }
}

extension [UInt8] {
    /// The length of the name of a JSON member at the end, with what stands between the name and the value; in an array
    /// the length of the blanks. `nil` if no value can begin a member or an element there.
    fileprivate var lengthOfMemberName: Int? {
        var rest = self[...]
        func trim() { while let last = rest.last, last.isJSONWhitespace { rest.removeLast() } }
        trim()
        if rest.last == UInt8(ascii: ":") {
            rest.removeLast()
            trim()
            guard rest.popLast() == UInt8(ascii: "\"") else { return nil }
            var start = rest.endIndex
            repeat {
                guard let mark = rest[..<start].lastIndex(of: UInt8(ascii: "\"")) else { return nil }
                start = mark
            } while rest[..<start].reversed().prefix(while: { $0 == UInt8(ascii: "\\") }).count % 2 == 1
            rest = rest[..<start]
        }
        let length = count - rest.count
        trim()
        return rest.last.map { "{[,".utf8.contains($0) } == true ? length : nil
    }
}
