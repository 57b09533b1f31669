#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Route {
    /// The request that an operation asks for on this route; `attempt` counts from 1.
    ///
    /// The operation's own url, method and headers win. Every attempt carries the same `Idempotency-Key`, a string of
    /// RFC 8941 (draft-ietf-httpapi-idempotency-key-header), and its number in `Drainq-Attempt`.
    package func request(for operation: Operation, attempt: Int) throws(RequestError) -> OutgoingRequest {
        let header = operation.header
        let url = try requestURL(for: operation)
        let method = header.method ?? method
        guard method.isToken else {
            throw .badMethod(method, ownedBy: header.method == nil ? .route : .operation)
        }
        var fields = try merged(header.headers)
        // GET, HEAD and DELETE carry a body only where the operation has one.
        let body = operation.body.isEmpty && ["GET", "HEAD", "DELETE"].contains(method) ? nil : operation.body
        func add(_ name: String, _ value: String) {
            if !fields.contains(where: { $0.name.lowercased() == name.lowercased() }) {
                fields.append(HeaderField(name: name, value: value))
            }
        }
        if body != nil { add("Content-Type", header.contentType ?? "application/octet-stream") }
        add("User-Agent", "drainq/1")
        add("Idempotency-Key", try quoted(header.idempotencyKey ?? header.id.description))
        add("Drainq-Attempt", "\(attempt)")
        return OutgoingRequest(
            method: method, url: url, headers: fields, body: body, timeouts: timeouts, answerLimit: answerLimit)
    }

    private func merged(_ own: [HeaderField]) throws(RequestError) -> [HeaderField] {
        for field in headers {
            if let defect = field.defect { throw .badHeader(name: field.name, reason: defect, ownedBy: .route) }
        }
        for field in own {
            if let defect = field.defect { throw .badHeader(name: field.name, reason: defect, ownedBy: .operation) }
        }
        let names = Set(own.map { $0.name.lowercased() })
        return headers.filter { !names.contains($0.name.lowercased()) } + own
    }

    private func requestURL(for operation: Operation) throws(RequestError) -> String {
        if let own = operation.header.url {
            guard Origin(url: own) != nil else { throw .badURL(own, ownedBy: .operation) }
            return own
        }
        guard let url else { throw .noURL(operation.header.type) }
        guard origin != nil else { throw .badURL(url, ownedBy: .route) }
        return try URLTemplate(url).expanded(for: operation)
    }
}

/// A string of RFC 8941 §3.3.3.
private func quoted(_ text: String) throws(RequestError) -> String {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw .badIdempotencyKey }
    var result = "\""
    for character in text {
        if character == "\"" || character == "\\" { result += "\\" }
        result.append(character)
    }
    return result + "\""
}

/// A route's url with its placeholders: `{id} {type} {key} {payload.field}`, in path and query.
package struct URLTemplate: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// The url for one operation, each value percent-encoded down to the unreserved characters (RFC 3986 §2.3).
    package func expanded(for operation: Operation) throws(RequestError) -> String {
        var result = ""
        var rest = text[...]
        var payload: JSONValue?
        while let open = rest.firstIndex(of: "{") {
            result += rest[..<open]
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw .unknownPlaceholder(String(rest[rest.index(after: open)...]))
            }
            let name = String(rest[rest.index(after: open)..<close])
            let value: String?
            switch name {
            case "id": value = operation.header.id.description
            case "type": value = operation.header.type.description
            case "key": value = operation.header.key
            default:
                guard name.hasPrefix("payload.") else { throw .unknownPlaceholder(name) }
                let decoded = payload ?? JSONValue(decoding: operation.body)
                payload = decoded
                value = try decoded.scalar(at: name.dropFirst(8).split(separator: "."), placeholder: name)
            }
            guard let value else { throw .missingValue(placeholder: name) }
            if !result.contains("?"), ["", ".", ".."].contains(value) {
                throw .unusableValue(placeholder: name, reason: "would change the path")
            }
            result += value.percentEncoded
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }
}

/// A decoded payload, as far as placeholders look into it. Numbers keep the text that Foundation's decimal gives them.
private enum JSONValue: Decodable {
    case text(String)
    case object([String: JSONValue])
    case other
    case null

    init(decoding bytes: [UInt8]) {
        do {
            self = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
        } catch {
            // No JSON has no fields: the placeholder's value is missing, and that is what is reported.
            self = .null
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let truth = try? container.decode(Bool.self) {
            self = .text(truth ? "true" : "false")
        } else if let number = try? container.decode(Decimal.self) {
            self = .text("\(number)")
        } else if let object = try? container.decode([String: JSONValue].self) {
            self = .object(object)
        } else {
            self = .other
        }
    }

    func scalar(at path: [Substring], placeholder: String) throws(RequestError) -> String? {
        var value = self
        for part in path {
            guard case .object(let members) = value, let next = members[String(part)] else { return nil }
            value = next
        }
        switch value {
        case .text(let text): return text
        case .null: throw .unusableValue(placeholder: placeholder, reason: "is null")
        case .object, .other: throw .unusableValue(placeholder: placeholder, reason: "is an object or an array")
        }
    }
}

extension String {
    fileprivate var percentEncoded: String {
        var result = ""
        for byte in utf8 {
            if byte.isIdentifierByte || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "~") {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let hex = String(byte, radix: 16, uppercase: true)
                result += byte < 16 ? "%0\(hex)" : "%\(hex)"
            }
        }
        return result
    }
}
