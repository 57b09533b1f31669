import Policy

/// The values kept for a key: `state/keys/DIGEST.json`, a single line with a checksum. drainq-queue(5) describes the
/// format for other languages.
struct KeptFile: Hashable {
    struct Value: Hashable {
        var value: KeptValue
        /// The operation whose answer had the value.
        var from: OperationID
        /// The creation of that operation; `nil` if an earlier version has kept the value.
        var createdAt: Timestamp?
        var at: Timestamp

        /// Whether an answer to this operation had the value. Without a time of creation the id decides.
        func isOf(_ operation: Age) -> Bool {
            from == operation.id && createdAt ?? operation.createdAt == operation.createdAt
        }

        /// Whether a newer operation than this one, answered at that time, left the value. The order of creation
        /// decides, because clocks jump between answers; without a time of creation the times of the answers decide.
        func isNewer(than operation: Age, answeredAt answered: Timestamp) -> Bool {
            createdAt.map { operation < Age(createdAt: $0, id: from) } ?? (at > answered)
        }
    }

    /// The version of this format.
    static let version = 1
    /// The most bytes that are read: a route keeps few values, and each is short.
    static let limit = 1 << 20

    var key: String
    var values: [String: Value] = [:]

    init(key: String) {
        self.key = key
    }

    /// Why a file is not read: a doubtful value must not be sent.
    enum Defect: Error {
        case damaged
        case newer(Int)
    }

    /// Reads a file.
    init(_ bytes: [UInt8]) throws(Defect) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")), end == bytes.count - 1,
            case .present = Checksum.presence(bytes, headerEnd: end),
            Checksum.objection(to: bytes, headerEnd: end, bodyEnd: bytes.count) == nil,
            let fields = try? OperationFields(bytes, in: 0..<end, file: "", line: 1),
            let version = try? fields.integer("version")
        else { throw .damaged }
        if version > Self.version { throw .newer(version) }
        guard version == Self.version, let key = try? fields.string("key"), let range = fields.range("values"),
            let members = try? JSONScanner.members(of: bytes, in: range)
        else { throw .damaged }
        self.key = key
        for member in members {
            guard let value = try? OperationFields(bytes, in: member.value, file: "", line: 1),
                let json = value.range("value"), let kept = KeptValue(json: bytes[json]),
                let from = (try? value.string("from")).flatMap({ $0 }).flatMap({ OperationID($0) }),
                let at = try? value.time("at"), let createdAt = try? Optional.some(value.time("createdAt"))
            else { throw .damaged }
            values[member.name] = Value(value: kept, from: from, createdAt: createdAt, at: at)
        }
    }

    var encoded: [UInt8] {
        var line = OrderedJSONLine()
        line.member("version", Self.version)
        line.member("key", key)
        var object = OrderedJSONLine()
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            var member = OrderedJSONLine()
            member.member("value", raw: value.value.json.utf8)
            member.member("from", value.from.description)
            if let createdAt = value.createdAt { member.member("createdAt", createdAt.rfc3339) }
            member.member("at", value.at.rfc3339)
            object.member(name, raw: member.ended().dropLast())
        }
        line.member("values", raw: object.ended().dropLast())
        var bytes: [UInt8] = line.ended().dropLast()
        Checksum.append(to: &bytes)
        let end = bytes.count
        bytes.append(UInt8(ascii: "\n"))
        Checksum.fill(&bytes, headerEnd: end, bodyEnd: bytes.count)
        return bytes
    }
}
