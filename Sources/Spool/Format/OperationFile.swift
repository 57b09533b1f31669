import CSystem
package import Policy

/// The format of an operation's file: a header line, the body exactly as given, a newline, and one line for each
/// attempt. drainq-queue(5) describes the format for other languages.
///
/// Header and body are written once, and the header line ends with their checksum (`Checksum`): a later change is an
/// error, never an operation. A file without a checksum is read too. A crash or a full disk can tear the lines that are
/// appended later. Readers skip a torn line, and it never harms the operation.
package enum OperationFile {
    /// The most bytes of a header line: the length is bounded before the line is parsed.
    package static let headerLimit = 65_536

    static let knownFields = [
        "drainq", "id", "type", "createdAt", "key", "method", "url", "headers", "notBefore", "expiresAt",
        "idempotencyKey", "edited", "contentType", "bodyFile", "length", Checksum.field,
    ]
    private static let knownNames = knownFields.map { OperationFields.ShortName($0) }

    // MARK: - Writing

    package static func encode(_ operation: Operation) -> [UInt8] {
        var bytes = encode(operation.header, length: operation.body.count)
        let headerEnd = bytes.count - 1
        bytes.reserveCapacity(bytes.count + operation.body.count + 1)
        bytes.append(contentsOf: operation.body)
        Checksum.fill(&bytes, headerEnd: headerEnd, bodyEnd: bytes.count)
        bytes.append(UInt8(ascii: "\n"))
        for record in operation.attempts { bytes.append(contentsOf: encode(record)) }
        return bytes
    }

    /// Returns the header line with its newline, in its final length: the digits of its checksum are zeros.
    static func encode(_ header: OperationHeader, length: Int) -> [UInt8] {
        var line = OrderedJSONLine()
        line.member("drainq", OperationHeader.formatVersion)
        line.member("id", header.id.description)
        line.member("type", header.type.description)
        line.member("createdAt", header.createdAt.rfc3339)
        line.member("key", header.key)
        line.member("method", header.method)
        line.member("url", header.url)
        if !header.headers.isEmpty { line.member("headers", raw: encode(header.headers)) }
        line.member("notBefore", header.notBefore?.rfc3339)
        line.member("expiresAt", header.expiresAt?.rfc3339)
        line.member("idempotencyKey", header.idempotencyKey)
        if let edit = header.edited { line.member("edited", raw: encode(edit)) }
        line.member("contentType", header.contentType)
        if let file = header.bodyFile { line.member("bodyFile", raw: encode(file)) }
        for field in header.unknown { line.member(field.name, raw: field.json.utf8) }
        line.member("length", length)
        var bytes = line.ended()
        bytes.removeLast()
        Checksum.append(to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    /// Returns one attempt's line with its newline.
    package static func encode(_ record: AttemptRecord) -> [UInt8] {
        var line = OrderedJSONLine()
        line.member("at", record.at.rfc3339)
        line.member("durationMs", Int(clamping: record.duration.wholeMicroseconds / 1000))
        line.member("outcome", record.outcome.rawValue)
        line.member("status", record.status)
        line.member("error", record.error)
        line.member("rule", record.rule)
        line.member("ruleCode", record.ruleCode?.rawValue)
        line.member("retryAfter", record.retryAfter)
        line.member("excerpt", record.excerpt)
        line.member("accused", record.accused?.rawValue)
        if let answer = record.answer { line.member("answer", raw: encode(answer)) }
        if let kept = record.kept { line.member("kept", raw: encode(kept)) }
        if record.counted { line.member("counted", raw: "true".utf8) }
        if record.interruptions > 0 { line.member("interruptions", record.interruptions) }
        return line.ended()
    }

    private static func encode(_ answer: KeptAnswer) -> [UInt8] {
        var object = OrderedJSONLine()
        object.member("contentType", answer.contentType)
        if let text = String(validating: answer.body, as: UTF8.self) {
            object.member("body", text)
        } else {
            object.member("bodyBase64", Base64.encode(answer.body))
        }
        if answer.isCut { object.member("cut", raw: "true".utf8) }
        return object.ended().dropLast()
    }

    /// Returns the kept answer; `nil` if there is none, or none that can be read.
    private static func decodeAnswer(_ fields: OperationFields) -> KeptAnswer? {
        guard let range = fields.range("answer"),
            let answer = try? OperationFields(fields.bytes, in: range, file: "", line: 0)
        else { return nil }
        let body = (try? answer.string("bodyBase64")).flatMap { $0 }.flatMap { Base64.decode(Array($0.utf8)) }
        let text = (try? answer.string("body")).flatMap { $0 }.map { Array($0.utf8) }
        guard let bytes = body ?? text else { return nil }
        return KeptAnswer(
            contentType: (try? answer.string("contentType")).flatMap { $0 }, body: bytes,
            isCut: answer.range("cut").map { answer.bytes[$0].elementsEqual("true".utf8) } ?? false)
    }

    private static func encode(_ left: ChainValues) -> [UInt8] {
        var values = OrderedJSONLine()
        for (name, value) in left.kept.values.sorted(by: { $0.key < $1.key }) {
            values.member(name, raw: value.json.utf8)
        }
        for name in left.kept.unkept.keys.sorted() { values.member(name, raw: "null".utf8) }
        var object = OrderedJSONLine()
        object.member("chain", left.chain)
        object.member("values", raw: values.ended().dropLast())
        return object.ended().dropLast()
    }

    /// Returns what a delivery leaves for its chain; `nil` if it leaves nothing that can be read.
    private static func decodeKept(_ fields: OperationFields) -> ChainValues? {
        guard let range = fields.range("kept"),
            let object = try? OperationFields(fields.bytes, in: range, file: "", line: 0),
            let chain = (try? object.string("chain")).flatMap({ $0 }), let values = object.range("values"),
            let members = try? JSONScanner.members(of: fields.bytes, in: values)
        else { return nil }
        var left = ChainValues(chain: chain, kept: .none)
        for member in members {
            if let value = KeptValue(json: fields.bytes[member.value]) {
                left.kept.values[member.name] = value
            } else {
                left.kept.unkept[member.name] = .missing
            }
        }
        return left
    }

    private static func encode(_ edit: OperationHeader.Edit) -> [UInt8] {
        var object = OrderedJSONLine()
        object.member("attempts", edit.attempts)
        object.member("interruptions", edit.interruptions)
        if edit.unknowns > 0 { object.member("unknowns", edit.unknowns) }
        return object.ended().dropLast()
    }

    private static func encode(_ file: BodyFile) -> [UInt8] {
        var object = OrderedJSONLine()
        object.member("path", file.path)
        object.member("length", file.length)
        object.member("modified", Int(clamping: file.modified))
        object.member("inode", raw: String(file.inode).utf8)
        object.member("changed", file.changed.map { Int(clamping: $0) })
        object.member("sha256", file.sha256)
        return object.ended().dropLast()
    }

    static func encode(_ headers: [HeaderField]) -> [UInt8] {
        var names: [String] = []
        var values: [JSONName: [String]] = [:]
        for header in headers {
            let name = JSONName(header.name)
            if values[name] == nil { names.append(header.name) }
            values[name, default: []].append(header.value)
        }
        var bytes: [UInt8] = []
        for name in names {
            bytes.append(UInt8(ascii: bytes.isEmpty ? "{" : ","))
            JSONText.append(name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            let list = values[JSONName(name)]!
            if list.count > 1 { bytes.append(UInt8(ascii: "[")) }
            for (index, value) in list.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONText.append(value, to: &bytes)
            }
            if list.count > 1 { bytes.append(UInt8(ascii: "]")) }
        }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    // MARK: - Reading

    /// The extents of a file's parts in its bytes.
    struct Parts: Hashable {
        /// The header line without its newline.
        var header: Range<Int>
        var body: Range<Int>
        /// One line for each attempt, torn ones included.
        var attempts: [Range<Int>]
    }

    /// Reads a whole file. Errors call it `file`. Throws if `name` is not the operation's.
    package static func decode(
        _ bytes: [UInt8], file: String, named name: EntryName? = nil
    ) throws(OperationFileError) -> Operation {
        let (header, parts) = try split(bytes, file: file)
        if let contradiction = name?.contradiction(to: header) {
            throw OperationFileError(file: file, line: 1, reason: contradiction)
        }
        return Operation(
            header: header, body: Array(bytes[parts.body]),
            attempts: parts.attempts.compactMap { decodeRecord(bytes, in: $0) })
    }

    /// Returns the header of a whole file, and the extents of its parts.
    ///
    /// Believes a newer format only if the checksum does not prove that this format was written: otherwise a flipped
    /// bit of the version would keep an operation waiting for a drainq that does not exist.
    static func split(
        _ bytes: [UInt8], file: String
    ) throws(OperationFileError) -> (header: OperationHeader, parts: Parts) {
        do throws(OperationFileError) {
            return try splitAsItSays(bytes, file: file)
        } catch {
            guard case .newerFormat(let version) = error.kind, isDamagedVersion(bytes, file) else { throw error }
            throw OperationFileError(
                file: file, line: 1, field: "drainq",
                reason: "damaged: it says \(version), and the checksum is that of \(OperationHeader.formatVersion)")
        }
    }

    /// Whether the checksum is right if the version is read as this format's.
    private static func isDamagedVersion(_ bytes: [UInt8], _ file: String) -> Bool {
        guard let headerEnd = headerEnd(of: bytes), case .present = Checksum.presence(bytes, headerEnd: headerEnd),
            let members = try? JSONScanner.members(of: bytes, in: 0..<headerEnd),
            let range = members.first(where: { $0.name == "drainq" })?.value
        else { return false }
        var other = bytes
        other.replaceSubrange(range, with: String(OperationHeader.formatVersion).utf8)
        return (try? splitAsItSays(other, file: file)) != nil
    }

    /// Returns the place of the newline behind the header line; `nil` without a newline within the limit.
    private static func headerEnd(of bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return nil }
            return memchr(start, 0x0A, min(bytes.count, headerLimit)).map { UnsafeRawPointer($0) - start }
        }
    }

    private static func splitAsItSays(
        _ bytes: [UInt8], file: String
    ) throws(OperationFileError) -> (header: OperationHeader, parts: Parts) {
        func error(_ kind: OperationFileError.Kind, _ line: Int, _ reason: String) -> OperationFileError {
            OperationFileError(kind: kind, file: file, line: line, reason: reason)
        }
        if bytes.isEmpty { throw error(.truncated, 1, "it is empty") }
        guard let headerEnd = headerEnd(of: bytes) else {
            if bytes.count >= headerLimit {
                throw error(.malformed, 1, "the header line is longer than \(headerLimit) bytes")
            }
            throw error(.truncated, 1, "it ends within the header line")
        }
        let (header, length) = try decodeHeader(bytes, in: 0..<headerEnd, file: file)
        let body = headerEnd + 1
        guard bytes.count - body >= length else {
            throw error(.truncated, 2, "it is truncated: the body has \(bytes.count - body) of \(length) bytes")
        }
        let end = body + length
        guard end == bytes.count || bytes[end] == UInt8(ascii: "\n") else {
            throw error(.malformed, 2, "the body is longer than the header's length of \(length)")
        }
        if let objection = Checksum.objection(to: bytes, headerEnd: headerEnd, bodyEnd: end) {
            throw error(.malformed, 1, objection)
        }
        var parts = Parts(header: 0..<headerEnd, body: body..<end, attempts: [])
        if end + 1 < bytes.count {
            parts.attempts = bytes[(end + 1)...].split(separator: UInt8(ascii: "\n")).map(\.indices)
        }
        return (header, parts)
    }

    static func decodeHeader(
        _ bytes: [UInt8], in line: Range<Int>, file: String
    ) throws(OperationFileError) -> (OperationHeader, length: Int) {
        let fields = try OperationFields(bytes, in: line, isWhole: true, file: file, line: 1)
        try fields.version()
        guard let id = try fields.id() else { throw fields.error("id", "missing") }
        guard let createdAt = try fields.time("createdAt") else { throw fields.error("createdAt", "missing") }
        guard let length = try fields.integer("length") else { throw fields.error("length", "missing") }
        guard length >= 0 else { throw fields.error("length", "less than 0") }
        if fields.range(Checksum.field) != nil, Checksum.presence(bytes, headerEnd: line.upperBound) == .absent {
            throw fields.error(Checksum.field, "expected at the end of the line, as in ,\"crc32c\":\"1a2b3c4d\"}")
        }
        let bodyFile = try fields.bodyFile()
        if bodyFile != nil, length > 0 { throw fields.error("bodyFile", "beside a body of \(length) bytes") }
        var header = OperationHeader(
            id: id, type: try fields.type() ?? .default, createdAt: createdAt,
            contentType: try fields.string("contentType"), key: try fields.key(), method: try fields.string("method"),
            url: try fields.string("url"), headers: try fields.headers(), notBefore: try fields.time("notBefore"),
            expiresAt: try fields.time("expiresAt"), idempotencyKey: try fields.string("idempotencyKey"),
            bodyFile: bodyFile, unknown: fields.unknown(besides: knownFields, short: knownNames))
        header.edited = try fields.edit()
        return (header, length)
    }

    /// Reads an attempt's line. Returns `nil` for a line that was torn, or that a later version writes: records inform,
    /// nothing depends on them.
    static func decodeRecord(_ bytes: [UInt8], in line: Range<Int>) -> AttemptRecord? {
        var scanner = JSONScanner(bytes, in: line)
        guard let range = try? scanner.next(),
            let fields = try? OperationFields(bytes, in: range, file: "", line: 0),
            let at = try? fields.time("at"),
            let outcome = try? fields.string("outcome").flatMap(Outcome.init(rawValue:))
        else { return nil }
        var record = AttemptRecord(
            at: at, duration: .milliseconds((try? fields.integer("durationMs")) ?? 0), outcome: outcome,
            status: try? fields.integer("status"), error: try? fields.string("error"),
            rule: (try? fields.string("rule")) ?? "",
            ruleCode: (try? fields.string("ruleCode")).flatMap { $0 }.flatMap(Rule.Code.init(rawValue:)),
            retryAfter: try? fields.integer("retryAfter"),
            excerpt: try? fields.string("excerpt"),
            accused: (try? fields.string("accused")).flatMap { $0 }.flatMap(Accused.init(rawValue:)),
            counted: fields.range("counted").map { bytes[$0].elementsEqual("true".utf8) } ?? false,
            interruptions: max(0, (try? fields.integer("interruptions")) ?? 0),
            answer: decodeAnswer(fields))
        record.kept = decodeKept(fields)
        return record
    }
}
