/// The parser of one template, for one use.
struct TemplateParser {
    private let use: TemplateUse
    private var rest: ArraySlice<UInt8>
    private var parts: [Template.Part] = []
    private var plain: [UInt8] = []
    private var place: Template.Place
    /// Whether the last byte was a backslash that escapes the next one; only within a JSON string.
    private var isEscaped = false

    init(_ text: String, _ use: TemplateUse) {
        self.use = use
        rest = Array(text.utf8)[...]
        place =
            switch use {
            case .url: .path
            case .proxy: .query
            case .header: .header
            case .body(.json), .batch: .jsonValue
            case .body(.form): .form
            case .body(.text): .text
            case .key, .idempotencyKey, .type, .setting: .key
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
        guard let end = body.firstIndex(where: { "{}\"\n".utf8.contains($0) }), body[end] == UInt8(ascii: "}") else {
            let word = body.prefix { !"{}\" \n".utf8.contains($0) }
            throw RouteProblem(
                reason: "'{\(shown(word))' is no placeholder: it has no '}'", hint: "a brace itself is '{{'")
        }
        let written = body[..<end]
        let base64 = ":base64".utf8
        let isBase64 = written.reversed().starts(with: base64.reversed())
        guard let word = TemplateWord(isBase64 ? written.dropLast(base64.count) : written), use.allows(word) else {
            throw unknown(written)
        }
        endText()
        parts.append(.value(word, isBase64: isBase64, place))
        rest = body[end...].dropFirst()
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
        let name = String(decoding: rest[..<close].dropFirst(opening.count), as: UTF8.self)
        guard TypeName(name) != nil else {
            throw RouteProblem(reason: "'\(escapedForDisplay(name))' is not the name of a secret", hint: hint)
        }
        guard use.allowsSecrets else {
            throw RouteProblem(
                reason: "a secret cannot stand here", hint: "it would be in the queue's files or the server's memory")
        }
        endText()
        parts.append(.secret(name, place))
        rest = rest[close...].dropFirst()
    }
}
