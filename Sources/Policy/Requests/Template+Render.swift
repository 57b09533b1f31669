/// The values that fill in a template.
struct TemplateValues {
    let operation: Operation?
    /// `nil` before an attempt: the template is only tested, or shown.
    var attempt: Int?
    /// `nil` leaves `${secret:NAME}` as it is.
    var secrets: SecretValues?
    /// The members of a batch, joined.
    var items: [UInt8] = []
    /// Whether line breaks between the tokens of a JSON value become blanks, so each value stays on its line.
    var isLined = false

    init(_ operation: Operation?, attempt: Int? = nil, secrets: SecretValues? = nil) {
        self.operation = operation
        self.attempt = attempt
        self.secrets = secrets
    }
}

extension Template {
    /// Returns the text of the template for an operation. Does not fill in secrets.
    package func text(of operation: Operation) throws(RequestError) -> String {
        try text(TemplateValues(operation))
    }

    /// Returns the filled-in text of a template whose values are all texts: a url, a header, a key.
    func text(_ values: TemplateValues) throws(RequestError) -> String {
        String(decoding: try bytes(values), as: UTF8.self)
    }

    /// Returns the filled-in template. Throws the operation's defect for a value that it does not have or that does not
    /// fit its place, and the route's for a missing secret.
    func bytes(_ values: TemplateValues) throws(RequestError) -> [UInt8] {
        var bytes: [UInt8] = []
        var reader = PayloadReader(values.operation)
        for part in parts {
            switch part {
            case .text(let text): bytes += text.utf8
            case .secret(let name, let place):
                bytes +=
                    values.secrets == nil
                    ? Array("${secret:\(name)}".utf8) : try Self.secret(name, values.secrets!, in: place)
            // The members are joined already.
            case .value(.items, _, _): bytes += values.items
            case .value(let word, let isBase64, let place):
                let value = try reader.value(of: word, values, for: isBase64 ? nil : place)
                bytes += try Self.escaped(isBase64 ? value.inBase64 : value, word, in: place, values)
            }
        }
        return bytes
    }

    /// Returns a secret, escaped. Throws if it is missing, empty, or has a control character, which would change the
    /// request. The error contains nothing of the secret.
    private static func secret(
        _ name: String, _ secrets: SecretValues, in place: Place
    ) throws(RequestError) -> [UInt8] {
        guard let secret = secrets.values[name] else {
            if let error = secrets.unavailable[name] {
                throw .secretUnavailable(name, error, reason: secrets.failures[name] ?? "")
            }
            throw .missingSecret(name, reason: secrets.failures[name] ?? "is not configured")
        }
        if secret.isEmpty { throw .missingSecret(name, reason: "is empty") }
        if secret.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            throw .missingSecret(name, reason: "has a line break or another control character in it")
        }
        return Array(escaped(secret, in: place).utf8)
    }

    private static func escaped(
        _ value: TemplateValue, _ word: TemplateWord, in place: Place, _ values: TemplateValues
    ) throws(RequestError) -> [UInt8] {
        func unusable(_ reason: String) -> RequestError { .unusableValue(placeholder: word.text, reason: reason) }
        switch value {
        case .json(let bytes) where place == .jsonValue:
            return values.isLined ? bytes.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } : bytes
        case .json(let bytes) where [.jsonString, .form, .text].contains(place):
            return Array(escaped(String(decoding: bytes, as: UTF8.self), in: place).utf8)
        case .json: throw unusable("is neither text nor a number nor true or false")
        case .scalar(let bytes) where place == .jsonValue: return bytes
        case .scalar(let bytes): return Array(escaped(String(decoding: bytes, as: UTF8.self), in: place).utf8)
        case .null where place == .jsonValue: return Array("null".utf8)
        case .null: throw unusable("is null")
        case .bytes(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw unusable("is not UTF-8: {\(word.text):base64} sends any bytes")
            }
            return try Self.escaped(.text(text), word, in: place, values)
        case .text(let text):
            if place == .path, text.isEmpty { throw unusable("is empty, in the path") }
            if place == .header, !HeaderField.canSend(value: text) {
                throw unusable("has a control character, in a header")
            }
            return Array(escaped(text, in: place).utf8)
        }
    }

    private static func escaped(_ text: String, in place: Place) -> String {
        switch place {
        case .path, .query, .form: text.percentEncoded
        case .jsonValue: JSONText.quoted(text)
        case .jsonString: String(JSONText.quoted(text).dropFirst().dropLast())
        case .header, .text, .key: text
        }
    }
}

