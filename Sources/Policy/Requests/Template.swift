/// A text of the configuration that each request fills in.
///
/// The grammar is the same in a url, a header, a body, the envelope of a batch and a key.
/// - `{WORD}` stands for a value of the operation, see `TemplateWord`; `{WORD:base64}` for its Base64 (RFC 4648 §4).
/// - `${secret:NAME}` stands for a secret.
/// - `{{` stands for one brace, wherever words are allowed.
/// - Every other brace and dollar sign stands for itself: JSON is written as it is.
/// A value is escaped for its place, see `Place`, and never ends it.
package struct Template: Hashable, Sendable {
    enum Part: Hashable {
        case text([UInt8])
        case value(TemplateWord, isBase64: Bool, Place)
        case secret(String, Place)
    }

    /// The place of a value, which decides how it is escaped.
    enum Place: Hashable {
        case path
        case query
        case header
        /// The place of a JSON value.
        case jsonValue
        /// Between the quotes of a JSON string.
        case jsonString
        case form
        /// A body that is neither JSON nor a form.
        case text
        /// A key, or a setting.
        case key
    }

    /// The text as written.
    package let text: String
    let parts: [Part]

    /// Parses a text. Throws for an unknown word, one that is not allowed in this use, or a `${` that names no secret.
    package init(_ text: String, for use: TemplateUse) throws(RouteProblem) {
        var parser = TemplateParser(text, use)
        parts = try parser.parse()
        self.text = text
    }

    /// Parses a template of a route in use. Throws its defect as the route's.
    init(_ text: String, for use: TemplateUse, of key: String) throws(RequestError) {
        do throws(RouteProblem) {
            try self.init(text, for: use)
        } catch {
            throw .badTemplate(key: key, reason: error.reason)
        }
    }

    /// The names of its secrets, in order.
    package var secretNames: [String] {
        parts.compactMap { part in
            if case .secret(let name, _) = part { name } else { nil }
        }
    }

    /// The names of its kept values, in order.
    package var keptNames: [String] {
        parts.compactMap { part in
            if case .value(.kept(let name), _, _) = part { name } else { nil }
        }
    }

    /// Whether it contains the payload, or a member of it.
    var usesPayload: Bool {
        parts.contains { part in
            if case .value(.payload, _, _) = part { true } else { false }
        }
    }

    /// The literal parts of the template.
    package var literals: [String] {
        parts.compactMap { part in
            if case .text(let text) = part { String(decoding: text, as: UTF8.self) } else { nil }
        }
    }

    /// Whether the text is the same for every operation.
    package var isFixed: Bool {
        parts.allSatisfy { part in
            if case .text = part { true } else { false }
        }
    }
}
