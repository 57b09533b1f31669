/// The value that a placeholder of a template stands for.
package enum TemplateWord: Hashable, Sendable {
    case id
    case type
    case key
    case createdAt
    /// The number of the attempt, from 1; in a batch the highest of its members'.
    case attempt
    /// The payload, or the value at a place in it: `payload`, `payload.user.name`.
    case payload(JSONPointer)
    /// The members of a batch, each as the route's `body` makes it.
    case items
    /// A part of an earlier answer, remembered for the operation's key: `kept.noteId`.
    case kept(String)

    init?(_ text: ArraySlice<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let tokens = parts.map { String(decoding: $0, as: UTF8.self) }
        switch String(decoding: text, as: UTF8.self) {
        case "id": self = .id
        case "type": self = .type
        case "key": self = .key
        case "createdAt": self = .createdAt
        case "attempt": self = .attempt
        case "items": self = .items
        case "payload": self = .payload(JSONPointer(tokens: []))
        default:
            if tokens.count == 2, tokens[0] == "kept", KeptValue.isName(tokens[1]) {
                self = .kept(tokens[1])
                return
            }
            guard tokens.count > 1, tokens[0] == "payload", !tokens.contains("") else { return nil }
            self = .payload(JSONPointer(tokens: Array(tokens.dropFirst())))
        }
    }

    /// Whether a default can take its place. A kept value is waited for, and the rest is in every operation.
    var mayBeMissing: Bool {
        switch self {
        case .key: true
        case .payload(let pointer): !pointer.tokens.isEmpty
        case .id, .type, .createdAt, .attempt, .items, .kept: false
        }
    }

    /// The word as written between its braces.
    package var text: String {
        switch self {
        case .id: "id"
        case .type: "type"
        case .key: "key"
        case .createdAt: "createdAt"
        case .attempt: "attempt"
        case .items: "items"
        case .kept(let name): "kept.\(name)"
        case .payload(let pointer): (["payload"] + pointer.tokens).joined(separator: ".")
        }
    }
}

/// The uses of templates in the configuration, each with its own words.
package enum TemplateUse: Hashable, Sendable {
    /// Path and query of a url.
    case url
    case header
    /// A body, whose media type says how a value is escaped; `nil` while the media type is not known.
    case body(BodySyntax?)
    /// The JSON text around the members of a batch.
    case batch
    /// The key of an operation that has none of its own.
    case key
    case idempotencyKey
    /// The type of an operation that is added.
    case type
    /// A setting that only secrets are filled into, such as a passphrase. Braces stand for themselves.
    case setting
    /// A proxy's url, whose secrets are percent-encoded.
    case proxy
    /// The path of a secret's file. A value stays within its segment of the path.
    case file

    /// The permitted words, as an error lists them.
    var words: [String] {
        switch self {
        case .url, .header, .body:
            ["id", "type", "key", "createdAt", "attempt", "payload", "payload.NAME", "kept.NAME"]
        case .batch: ["items", "attempt"]
        case .key: ["type", "payload", "payload.NAME"]
        case .type: ["payload", "payload.NAME"]
        case .file: ["type", "key", "payload.NAME"]
        // The idempotency key is the same at each attempt.
        case .idempotencyKey: ["id", "type", "key", "createdAt", "payload", "payload.NAME"]
        case .setting, .proxy: []
        }
    }

    var allowsSecrets: Bool {
        switch self {
        case .url, .header, .body, .batch, .setting, .proxy: true
        // They stand in a queue file, or the server knows an operation by them.
        case .key, .idempotencyKey, .type, .file: false
        }
    }

    func allows(_ word: TemplateWord) -> Bool {
        if case .kept = word { return words.contains("kept.NAME") }
        if case .payload(let pointer) = word, !pointer.tokens.isEmpty { return words.contains("payload.NAME") }
        return words.contains(word.text)
    }
}

/// The syntax of values in a body, by its media type.
package enum BodySyntax: Hashable, Sendable {
    case json
    /// `application/x-www-form-urlencoded`.
    case form
    /// Any other media type: values are not escaped.
    case text

    /// Chooses the syntax for a media type. `nil` is JSON, the default of a template.
    package init(mediaType: String?) {
        guard let mediaType else {
            self = .json
            return
        }
        let type = mediaType.utf8.prefix { $0 != UInt8(ascii: ";") }.map(\.asciiLowercased)
        self = type.contains("json".utf8) ? .json : type.contains("x-www-form-urlencoded".utf8) ? .form : .text
    }
}