/// A value that a placeholder stands for.
enum TemplateValue {
    case text(String)
    /// A number, `true` or `false`, as it is written.
    case scalar([UInt8])
    case null
    /// An array or an object, or a whole payload in the place of a JSON value.
    case json([UInt8])
    /// A body that is no JSON.
    case bytes([UInt8])

    var inBase64: TemplateValue {
        switch self {
        case .text(let text): .text(Base64.encode(Array(text.utf8)))
        case .scalar(let bytes), .json(let bytes), .bytes(let bytes): .text(Base64.encode(bytes))
        case .null: .null
        }
    }
}

/// A reader of an operation's values. Parses the payload once, when the first value of it is needed.
private struct PayloadReader {
    private let operation: Operation?
    private var document: JSONDocument?

    init(_ operation: Operation?) { self.operation = operation }

    /// Returns the value of a word of one operation. Without a `place` (Base64), the value is the raw bytes.
    mutating func value(
        of word: TemplateWord, _ values: TemplateValues, for place: Template.Place?
    ) throws(RequestError) -> TemplateValue {
        guard let operation else { throw .missingValue(placeholder: word.text) }
        let header = operation.header
        switch word {
        case .id: return .text(header.id.description)
        case .type: return .text(header.type.description)
        case .createdAt: return .text(header.createdAt.rfc3339)
        case .attempt: return .scalar(Array(String(values.attempt ?? 1).utf8))
        case .key:
            guard let key = header.key else { throw .missingValue(placeholder: word.text) }
            return .text(key)
        case .items: return .json(values.items)
        case .kept(let name): return try Self.kept(name, of: operation)
        case .payload(let pointer) where pointer.tokens.isEmpty: return try payload(of: operation, for: place)
        case .payload(let pointer): return try value(at: pointer, word, of: operation)
        }
    }

    /// Returns a kept value; before an attempt, the placeholder itself, so that all else can be checked and shown.
    private static func kept(_ name: String, of operation: Operation) throws(RequestError) -> TemplateValue {
        let word = TemplateWord.kept(name).text
        guard let kept = operation.kept else { return .text("{\(word)}") }
        guard let value = kept[name] else { throw .missingValue(placeholder: word) }
        return value.templateValue
    }

    private mutating func payload(
        of operation: Operation, for place: Template.Place?
    ) throws(RequestError) -> TemplateValue {
        if operation.header.bodyFile != nil { throw .notJSON(reason: "is a file, which no template takes") }
        guard let place else { return .bytes(operation.body) }
        if place == .jsonValue {
            let document = try json(of: operation)
            return .json(Array(document.bytes[document.range]))
        }
        guard operation.header.contentType?.lowercased().contains("json") ?? false else {
            return .bytes(operation.body)
        }
        return Self.value(try json(of: operation), JSONPointer(tokens: [])) ?? .bytes(operation.body)
    }

    private mutating func json(of operation: Operation) throws(RequestError) -> JSONDocument {
        if let document { return document }
        let payload = try operation.payload
        document = payload
        return payload
    }

    private mutating func value(
        at pointer: JSONPointer, _ word: TemplateWord, of operation: Operation
    ) throws(RequestError) -> TemplateValue {
        if operation.body.isEmpty { throw .missingValue(placeholder: word.text) }
        if document == nil {
            do throws(JSONSyntaxError) {
                document = try JSONDocument(operation.body)
            } catch {
                throw .unusableValue(placeholder: word.text, reason: "cannot be read: \(error)")
            }
        }
        guard let value = Self.value(document!, pointer) else { throw .missingValue(placeholder: word.text) }
        return value
    }

    /// Returns the value at a pointer, numbers as written, never through a Double. Of a repeated name the last counts.
    private static func value(_ document: JSONDocument, _ pointer: JSONPointer) -> TemplateValue? {
        guard let range = document.range(at: pointer) else { return nil }
        let bytes = Array(document.bytes[range])
        switch JSONValue(valid: document.bytes[range]) {
        case .string(let text): return .text(text)
        case .number, .bool: return .scalar(bytes)
        case .null: return .null
        case .array, .object: return .json(bytes)
        }
    }
}
