/// The part of a request that its operation and its route determine.
struct RequestDraft: Hashable {
    /// The body of a request. Without bytes and without a file there is no body.
    struct Content: Hashable {
        var bytes: [UInt8]?
        var file: BodyFile?
        /// The place of the bytes, if they are left in the operation's file.
        var part: FilePart?
        /// The media type, unless a header names another.
        @Bytewise var type: String? = nil

        var isEmpty: Bool { (bytes ?? []).isEmpty && file == nil && part == nil }
    }

    @Bytewise var method: String
    @Bytewise var url: String
    /// The route's fields that the operation does not replace, and the operation's own.
    var headers: [HeaderField]
    /// The files of the operation's secrets, by name. A batch has one set of them.
    @Bytewise var secretFiles: [String: String] = [:]
    var content = Content()

    /// Returns all header fields, including drainq's own.
    func headers(key: String, attempt: Int, version: String) throws(RequestError) -> [HeaderField] {
        var fields = headers
        fields.reserveCapacity(headers.count + 4)
        func isGiven(_ name: StaticString) -> Bool { headers.contains { $0.isNamed(name) } }
        if let type = content.type, !isGiven("content-type") {
            fields.append(HeaderField(name: "Content-Type", value: type))
        }
        fields.append(HeaderField(name: "Idempotency-Key", value: try key.quotedKey))
        fields.append(HeaderField(name: "Drainq-Attempt", value: String(attempt)))
        if !isGiven("user-agent") { fields.append(HeaderField(name: "User-Agent", value: "drainq/" + version)) }
        return fields
    }
}

extension OutgoingRequest {
    /// Replaces fields by those of the same names that the route's command has answered, and adds the rest.
    package mutating func setHeaders(fromCommand fields: [HeaderField]) throws(RequestError) {
        if fields.isEmpty { return }
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
    /// The text as a quoted string of RFC 8941 §3.3.3. Throws if the text is empty or has other than printable ASCII.
    var quotedKey: String {
        get throws(RequestError) {
            var text = self
            let isPrintable = text.withUTF8 { bytes in !bytes.isEmpty && bytes.allSatisfy { (0x20...0x7E).contains($0) }
            }
            guard isPrintable else { throw .badIdempotencyKey }
            return text.withUTF8 { bytes in
                String(unsafeUninitializedCapacity: 2 * bytes.count + 2) { quoted in
                    quoted[0] = UInt8(ascii: "\"")
                    var count = 1
                    for byte in bytes {
                        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                            quoted[count] = UInt8(ascii: "\\")
                            count += 1
                        }
                        quoted[count] = byte
                        count += 1
                    }
                    quoted[count] = UInt8(ascii: "\"")
                    return count + 1
                }
            }
        }
    }
}
