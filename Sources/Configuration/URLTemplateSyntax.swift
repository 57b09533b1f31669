import Policy

/// The syntax of a route's `url`: an absolute URL (RFC 3986) whose path and query are a template.
///
/// Scheme, host and port are literal, so the route alone determines the destination.
enum URLTemplateSyntax {
    struct Problem: Hashable, Sendable {
        /// A predicate for the URL in quotes: `has no host`.
        var reason: String
        var hint: String?
    }

    /// Returns why `text` cannot be a route's URL; `nil` if it can.
    static func problem(in text: String) -> Problem? {
        if text.utf8.count > 8_192 { return Problem(reason: "is longer than 8192 bytes") }
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else {
            return Problem(reason: "is not an absolute URL", hint: "it has to begin with https:// or http://")
        }
        let rest = text.dropFirst(scheme.count)
        let authority = Substring(rest.utf8.prefix { !"/?#".utf8.contains($0) })
        if let problem = problem(inCharactersOf: authority) { return problem }
        if let problem = problem(inAuthority: authority) {
            // A password with a slash in it ends the authority: no part of it is told.
            return rest.utf8.contains(UInt8(ascii: "@")) ? userInformation : problem
        }
        if let problem = problem(inPath: rest[authority.endIndex...]) { return problem }
        // Policy makes the final decision: a route without an origin could never be attempted.
        return Origin(url: text) == nil ? Problem(reason: "has an invalid host: \(quote(String(authority)))") : nil
    }

    private static let userInformation = Problem(
        reason: "contains a user name or password", hint: "send credentials in a header: Authorization")

    /// Returns the error in a host and its port; `nil` if there is none. `Origin` makes the final decision.
    static func problem(inAuthority authority: Substring) -> Problem? {
        if authority.utf8.contains(where: { "{}".utf8.contains($0) }) {
            return Problem(
                reason: "has a placeholder in its host", hint: "only the path and the query may contain placeholders")
        }
        if authority.utf8.contains(UInt8(ascii: "@")) { return userInformation }
        // An IPv6 address: `Origin` checks its grammar.
        if authority.begins(with: "[") { return nil }
        let host = authority.upTo(":")
        if host.isEmpty { return Problem(reason: "has no host") }
        // Admits letters of every script; `Origin` decides which are valid.
        guard host.utf8.allSatisfy({ $0.isIdentifierByte || $0 == UInt8(ascii: ".") || $0 >= 0x80 }) else {
            return Problem(reason: "has an invalid host: \(quote(String(host)))", hint: "letters, digits, '-' and '.'")
        }
        if host.endIndex < authority.endIndex {
            let digits = authority[host.endIndex...].afterFirstByte
            guard let port = UInt16(digits), port > 0, !digits.begins(with: "+")
            else {
                return Problem(reason: "has an invalid port: \(quote(String(digits)))", hint: "ports are 1 to 65535")
            }
        }
        return nil
    }

    private static func problem(inPath path: Substring) -> Problem? {
        let template: Template
        do throws(RouteProblem) {
            template = try Template(String(path), for: .url)
        } catch {
            return Problem(reason: "cannot be filled in: \(error.reason)", hint: error.hint)
        }
        for text in template.literals {
            if let problem = problem(inLiteral: text) { return problem }
        }
        return nil
    }

    /// Returns the error in a character that no URL may contain; `nil` if there is none.
    private static func problem(inCharactersOf text: some StringProtocol) -> Problem? {
        guard let scalar = text.unicodeScalars.first(where: { !$0.isURLText }) else { return nil }
        let code = String(scalar.value, radix: 16, uppercase: true)
        return Problem(
            reason:
                "has a character that is invalid in a URL, U+\(String(repeating: "0", count: max(0, 4 - code.count)))\(code)",
            hint: "a blank is written %20")
    }

    private static func problem(inLiteral text: String) -> Problem? {
        if let problem = problem(inCharactersOf: text) { return problem }
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch Unicode.Scalar(byte) {
            case "#": return Problem(reason: "has a fragment, which is never sent", hint: "'#' itself is written %23")
            case "%":
                guard rest.prefix(2).count == 2, rest.prefix(2).allSatisfy(\.isHexDigit) else {
                    return Problem(
                        reason: "has a '%' without two hexadecimal digits", hint: "'%' itself is written %25")
                }
            case "{": return Problem(reason: "has a '{' that begins no placeholder", hint: "'{' itself is written %7B")
            case "}": return Problem(reason: "has a '}' without '{'", hint: "'}' itself is written %7D")
            case "\"", "<", ">", "\\", "^", "`", "|":
                return Problem(
                    reason: "has a character that is invalid in a URL, '\(Unicode.Scalar(byte))'",
                    hint: "percent-encode it")
            default: continue
            }
        }
        return nil
    }
}

extension Unicode.Scalar {
    /// Whether a written URL may contain the character. Characters other than ASCII are encoded when sent.
    fileprivate var isURLText: Bool {
        switch properties.generalCategory {
        case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
        default: true
        }
    }
}
