package import Policy

/// An operation with all that its file and name say, as a line of JSON. `export` writes the line, `import` reads it.
///
/// ```
/// {"schema":1,"id":…,"state":…,"held":true,"attempts":3,"interruptions":1,"due":…,"header":{…},
///  "payload":…,"history":[…]}
/// ```
/// `header` and each element of `history` are the lines of the file, byte for byte, but `header` has no checksum. A
/// JSON body without a line break is `payload`, byte for byte; any other body is `bodyBase64`. So an unedited line
/// makes the same file with the same name; a file without a checksum gets one. A line torn by a crash is left out.
///
/// A line may have been edited before `import` reads it. The line has at most one of `payload`, `body` (text) and
/// `bodyBase64`: this member is the body, whatever `length` says. Digests and times of the name follow from the header.
/// `new` and `deferred` are the same state, and the name decides the directory (`QueueState.home`).
package struct PortableOperation: Hashable, Sendable {
    /// The version of the line's format.
    package static let schema = 1

    /// Its state and name: `new`, `deferred`, `failed` or `delivered`.
    package let entry: Entry
    /// The bytes of its file.
    package let file: [UInt8]
    package let header: OperationHeader
    let parts: OperationFile.Parts

    /// Creates the portable operation from an entry and its file. A claimed operation gets its home state
    /// (`QueueState.home`).
    package init(_ entry: Entry, file: [UInt8]) throws(OperationFileError) {
        (header, parts) = try OperationFile.split(file, file: entry.path)
        self.file = file
        let isClaimed = entry.state == .claimed
        self.entry = Entry(state: isClaimed ? .home(of: entry.name) : entry.state, name: entry.name)
    }

    private init(entry: Entry, file: [UInt8], header: OperationHeader, parts: OperationFile.Parts) {
        self.entry = entry
        self.file = file
        self.header = header
        self.parts = parts
    }

    /// The bytes of its body.
    package var body: [UInt8] { Array(file[parts.body]) }

    package var fingerprint: Fingerprint { Fingerprint(of: file) }

    /// The bytes after the body: its newline and the records of its attempts.
    var historyLength: Int { file.count - parts.body.upperBound }

    /// Returns the same operation with another time of creation and a new header.
    func created(at time: Timestamp) -> PortableOperation {
        var (header, name) = (header, entry.name)
        (header.createdAt, name.createdAt) = (time, time)
        return changed(header, name.asWritten, history)
    }

    /// Returns the same operation with another idempotency key and the history of a queued operation, after an edit.
    func keyed(
        _ key: String?, _ edit: OperationHeader.Edit?, historyOf queued: PortableOperation
    ) -> PortableOperation {
        var header = header
        (header.idempotencyKey, header.edited) = (key, edit)
        return changed(header, entry.name, queued.history)
    }

    /// The records of its attempts.
    package var attempts: [AttemptRecord] { parts.attempts.compactMap { OperationFile.decodeRecord(file, in: $0) } }

    /// The number of records of its attempts.
    var recordCount: Int { attempts.count }

    /// The lines of its attempts.
    private var history: ArraySlice<UInt8> { file[parts.body.upperBound...].dropFirst() }

    private func changed(
        _ header: OperationHeader, _ name: EntryName, _ history: ArraySlice<UInt8>
    ) -> PortableOperation {
        let bytes = OperationFile.encode(Operation(header: header, body: body)) + history
        // A file that has been read can be read again with another time or key.
        guard let (written, parts) = try? OperationFile.split(bytes, file: entry.path) else { return self }
        return PortableOperation(
            entry: Entry(state: entry.state, name: name), file: bytes, header: written, parts: parts)
    }

    // MARK: - Writing

    /// Returns the line with its newline. Throws if the header is nested too deeply to be read again.
    package func line() throws(OperationFileError) -> [UInt8] {
        let name = entry.name
        var line = OrderedJSONLine()
        line.member("schema", Self.schema)
        line.member("id", name.id.description)
        line.member("state", entry.state.rawValue)
        if name.isHeld { line.member("held", raw: "true".utf8) }
        line.member("attempts", name.attempts)
        if name.interruptions > 0 { line.member("interruptions", name.interruptions) }
        if name.unknowns > 0 { line.member("unknowns", name.unknowns) }
        switch name.gate {
        case .open: break
        case .notBefore(let moment): line.member("notBefore", moment.rfc3339)
        case .retryAt(let moment): line.member("due", moment.rfc3339)
        }
        guard let header = object(parts.header) else {
            throw OperationFileError(file: entry.path, line: 1, reason: "the header is nested too deeply")
        }
        line.member("header", raw: Checksum.removed(from: header))
        let body = file[parts.body]
        if Self.canStandInALine(body) {
            line.member("payload", raw: body)
        } else if !body.isEmpty {
            line.member("bodyBase64", Base64.encode(body))
        }
        let attempts = parts.attempts.compactMap(object)
        if !attempts.isEmpty {
            line.member("history", raw: Array("[".utf8) + attempts.joined(separator: ",".utf8) + Array("]".utf8))
        }
        return line.ended()
    }

    /// Returns the object in a line of the file; `nil` if the line was torn.
    private func object(_ line: Range<Int>) -> ArraySlice<UInt8>? {
        let bytes = file[line].onOneLine
        var scanner = JSONScanner(bytes)
        guard let range = try? scanner.next(), bytes[range.lowerBound] == UInt8(ascii: "{"),
            bytes[range.upperBound...].allSatisfy(\.isJSONWhitespace), Self.canStandInALine(bytes[range])
        else { return nil }
        return bytes[range]
    }

    /// Whether the bytes are exactly one JSON value that a line of JSON can contain unchanged.
    private static func canStandInALine(_ bytes: ArraySlice<UInt8>) -> Bool {
        if bytes.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) { return false }
        guard let first = bytes.first, let last = bytes.last, !first.isJSONWhitespace, !last.isJSONWhitespace else {
            return false
        }
        // In an array, since the value will be one level deeper, and alone, since `1,2` is not a value.
        let range = JSONScanner([UInt8(ascii: "[")] + bytes + [UInt8(ascii: "]")]).onlyValue
        return range != nil && JSONScanner(Array(bytes)).onlyValue != nil
    }

    // MARK: - Reading

    private static let fields = [
        "schema", "id", "state", "held", "attempts", "interruptions", "unknowns", "due", "notBefore", "header",
        "payload", "body",
        "bodyBase64", "history",
    ]

    /// Reads one JSON value. Errors name the value by `file` and `line`.
    package init(json bytes: [UInt8], file name: String, line: Int) throws(OperationFileError) {
        let fields = try OperationFields(bytes, in: 0..<bytes.count, file: name, line: line)
        guard let schema = try fields.integer("schema") else {
            throw fields.error("schema", "missing: 'drainq export' writes it; 'drainq add' takes other JSON")
        }
        guard schema == Self.schema else {
            throw fields.error("schema", "this drainq reads \(Self.schema), not \(schema)")
        }
        // An unknown field, misspelt or in the wrong object, would be lost.
        if let stranger = fields.unknown(besides: Self.fields).first {
            throw fields.error(stranger.name, "no such field; those of the operation are in 'header'")
        }
        file = try Self.file(fields)
        (header, parts) = try OperationFile.split(file, file: name)
        if let id = try fields.id(), id != header.id {
            throw fields.error("id", "'\(id)', in the header '\(header.id)'")
        }
        entry = try Self.entry(fields, header)
    }

    /// Returns the bytes of the file: header line, body, and the lines of the attempts.
    private static func file(_ fields: OperationFields) throws(OperationFileError) -> [UInt8] {
        guard let range = fields.range("header") else { throw fields.error("header", "missing") }
        let members: [JSONScanner.Member]?
        do throws(JSONSyntaxError) {
            members = try JSONScanner.members(of: fields.bytes, in: range)
        } catch {
            throw fields.error("header", "\(error)")
        }
        guard let members else { throw fields.error("header", "expected an object") }
        let length = members.first { $0.name == "length" }?.value
        let body = try body(fields, length)
        var file: [UInt8] = []
        if let length {
            file += fields.bytes[range.lowerBound..<length.lowerBound]
            file += String(body.count).utf8
            file += fields.bytes[length.upperBound..<range.upperBound]
        } else {
            file += fields.bytes[range].dropLast() + (members.isEmpty ? "" : ",").utf8
            file += "\"length\":\(body.count)}".utf8
        }
        file = Array(Checksum.removed(from: file.onOneLine[...]))
        Checksum.append(to: &file)
        let headerEnd = file.count
        file += [UInt8(ascii: "\n")] + body
        Checksum.fill(&file, headerEnd: headerEnd, bodyEnd: file.count)
        file.append(UInt8(ascii: "\n"))
        for attempt in try elements(fields, "history") {
            file += fields.bytes[attempt].onOneLine + [UInt8(ascii: "\n")]
        }
        return file
    }

    /// Returns the body. An absent body must be empty by the header: `import` must not lose a body.
    private static func body(_ fields: OperationFields, _ length: Range<Int>?) throws(OperationFileError) -> [UInt8] {
        let given = ["payload", "body", "bodyBase64"].filter { fields.range($0) != nil }
        if given.count > 1, given.last == "bodyBase64" {
            throw fields.error(
                "bodyBase64", "the body stands here: remove the field to replace the whole body by '\(given[0])'")
        }
        if given.count > 1 { throw fields.error(given[1], "only one of payload, body and bodyBase64") }
        switch given.first {
        // A program that edits may write a value over several lines, which the next export could not.
        case "payload": return fields.bytes[fields.range("payload")!].onOneLine
        case "body": return Array(try fields.string("body")!.utf8)
        case "bodyBase64":
            guard let body = Base64.decode(try fields.string("bodyBase64")!.utf8) else {
                throw fields.error("bodyBase64", "expected base64")
            }
            return body
        default:
            if let length, JSONText.integer(fields.bytes, length) != 0 {
                throw fields.error("payload", "missing, and 'length' in the header is not 0")
            }
            return []
        }
    }

    private static func elements(
        _ fields: OperationFields, _ name: String
    ) throws(OperationFileError) -> [Range<Int>] {
        guard let range = fields.range(name) else { return [] }
        var elements: [Range<Int>] = []
        guard (try? JSONScanner.forEachElement(of: fields.bytes, in: range) { elements.append($0) }) == true,
            elements.allSatisfy({ fields.bytes[$0.lowerBound] == UInt8(ascii: "{") })
        else { throw fields.error(name, "expected an array of objects") }
        return elements
    }

    private static func entry(
        _ fields: OperationFields, _ header: OperationHeader
    ) throws(OperationFileError) -> Entry {
        guard let word = try fields.string("state") else { throw fields.error("state", "missing") }
        guard let state = QueueState(rawValue: word), state != .claimed, state != .quarantine else {
            throw fields.error("state", "expected new, deferred, failed or delivered")
        }
        func count(_ field: String, _ most: Int) throws(OperationFileError) -> Int {
            let count = try fields.integer(field) ?? 0
            guard (0...most).contains(count) else { throw fields.error(field, "expected 0 to \(most)") }
            return count
        }
        var name = EntryName(naming: header)
        name.attempts = try count("attempts", 9999)
        name.interruptions = try count("interruptions", 99)
        name.unknowns = try count("unknowns", 9)
        name.isHeld = try fields.flag("held") ?? false
        switch (try fields.time("due"), try fields.time("notBefore")) {
        case (let due?, nil): name.gate = .retryAt(due)
        case (nil, let moment?): name.gate = .notBefore(moment)
        case (nil, nil): name.gate = .open
        case (.some, .some): throw fields.error("notBefore", "not together with due")
        }
        name = name.asWritten
        return Entry(state: state == .new || state == .deferred ? .home(of: name) : state, name: name)
    }
}

extension JSONScanner {
    /// The extent of the one value that fills the bytes, without any white space around it; `nil` otherwise.
    fileprivate var onlyValue: Range<Int>? {
        var scanner = self
        guard let range = try? scanner.next(), range == bytes.indices else { return nil }
        return range
    }
}

extension OperationFields {
    fileprivate func flag(_ field: String) throws(OperationFileError) -> Bool? {
        guard let range = range(field) else { return nil }
        switch String(decoding: bytes[range], as: UTF8.self) {
        case "true": return true
        case "false": return false
        default: throw error(field, "expected true or false")
        }
    }
}

extension Collection<UInt8> {
    /// The JSON text without line breaks. Line breaks occur only between its tokens.
    fileprivate var onOneLine: [UInt8] {
        map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
    }
}

/// The content of a file: an edit has the name of the operation before the edit, so a name does not tell them apart.
package struct Fingerprint: Hashable, Sendable {
    private let digest: Digest

    init(of bytes: [UInt8]) { digest = Digest(hashing: bytes) }
}
