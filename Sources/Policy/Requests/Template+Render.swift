/// The values that fill in a template.
struct TemplateValues {
    let operation: Operation?
    /// `nil` before an attempt: the template is only tested, or shown.
    var attempt: Int?
    /// `nil` leaves `${secret:NAME}` unchanged.
    var secrets: SecretValues?
    /// The members of a batch, joined.
    var items: [UInt8] = []
    /// Whether each line of the body is a value of its own, so that no operation's value may add a line.
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

    /// Returns the filled-in template. Throws the operation's defect for a value that is missing or does not fit its
    /// place, and the route's for a missing secret.
    func bytes(_ values: TemplateValues) throws(RequestError) -> [UInt8] {
        try rendered(values) ?? []
    }

    /// Returns the filled-in value of a header field; `nil` if the field is left out.
    func fieldValue(_ values: TemplateValues) throws(RequestError) -> String? {
        try rendered(values).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the filled-in template; `nil` for a header field that is left out.
    private func rendered(_ values: TemplateValues) throws(RequestError) -> [UInt8]? {
        var bytes: [UInt8] = []
        var reader = PayloadReader(values.operation)
        // The separator that the next text begins with, if the member before it is left out.
        var dropped: UInt8?
        for part in parts {
            switch part {
            case .text(let text):
                bytes += text.dropping(dropped)
                dropped = nil
            case .base64(let template): bytes += Array(Base64.encode(try template.bytes(values)).utf8)
            case .secret(let name, let isBase64, let place):
                bytes +=
                    values.secrets == nil
                    ? Array("${secret:\(name)\(isBase64 ? ":base64" : "")}".utf8)
                    : try Self.secret(name, isBase64, values.secrets!, in: place)
            // The members are joined already.
            case .value(let placeholder) where placeholder.word == .items: bytes += values.items
            case .value(let placeholder):
                if let value = try reader.bytes(of: placeholder, values) {
                    bytes += value
                } else if let separator = placeholder.place.separator, case .nothing(let length) = placeholder.fallback
                {
                    bytes.removeLast(length)
                    let end = bytes.lastIndex { !$0.isJSONWhitespace }
                    if let end, bytes[end] == separator {
                        bytes.removeSubrange(end...)
                    } else {
                        dropped = separator
                    }
                } else {
                    return nil
                }
            }
        }
        return bytes
    }

    /// Returns a secret, escaped. Throws if the secret is missing, empty, or has a control character, which would
    /// change the request. The error contains nothing of the secret.
    private static func secret(
        _ name: String, _ isBase64: Bool, _ secrets: SecretValues, in place: Place
    ) throws(RequestError) -> [UInt8] {
        guard let secret = secrets.values[name] else {
            if let delay = secrets.unavailable[name] {
                throw .noCredentials(
                    reason: "the secret '\(escapedForDisplay(name))' \(secrets.failures[name] ?? "")", for: delay)
            }
            let reason = secrets.failures[name] ?? "is not configured"
            throw secrets.files[name] == nil
                ? .missingSecret(name, reason: reason) : .missingOwnSecret(name, reason: reason)
        }
        if secret.isEmpty { throw .missingSecret(name, reason: "is empty") }
        if !SecretSource.isText(secret) {
            throw .missingSecret(name, reason: "has a line break or another control character in it")
        }
        let bytes = Array(secret.utf8)
        return TemplateValue.escaped(isBase64 ? Array(Base64.encode(bytes).utf8) : bytes, for: place)
    }
}

extension Template.Place {
    /// The separator of the members among which one can be left out; `nil` if there are none.
    fileprivate var separator: UInt8? {
        switch self {
        case .jsonValue: UInt8(ascii: ",")
        case .query, .form: UInt8(ascii: "&")
        case .path, .header, .jsonString, .text, .key, .segment: nil
        }
    }
}

extension [UInt8] {
    /// Returns the text without this separator at its start.
    fileprivate func dropping(_ separator: UInt8?) -> ArraySlice<UInt8> {
        guard let separator, let first = firstIndex(where: { !$0.isJSONWhitespace }), self[first] == separator else {
            return self[...]
        }
        return self[(first + 1)...]
    }
}

extension Template.Format {
    fileprivate func value(of time: Timestamp) -> TemplateValue {
        /// Rounds down, also before 1970.
        func whole(_ unit: Int64) -> Int64 {
            (time.microseconds >= 0 ? time.microseconds : time.microseconds -| (unit -| 1)) / unit
        }
        switch self {
        case .base64, .rfc3339: return .text(Timestamp(microseconds: whole(1_000_000) *| 1_000_000).rfc3339)
        case .epoch: return .json(Array(String(whole(1_000_000)).utf8)[...])
        case .epochMillis: return .json(Array(String(whole(1000)).utf8)[...])
        }
    }
}

/// A reader of an operation's values. Parses the payload once, when its first value is needed.
private struct PayloadReader {
    private let operation: Operation?
    private var document: JSONDocument?

