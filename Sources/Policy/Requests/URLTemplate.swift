/// A route's url, read once: path and query with `{id} {type} {key} {payload.field}`, and in the query `${secret:NAME}`.
///
/// A value is percent-encoded but for the unreserved characters of RFC 3986, so it stays inside the segment or the
/// query value where the template put it; `.` and `..` as a whole segment, which servers resolve, are refused.
struct URLTemplate {
    private enum Part {
        case text(Substring)
        case placeholder(String)
        case secret(SecretText)
    }

    private let text: String
    private let origin: Origin
    private let parts: [Part]
    let secretNames: [String]
    /// The url of every operation, where nothing is to be filled in.
    private let constant: String?

    /// An opening brace without its closing one is a placeholder that nobody knows.
    init(_ text: String) throws(RequestError) {
        guard let url = URLParts(text) else { throw .badURL(text, ownedBy: .route) }
        self.text = text
        origin = url.origin
        parts = try Self.parts(of: url.rest)
        secretNames = parts.flatMap { part -> [String] in
            if case .secret(let text) = part { text.names } else { [] }
        }
        constant = parts.count == 1 ? try url.encoded(as: text, ownedBy: .route) : nil
    }

    private static func parts(of template: Substring) throws(RequestError) -> [Part] {
        var parts: [Part] = []
        var rest = template
        while let open = rest.firstIndex(of: "{") {
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw .unknownPlaceholder(String(rest[rest.index(after: open)...]))
            }
            let name = String(rest[rest.index(after: open)..<close])
            if rest[..<open].hasSuffix("$"), name.hasPrefix("secret:") {
                parts += [.text(rest[..<open].dropLast()), .secret(SecretText("${\(name)}"))]
                rest = rest[rest.index(after: close)...]
                continue
            }
            parts.append(.text(rest[..<open]))
            guard ["id", "type", "key"].contains(name) || name.hasPrefix("payload.") else {
                throw .unknownPlaceholder(name)
            }
            parts.append(.placeholder(name))
            rest = rest[rest.index(after: close)...]
        }
        return parts + [.text(rest)]
    }

    /// Without `secrets` a secret's place says which one belongs there.
    func expanded(for operation: Operation, secrets: SecretValues?) throws(RequestError) -> String {
        if let constant { return constant }
        var result = ""
        var names: [String] = []
        var isQuery = false
        for part in parts {
            switch part {
            case .text(let text):
                result += text
                isQuery = isQuery || text.utf8.contains(UInt8(ascii: "?"))
            case .placeholder(let name):
                let value = try operation.value(of: name)
                if !isQuery {
                    if value.isEmpty {
                        throw .unusableValue(placeholder: name, reason: "is empty, in the path")
                    }
                    names.append(name)
                }
                result += value.percentEncoded
            case .secret(let text):
                let name = text.names[0]
                // In a path it would be in every server's log.
                if !isQuery { throw .secretOutsideQuery(name) }
                if let secrets {
                    result += try text.expanded(with: secrets, encoding: \.percentEncoded)
                } else {
                    result += "${secret:\(name)}"
                }
            }
        }
        if let name = names.last, result.hasDotSegment {
            throw .unusableValue(placeholder: name, reason: "makes a '.' or '..' of a path segment")
        }
        return try URLParts(origin: origin, rest: result[...]).encoded(as: text, ownedBy: .route)
    }
}

extension String {
    /// Whether a segment of the path before a query is `.` or `..`.
    fileprivate var hasDotSegment: Bool {
        let path = utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        return path.split(separator: UInt8(ascii: "/")).contains {
            $0.count <= 2 && $0.allSatisfy { $0 == UInt8(ascii: ".") }
        }
    }

    /// Everything but the unreserved characters (RFC 3986 §2.3) as `%XX`.
    var percentEncoded: String {
        let isUnreserved: (UInt8) -> Bool = {
            $0.isIdentifierByte || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "~")
        }
        if utf8.allSatisfy(isUnreserved) { return self }
        var bytes: [UInt8] = []
        for byte in utf8 {
            if isUnreserved(byte) {
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
            if byte.isIdentifierByte || isEscape || "/?.~!$&'()*+,;=:@".utf8.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += byte.percentEncoded
            }
        }
        return origin.description + String(decoding: encoded, as: UTF8.self)
    }
}
