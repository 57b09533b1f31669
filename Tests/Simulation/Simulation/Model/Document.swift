/// A JSON text for the model: merges by RFC 7396 and compares. Numbers and texts keep their spelling.
indirect enum Document: Equatable {
    case object([String: Document])
    case array([Document])
    case other(String)

    /// Parses a whole JSON text; `nil` if the text is not JSON.
    init?(_ bytes: some Collection<UInt8>) {
        var reader = DocumentReader(Array(bytes))
        guard let document = reader.value(), reader.isAtEnd else { return nil }
        self = document
    }

    init?(_ text: String) { self.init(text.utf8) }

    /// Returns a patch with the effect of two patches, this patch first (RFC 7396). A null stays, because it still has
    /// to remove a member of the server's document.
    func followed(by newer: Document) -> Document {
        guard case .object(let changes) = newer, case .object(var members) = self else { return newer }
        for (name, change) in changes {
            members[name] = members[name].map { $0.followed(by: change) } ?? change
        }
        return .object(members)
    }

    /// Whether this patch has the effect of an older patch, too.
    func covers(_ older: Document) -> Bool { older.followed(by: self) == self }

    /// The names of the members of an object; `nil` for another document.
    var names: Set<String>? { if case .object(let members) = self { Set(members.keys) } else { nil } }

    subscript(name: String) -> Document? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}

/// Reads JSON from the beginning to the end.
struct DocumentReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return place == bytes.count
        }
    }

    mutating func value() -> Document? {
        skipSpace()
        guard place < bytes.count else { return nil }
        switch bytes[place] {
        case UInt8(ascii: "{"): return object().map { .object($0.mapValues(\.document)) }
        case UInt8(ascii: "["): return elements().map { .array($0.compactMap { Document($0) }) }
        case UInt8(ascii: "\""): return text().map { .other("\"\($0)\"") }
        default: return word().map { .other($0) }
        }
    }

    /// Reads an object; with each member, the bytes of the value.
    mutating func object() -> [String: (document: Document, bytes: [UInt8])]? {
        skipSpace()
        guard take("{") else { return nil }
        var members: [String: (document: Document, bytes: [UInt8])] = [:]
        if take("}") { return members }
        repeat {
            skipSpace()
            guard let name = text(), take(":") else { return nil }
            skipSpace()
            let start = place
            guard let member = value() else { return nil }
            members[name] = (member, Array(bytes[start..<place]))
        } while take(",")
        return take("}") ? members : nil
    }

    /// Reads an array; the bytes of each element.
    mutating func elements() -> [[UInt8]]? {
        guard take("[") else { return nil }
        var elements: [[UInt8]] = []
        if take("]") { return elements }
        repeat {
            skipSpace()
            let start = place
            guard value() != nil else { return nil }
            elements.append(Array(bytes[start..<place]))
        } while take(",")
        return take("]") ? elements : nil
    }

    private mutating func text() -> String? {
        guard take("\"") else { return nil }
        let start = place
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
            place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard place < bytes.count else { return nil }
        place += 1
        return String(decoding: bytes[start..<place - 1], as: UTF8.self)
    }

    private mutating func word() -> String? {
        let start = place
        while place < bytes.count, !",:]} \n\t\r".utf8.contains(bytes[place]) { place += 1 }
        return place == start ? nil : String(decoding: bytes[start..<place], as: UTF8.self)
    }

    private mutating func skipSpace() {
        while place < bytes.count, " \n\t\r".utf8.contains(bytes[place]) { place += 1 }
    }

    private mutating func take(_ sign: Character) -> Bool {
        skipSpace()
        guard place < bytes.count, bytes[place] == sign.asciiValue else { return false }
        place += 1
        return true
    }
}