    init(_ operation: Operation?) { self.operation = operation }

    /// Returns the escaped value of a placeholder, or its default; `nil` if what contains it is left out.
    mutating func bytes(
        of placeholder: Template.Placeholder, _ values: TemplateValues
    ) throws(RequestError) -> [UInt8]? {
        let (word, place) = (placeholder.word, placeholder.place)
        do throws(TemplateValue.Defect) {
            do throws(TemplateValue.Defect) {
                let isBase64 = placeholder.format == .base64
                var value = try value(of: word, values, for: isBase64 ? nil : place)
                if let format = placeholder.format, !isBase64, let operation {
                    value = format.value(of: operation.header.createdAt)
                }
                // null stays null where JSON or a default can stand for it.
                let keepsNull = value.isNull && (place == .jsonValue || placeholder.fallback != .failure)
                if isBase64, !keepsNull { value = try value.inBase64 }
                return try value.escaped(for: place, isLined: values.isLined)
            } catch  where error.isLack {
                switch placeholder.fallback {
                case .failure: throw error
                case .nothing: return nil
                case .value(let json):
                    return try TemplateValue.json(json[...]).escaped(for: place, isLined: values.isLined)
                }
            }
        } catch {
            throw error.error(of: word)
        }
    }

    /// Returns the value of a word of one operation. Without a `place` (Base64), the value is the raw bytes.
    mutating func value(
        of word: TemplateWord, _ values: TemplateValues, for place: Template.Place?
    ) throws(TemplateValue.Defect) -> TemplateValue {
        guard let operation else { throw .missing }
        let header = operation.header
        switch word {
        case .id: return .text(header.id.description)
        case .type: return .text(header.type.description)
        case .createdAt: return .text(header.createdAt.rfc3339)
        case .attempt: return .json(Array(String(values.attempt ?? 1).utf8)[...])
        case .key:
            guard let key = header.key else { throw .missing }
            return .text(key)
        case .items: return .bytes(values.items)
        case .kept(let name): return try Self.kept(name, of: operation)
        case .payload(let pointer) where pointer.tokens.isEmpty: return try payload(of: operation, for: place)
        case .payload(let pointer): return try value(at: pointer, of: operation)
        }
    }

    /// Returns a kept value; before an attempt, the placeholder itself, so that all else can be checked and shown.
    private static func kept(_ name: String, of operation: Operation) throws(TemplateValue.Defect) -> TemplateValue {
        guard let kept = operation.kept else { return .text("{\(TemplateWord.kept(name).text)}") }
        guard let value = kept[name] else { throw .missing }
        return .json(Array(value.json.utf8)[...])
    }

    private mutating func payload(
        of operation: Operation, for place: Template.Place?
    ) throws(TemplateValue.Defect) -> TemplateValue {
        if operation.header.bodyFile != nil { throw .other(.notJSON(reason: "is a file, which no template takes")) }
        let isJSON = operation.header.contentType.map { BodySyntax(mediaType: $0) == .json } ?? false
        guard let place, place == .jsonValue || isJSON else { return .bytes(operation.body) }
        if document == nil {
            do throws(RequestError) {
                document = try operation.payload
            } catch {
                throw .other(error)
            }
        }
        return .json(document!.bytes[document!.range])
    }

    /// Returns the value at a pointer as written. Of a repeated name the last counts.
    private mutating func value(
        at pointer: JSONPointer, of operation: Operation
    ) throws(TemplateValue.Defect) -> TemplateValue {
        if operation.body.isEmpty { throw .missing }
        if document == nil {
            do throws(JSONSyntaxError) {
                document = try JSONDocument(operation.body)
            } catch {
                throw .unusable("cannot be read: \(error)")
            }
        }
        guard let document, let range = document.range(at: pointer) else { throw .missing }
        return .json(document.bytes[range])
    }
}
