/// What follows the host in a route's url: path and query with `{id} {type} {key} {payload.field}`.
///
/// A value is percent-encoded but for the unreserved characters of RFC 3986, so it stays inside the segment or the
/// query value where the template put it; `.` and `..` as a whole segment, which servers resolve, are refused.
struct URLTemplate {
    private enum Part {
        case text(Substring)
        case placeholder(String)
    }

    private let parts: [Part]

    /// An opening brace without its closing one is a placeholder that nobody knows.
    init(_ template: Substring) throws(RequestError) {
        var parts: [Part] = []
        var rest = template
        while let open = rest.firstIndex(of: "{") {
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw .unknownPlaceholder(String(rest[rest.index(after: open)...]))
            }
            parts.append(.text(rest[..<open]))
            let name = String(rest[rest.index(after: open)..<close])
            guard ["id", "type", "key"].contains(name) || name.hasPrefix("payload.") else {
                throw .unknownPlaceholder(name)
            }
            parts.append(.placeholder(name))
            rest = rest[rest.index(after: close)...]
        }
        parts.append(.text(rest))
        self.parts = parts
    }

    func expanded(for operation: Operation) throws(RequestError) -> String {
        var result = ""
        var names: [String] = []
        var isQuery = false
        for part in parts {
            switch part {
            case .text(let text):
                result += text
                isQuery = isQuery || text.contains("?")
            case .placeholder(let name):
                let value = try Self.value(of: name, in: operation)
                if !isQuery {
                    if value.isEmpty {
                        throw .unusableValue(placeholder: name, reason: "is empty, in the path")
                    }
                    names.append(name)
                }
                result += value.percentEncoded
            }
        }
        let path = result.prefix { $0 != "?" && $0 != "#" }
        if let name = names.last, path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) {
            throw .unusableValue(placeholder: name, reason: "makes a '.' or '..' of a path segment")
        }
        return result
    }

    private static func value(of name: String, in operation: Operation) throws(RequestError) -> String {
        let header = operation.header
        switch name {
        case "id": return header.id.description
        case "type": return header.type.description
        case "key":
            guard let key = header.key else { throw .missingValue(placeholder: name) }
            return key
        default:
            let path = name.split(separator: ".", omittingEmptySubsequences: false).dropFirst().map(String.init)
            return try payloadValue(at: path, placeholder: name, body: operation.body)
        }
    }

    /// Numbers as they are written, never through a Double; of a repeated name the last, as most servers read it.
    private static func payloadValue(
        at path: [String], placeholder: String, body: [UInt8]
    ) throws(RequestError) -> String {
        var range: Range<Int>
        do {
            var scanner = JSONScanner(body)
            guard let whole = try scanner.next() else { throw RequestError.missingValue(placeholder: placeholder) }
            range = whole
            for name in path {
                let members = try JSONScanner.members(of: body, in: range) ?? []
                guard let member = members.last(where: { $0.name == name }) else {
                    throw RequestError.missingValue(placeholder: placeholder)
                }
                range = member.value
            }
            switch body[range.lowerBound] {
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"):
                throw RequestError.unusableValue(
                    placeholder: placeholder, reason: "is neither text nor a number nor true or false")
            case UInt8(ascii: "\""): return try decodeName(body, range)
            default: return String(decoding: body[range], as: UTF8.self)
            }
        } catch let error as RequestError {
            throw error
        } catch {
            throw .unusableValue(placeholder: placeholder, reason: "cannot be read: \(error)")
        }
    }
}

extension String {
    /// Everything but the unreserved characters (RFC 3986 §2.3) as `%XX`.
    var percentEncoded: String {
        var bytes: [UInt8] = []
        for byte in utf8 {
            if byte.isIdentifierByte || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "~") {
                bytes.append(byte)
            } else {
                bytes += byte.percentEncoded
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    var percentEncoded: [UInt8] {
        [UInt8(ascii: "%"), .upperHexDigit(self >> 4), .upperHexDigit(self & 15)]
    }
}

extension URLParts {
    /// The URL as it goes out: scheme and host in lower case, no default port, no fragment, a path, and everything that
    /// may not stand in a URL percent-encoded; what is encoded already stays as it is. Control characters are refused.
    func encoded(as given: String, ownedBy owner: RequestError.Owner) throws(RequestError) -> String {
        guard given.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .badURL(given, ownedBy: owner) }
        let bytes = Array(rest.utf8.prefix { $0 != UInt8(ascii: "#") })
        var encoded: [UInt8] = []
        if bytes.first != UInt8(ascii: "/") { encoded.append(UInt8(ascii: "/")) }
        for (index, byte) in bytes.enumerated() {
            let isEscape =
                byte == UInt8(ascii: "%") && index + 2 < bytes.count && bytes[index + 1].isHexDigit
                && bytes[index + 2].isHexDigit
            if isEscape || byte.isIdentifierByte || "/?.~!$&'()*+,;=:@".utf8.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += byte.percentEncoded
            }
        }
        return origin.description + String(decoding: encoded, as: UTF8.self)
    }
}
