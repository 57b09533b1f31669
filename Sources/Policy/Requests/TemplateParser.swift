/// The parser of one template, for one use.
struct TemplateParser {
    private let use: TemplateUse
    private var rest: Substring
    private var parts: [Template.Part] = []
    private var plain = ""
    private var place: Template.Place
    /// Whether the last character was a backslash that escapes the next one; only within a JSON string.
    private var isEscaped = false

    init(_ text: String, _ use: TemplateUse) {
        self.use = use
        rest = text[...]
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
        while let character = rest.first {
            if character == "$", rest.dropFirst().first == "{", rest.dropFirst(2).first != "{" {
                try takeSecret()
            } else if character == "{", !use.words.isEmpty {
                try takeBrace()
            } else {
                take(character)
            }
        }
        endText()
        return parts
    }

    // MARK: - Text

    private mutating func take(_ character: Character) {
        plain.append(character)
        rest.removeFirst()
        switch place {
        case .path where character == "?": place = .query
        case .jsonValue where character == "\"": place = .jsonString
        case .jsonString where isEscaped: isEscaped = false
        case .jsonString where character == "\\": isEscaped = true
        case .jsonString where character == "\"": place = .jsonValue
        default: break
        }
    }

    private mutating func endText() {
        if !plain.isEmpty || parts.isEmpty { parts.append(.text(plain)) }
        plain = ""
    }

    // MARK: - Values

    private mutating func takeBrace() throws(RouteProblem) {
        let next = rest.dropFirst().first
        if next == "{" {
            rest.removeFirst()
            return take("{")
        }
        guard let next, next.isASCII, next.isLetter else { return take("{") }
        let body = rest.dropFirst()
        guard let end = body.firstIndex(where: { "{}\"\n".contains($0) }), body[end] == "}" else {
            let word = body.prefix { !"{}\" \n".contains($0) }
            throw RouteProblem(
                reason: "'{\(escapedForDisplay(word))' is no placeholder: it has no '}'", hint: "a brace itself is '{{'"
            )
        }
        let written = body[..<end]
        let isBase64 = written.hasSuffix(":base64")
        let name = isBase64 ? written.dropLast(":base64".count) : written
        guard let word = TemplateWord(name), use.allows(word) else { throw unknown(written) }
        endText()
        parts.append(.value(word, isBase64: isBase64, place))
        rest = body[end...].dropFirst()
    }

    private func unknown(_ written: Substring) -> RouteProblem {
        let name = written.prefix { $0 != ":" }
        let words = use.words.map { "{\($0)}" }.joined(separator: " ")
        let reason: String
        if TemplateWord(name) != nil, name.endIndex == written.endIndex {
            reason = "'{\(written)}' means nothing here"
        } else {
            reason = "'{\(escapedForDisplay(written))}' is an unknown placeholder"
        }
        let near = nearest(to: String(name), in: use.words.filter { !$0.hasSuffix(".NAME") })
        let question = near.map { "did you mean {\($0)}? " } ?? ""
        return RouteProblem(reason: reason, hint: "\(question)placeholders are \(words); a brace itself is '{{'")
    }

    // MARK: - Secrets

    private mutating func takeSecret() throws(RouteProblem) {
        let hint = "a secret is written ${secret:NAME}, and NAME is a key of 'secrets'"
        let opening = "${secret:"
        guard rest.hasPrefix(opening), let close = rest.firstIndex(of: "}") else {
            let reference = rest.prefix { $0 != "}" }.prefix(40)
            let end = rest.contains("}") ? "}" : ""
            throw RouteProblem(reason: "'\(escapedForDisplay(reference))\(end)' is not a secret reference", hint: hint)
        }
        let name = String(rest[..<close].dropFirst(opening.count))
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
