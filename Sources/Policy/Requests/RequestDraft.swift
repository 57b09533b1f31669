/// A request as far as it can be made without secrets and without an attempt.
struct RequestDraft: Hashable {
    /// What goes out as a body; neither bytes nor a file is no body at all.
    struct Content: Hashable {
        var bytes: [UInt8]?
        var file: BodyFile?
        /// Its media type, unless a header says another.
        var type: String?
    }

    var method: String
    /// Secrets not filled in.
    var url: String
    /// The route's, without those that the operation replaces.
    var routeFields: [RequestForm.Field]
    var ownFields: [HeaderField]
    var content: Content

    /// All header fields, with those that only an attempt knows.
    func headers(
        key: String, attempt: Int, version: String, secrets: SecretValues
    ) throws(RequestError) -> [HeaderField] {
        var fields: [HeaderField] = []
        fields.reserveCapacity(routeFields.count + ownFields.count + 4)
        for field in routeFields { fields.append(try field.expanded(with: secrets)) }
        fields += ownFields
        let ownCount = fields.count
        func isGiven(_ name: String) -> Bool { fields[..<ownCount].contains { $0.name.lowercased() == name } }
        if let type = content.type, !isGiven("content-type") {
            fields.append(HeaderField(name: "Content-Type", value: type))
        }
        fields.append(HeaderField(name: "Idempotency-Key", value: try key.quotedKey))
        fields.append(HeaderField(name: "Drainq-Attempt", value: String(attempt)))
        if !isGiven("user-agent") { fields.append(HeaderField(name: "User-Agent", value: "drainq/" + version)) }
        return fields
    }
}

extension Route {
    /// What goes out of an operation.
    func content(of operation: Operation, method: String) throws(RequestError) -> RequestDraft.Content {
        if let batch {
            return RequestDraft.Content(
                bytes: batch.joined([try batchItem(of: operation)]), type: batch.format.contentType)
        }
        if let file = operation.header.bodyFile {
            guard `protocol` == .plain, body == nil else {
                throw .badBodyFile(path: file.path, reason: "cannot be put into the envelope of the route")
            }
            return RequestDraft.Content(file: file, type: try contentType(of: operation.header, hasBody: true))
        }
        switch `protocol` {
        case .callable:
            let data = try json(of: operation)
            return RequestDraft.Content(
                bytes: Array("{\"data\":".utf8) + data + Array("}".utf8), type: "application/json")
        case .plain where body?.text.isEmpty == true:
            return RequestDraft.Content(bytes: Self.noBody(of: method), type: nil)
        case .plain where body != nil:
            return RequestDraft.Content(bytes: try json(of: operation), type: "application/json")
        case .plain:
            let bytes = operation.body.isEmpty ? Self.noBody(of: method) : operation.body
            return RequestDraft.Content(
                bytes: bytes, type: try contentType(of: operation.header, hasBody: bytes?.isEmpty == false))
        }
    }

    /// The payload, in its envelope if the route has one.
    func json(of operation: Operation) throws(RequestError) -> [UInt8] {
        if let body { return try body.expanded(for: operation) }
        let payload = try operation.payload
        return Array(payload.bytes[payload.range])
    }

    /// Bytes of no declared type are said to be just that: a transport by itself would call them a form.
    private func contentType(of header: OperationHeader, hasBody: Bool) throws(RequestError) -> String? {
        guard let type = header.contentType ?? (hasBody ? "application/octet-stream" : nil) else { return nil }
        guard HeaderField.canSend(value: type) else {
            throw .badHeader(name: "Content-Type", reason: .value, ownedBy: .operation)
        }
        return type
    }

    /// What a method sends that has nothing to send.
    private static func noBody(of method: String) -> [UInt8]? {
        switch method {
        case "GET", "HEAD", "DELETE", "OPTIONS": nil
        default: []
        }
    }
}

extension OutgoingRequest {
    /// Puts the fields that the route's command has answered in the place of those of the same names.
    package mutating func setHeaders(fromCommand fields: [HeaderField]) throws(RequestError) {
        for field in fields {
            if let defect = field.defect {
                throw .headersCommand(reason: "answered the header '\(escapedForDisplay(field.name))', which \(defect)")
            }
        }
        let names = Set(fields.map { $0.name.lowercased() })
        headers.removeAll { names.contains($0.name.lowercased()) }
        headers += fields
    }
}

extension String {
    /// The text as a string of RFC 8941 §3.3.3, in its quotes; thrown if it is empty or has other than printable ASCII.
    var quotedKey: String {
        get throws(RequestError) {
            var text = self
            let quoted = text.withUTF8 { bytes -> [UInt8]? in
                var quoted = [UInt8(ascii: "\"")]
                quoted.reserveCapacity(bytes.count + 2)
                for byte in bytes {
                    guard (0x20...0x7E).contains(byte) else { return nil }
                    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { quoted.append(UInt8(ascii: "\\")) }
                    quoted.append(byte)
                }
                quoted.append(UInt8(ascii: "\""))
                return quoted
            }
            guard !isEmpty, let quoted else { throw .badIdempotencyKey }
            return String(decoding: quoted, as: UTF8.self)
        }
    }
}
