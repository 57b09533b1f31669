/// A text of the configuration that each request fills in.
///
/// The grammar is the same in a url, a header, a body, the envelope of a batch and a key.
/// - `{WORD}` stands for a value of the operation, see `TemplateWord`; `{WORD:FORMAT}` for another form of the value,
///   `{WORD|DEFAULT}` for a JSON value in place of a missing one, and `{WORD?}` for a value that may be missing.
/// - `${secret:NAME}` stands for a secret, `${secret:NAME:base64}` for its Base64 (RFC 4648 §4).
/// - `{{` stands for a brace, wherever words are allowed.
/// - Every other brace and dollar sign stands for itself: JSON is written unchanged.
/// A value is escaped for its place, see `Place`, and never ends it.
package struct Template: Hashable, Sendable {
    indirect enum Part: Hashable {
        case text([UInt8])
        /// The Base64 of a whole template.
        case base64(Template)
        case value(Placeholder)
        case secret(String, isBase64: Bool, Place)
    }

    /// `{WORD:FORMAT|DEFAULT}`.
    struct Placeholder: Hashable {
        var word: TemplateWord
        /// `nil` leaves the value unchanged.
        var format: Format?
        var place: Place
        var fallback = Fallback.failure
    }

    enum Format: String, CaseIterable {
        case base64
        /// The seconds since 1970. Only of a time, as the next two.
        case epoch
        /// The milliseconds since 1970.
        case epochMillis
        /// RFC 3339 without a fraction of a second.
        case rfc3339
    }

    /// What stands for a value that is missing, or that is null where no null can stand.
    enum Fallback: Hashable {
        /// The operation fails unsent.
        case failure
        /// A JSON value.
        case value([UInt8])
        /// The member of JSON, the parameter of a query or form, or the header field is left out. `length`: the length
        /// of the literal text of the member before its value.
        case nothing(length: Int)
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
        /// A part of a file's name.
        case segment
    }

    /// The text as written.
    package let text: String
    let parts: [Part]

    /// Parses a text. Throws for an unknown word, a word not allowed in this use, or a `${` that names no secret.
    package init(_ text: String, for use: TemplateUse) throws(RouteProblem) {
        var parser = TemplateParser(text, use)
        parts = try parser.parse()
        self.text = text
    }

    /// Makes the value of Authorization for Basic authentication (RFC 7617) from the templates of user and password.
    init(basicUser user: String, password: String) throws(RequestError) {
        text = ""
        parts = [
            .text(Array("Basic ".utf8)),
            .base64(try Template("\(user):\(password)", for: .setting, of: "auth.basic")),
        ]
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
        parts.flatMap { part -> [String] in
            switch part {
            case .secret(let name, _, _): [name]
            case .base64(let template): template.secretNames
            case .text, .value: []
            }
        }
    }

    var placeholders: [Placeholder] {
        parts.compactMap { part in
            if case .value(let placeholder) = part { placeholder } else { nil }
        }
    }

    /// The names of its kept values, in order.
    package var keptNames: [String] {
        placeholders.compactMap { if case .kept(let name) = $0.word { name } else { nil } }
    }

    /// The words without which an operation fails unsent, in order.
    var neededWords: [TemplateWord] { placeholders.filter { $0.fallback == .failure }.map(\.word) }

    /// Whether the template contains the payload, or a member of it.
    var usesPayload: Bool { placeholders.contains { if case .payload = $0.word { true } else { false } } }

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
