import Policy

/// The fields that a header line and an envelope share, read from the members of a JSON object.
struct OperationFields {
    let bytes: [UInt8]
    let file: String
    let line: Int
    /// The members in the order of the text.
    private let members: [Member]
    /// The hashes of their names, a bit each; all bits if a name has escapes or is long. Most fields are absent.
    private let hashes: UInt64

    private struct Member {
        /// The extent of the name between its quotes.
        let name: Range<Int>
        let value: Range<Int>
        /// Its name, if it is ASCII without escapes, and short.
        let shortName: ShortName?
        /// Whether the value is a string of ASCII without escapes.
        let hasPlainValue: Bool
    }

    /// A name of up to 16 bytes, as all fields of drainq have: it compares without a string.
    struct ShortName: Equatable {
        private let length: Int
        private let bytes: (UInt64, UInt64)

        /// `nil` for a longer name.
        init?(_ name: UnsafeBufferPointer<UInt8>) {
            length = name.count
            if length > 16 { return nil }
            var bytes: (UInt64, UInt64) = (0, 0)
            withUnsafeMutableBytes(of: &bytes) { $0.copyBytes(from: name) }
            self.bytes = bytes
        }

        init?(_ name: String) {
            var name = name
            guard let short = name.withUTF8({ Self($0) }) else { return nil }
            self = short
        }

        static func == (left: Self, right: Self) -> Bool { left.length == right.length && left.bytes == right.bytes }
    }

    /// Reads the object that fills `range`. Throws if a name is there twice: two readers could see two values.
    ///
    /// With `isWhole` the range may have white space around the object, and nothing else.
    init(
        _ bytes: [UInt8], in range: Range<Int>, isWhole: Bool = false, file: String, line: Int
    ) throws(OperationFileError) {
        self.bytes = bytes
        self.file = file
        self.line = line
        var members: [Member] = []
        members.reserveCapacity(8)
        var hashes: UInt64 = 0
        let isObject: Bool
        do throws(JSONSyntaxError) {
            isObject = try JSONScanner.forEachMember(of: bytes, in: range, isOnly: isWhole) {
                (name, value, plain) throws(JSONSyntaxError) in
                if !plain.name { _ = try JSONScanner.name(of: bytes, in: name) }
                let name = name.inner
                let shortName =
                    plain.name ? bytes.withUnsafeBufferPointer { ShortName(.init(rebasing: $0[name])) } : nil
                hashes |= shortName == nil ? .max : Self.hash(bytes[name])
                members.append(
                    Member(name: name, value: value, shortName: shortName, hasPlainValue: plain.value))
            }
        } catch {
            throw OperationFileError(file: file, line: line, reason: "\(error)")
        }
        guard isObject else { throw OperationFileError(file: file, line: line, reason: "expected an object") }
        (self.members, self.hashes) = (members, hashes)
        if let name = firstRepeatedName { throw error(name.text, "is given twice") }
    }

    /// The first name equal to an earlier name.
    private var firstRepeatedName: JSONName? {
        if hashes != .max, hashes.nonzeroBitCount == members.count { return nil }
        var seen = Set<JSONName>(minimumCapacity: members.count)
        return members.lazy.map { name(of: $0) }.first { !seen.insert($0).inserted }
    }

    /// The hash of a name, as a bit. The factor keeps the fields of each of drainq's objects apart.
    private static func hash(_ name: some Collection<UInt8>) -> UInt64 {
        1 &<< (35 &* UInt64(name.first ?? 0) &+ UInt64(name.count))
    }

    private func name(of member: Member) -> JSONName {
        if member.shortName != nil { return JSONName(String(decoding: bytes[member.name], as: UTF8.self)) }
        let quoted = member.name.lowerBound - 1..<member.name.upperBound + 1
        // try?: `init` has decoded the name, and thrown its error.
        return JSONName((try? JSONScanner.name(of: bytes, in: quoted)) ?? "")
    }

    func error(_ field: String, _ reason: String) -> OperationFileError {
        OperationFileError(file: file, line: line, field: field, reason: reason)
    }

    /// Returns the extent of a field's raw value; `nil` if the field is absent.
    func range(_ field: String) -> Range<Int>? { member(field)?.value }

    private func member(_ field: String) -> Member? {
        if hashes & Self.hash(field.utf8) == 0 { return nil }
        let shortName = ShortName(field)
        return members.first { member in
            if let own = member.shortName { own == shortName } else { name(of: member) == JSONName(field) }
        }
    }

    func string(_ field: String) throws(OperationFileError) -> String? {
        guard let member = member(field) else { return nil }
        if member.hasPlainValue { return String(decoding: bytes[member.value.inner], as: UTF8.self) }
        guard let text = JSONText.string(bytes, member.value) else { throw error(field, "expected a string") }
        return text
    }

    func integer(_ field: String) throws(OperationFileError) -> Int? {
        guard let range = range(field) else { return nil }
        guard let number = JSONText.integer(bytes, range) else { throw error(field, "expected a whole number") }
        return number
    }

    func time(_ field: String) throws(OperationFileError) -> Timestamp? {
        guard let member = member(field) else { return nil }
        let read =
            member.hasPlainValue
            ? bytes.withUnsafeBufferPointer { Timestamp(rfc3339: .init(rebasing: $0[member.value.inner])) }
            : try string(field).flatMap { Timestamp(rfc3339: $0) }
        guard let time = read else { throw error(field, "expected a time such as 2026-11-21T09:15:00Z") }
        return time
    }

    func id() throws(OperationFileError) -> OperationID? {
        guard let text = try string("id") else { return nil }
        guard let id = OperationID(text) else { throw error("id", "expected 1 to 64 of A-Z a-z 0-9 _ -") }
        return id
    }

    func type() throws(OperationFileError) -> TypeName? {
        guard let text = try string("type") else { return nil }
        guard let type = TypeName(text) else { throw error("type", "expected 1 to 64 of A-Z a-z 0-9 _ - .") }
        return type
    }

    func key() throws(OperationFileError) -> String? {
        guard let key = try string("key") else { return nil }
        guard key.utf8.count <= 1024 else { throw error("key", "longer than 1024 bytes") }
        return key
    }

    /// Returns the fields of an object whose values are texts, or arrays of texts for a field that is repeated.
    func headers() throws(OperationFileError) -> [HeaderField] {
        guard let range = range("headers") else { return [] }
        guard let list = try? JSONScanner.members(of: bytes, in: range) else {
            throw error("headers", "expected an object")
        }
        var fields: [HeaderField] = []
        var seen: Set<JSONName> = []
        for member in list {
            guard seen.insert(JSONName(member.name)).inserted else { throw error("headers", "a name is given twice") }
            let values =
                JSONText.string(bytes, member.value).map { [$0] } ?? strings(in: member.value)
            guard let values else { throw error("headers", "expected texts or arrays of texts") }
            fields += values.map { HeaderField(name: member.name, value: $0) }
        }
        return fields
    }

    /// Returns what had happened before the last edit; `nil` without one.
    func edit() throws(OperationFileError) -> OperationHeader.Edit? {
        guard let range = range("edited") else { return nil }
        guard let fields = try? OperationFields(bytes, in: range, file: file, line: line),
            let attempts = try? fields.integer("attempts"), attempts >= 0,
            let interruptions = try? fields.integer("interruptions"), interruptions >= 0
        else { throw error("edited", "expected an object with attempts and interruptions") }
        let unknowns = (try? fields.integer("unknowns")) ?? 0
        return OperationHeader.Edit(attempts: attempts, interruptions: interruptions, unknowns: max(0, unknowns))
    }

    /// Returns the file that is the body, with its length, time and inode; `nil` if there is none.
    func bodyFile() throws(OperationFileError) -> BodyFile? {
        guard let range = range("bodyFile") else { return nil }
        guard let fields = try? OperationFields(bytes, in: range, file: file, line: line),
            let path = try? fields.string("path"), path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0),
            let length = try? fields.integer("length"), length >= 0,
            let modified = try? fields.integer("modified"),
            let inode = fields.range("inode").flatMap({ UInt64(String(decoding: bytes[$0], as: UTF8.self)) })
        else { throw error("bodyFile", "expected an object with path (absolute), length, modified and inode") }
        let sha256 = try fields.string("sha256")
        let digits = Set("0123456789abcdef".utf8)
        if let sha256, sha256.utf8.count != 64 || !digits.isSuperset(of: sha256.utf8) {
            throw error("bodyFile", "its sha256 is not 64 digits of 0 to 9 and a to f")
        }
        let changed = try fields.integer("changed").map { Int64(clamping: $0) }
        return BodyFile(
            path: path, length: length, modified: Int64(modified), inode: inode, changed: changed, sha256: sha256)
    }

    /// Checks the version of the format: this program reads 1.
    func version() throws(OperationFileError) {
        guard let version = try integer("drainq") else { throw error("drainq", "missing") }
        if version > OperationHeader.formatVersion {
            throw OperationFileError(
                kind: .newerFormat(version), file: file, line: line, field: "drainq",
                reason: "written by a newer drainq (format \(version))")
        }
        guard version == OperationHeader.formatVersion else { throw error("drainq", "no such format") }
    }

    /// Returns the raw JSON text of every field that is not in `known`; line breaks between its tokens become blanks.
    /// `short` are the short forms of `known`, if the caller has them.
    func unknown(besides known: [String], short: [ShortName?]? = nil) -> [OperationHeader.UnknownField] {
        let short = short ?? known.map { ShortName($0) }
        let unknown = members.filter { member in
            !(member.shortName.map(short.contains) ?? known.contains { JSONName($0) == name(of: member) })
        }
        return unknown.map { member in
            let raw = bytes[member.value].map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? 0x20 : $0 }
            return OperationHeader.UnknownField(name: name(of: member).text, json: String(decoding: raw, as: UTF8.self))
        }
    }

    private func strings(in range: Range<Int>) -> [String]? {
        var texts: [String?] = []
        let isArray = try? JSONScanner.forEachElement(of: bytes, in: range) { texts.append(JSONText.string(bytes, $0)) }
        return isArray == true && !texts.contains(nil) ? texts.compactMap(\.self) : nil
    }
}

extension Range<Int> {
    /// The extent of a string in quotes without them.
    fileprivate var inner: Range { lowerBound + 1..<upperBound - 1 }
}
