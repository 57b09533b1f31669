/// A route's url, parsed once: a template in path and query. Scheme, host and port are literal.
///
/// Percent-encodes a value, so that it stays inside its segment or query value. The unreserved characters of RFC 3986
/// stay, in the path also `:@!$'()*,`, which a segment may have and no server reads as a separator.
/// Refuses `.` and `..` as a whole segment, which servers resolve.
struct URLTemplate {
    private let text: String
    private let origin: Origin
    private let template: Template
    /// The url of every operation, if there is nothing to fill in; else `nil`.
    private let constant: String?

    init(_ text: String) throws(RequestError) {
        guard let url = URLParts(text) else { throw .badURL(text, ownedBy: .route) }
        self.text = text
        origin = url.origin
        template = try Template(String(url.rest), for: .url, of: "url")
        let literal = template.literals.joined()
        constant =
            template.isFixed
            ? try URLParts(origin: origin, rest: literal[...]).encoded(as: text, ownedBy: .route) : nil
    }

    var secretNames: [String] { template.secretNames }
    var keptNames: [String] { template.keptNames }
    var neededWords: [TemplateWord] { template.neededWords }
    var usesPayload: Bool { template.usesPayload }

    func expanded(_ values: TemplateValues) throws(RequestError) -> String {
        if let constant { return constant }
        let rest = try template.text(values)
        if let last = template.placeholders.last(where: { $0.place == .path }), rest.hasDotSegment {
            throw .unusableValue(placeholder: last.word.text, reason: "makes a '.' or '..' of a path segment")
        }
        return try URLParts(origin: origin, rest: rest[...]).encoded(as: text, ownedBy: .route)
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

    /// The text with every byte but the unreserved characters (RFC 3986 §2.3) as `%XX`.
    var percentEncoded: String { String(decoding: Array(utf8).percentEncoded(leaving: ""), as: UTF8.self) }
}

extension [UInt8] {
    /// Returns the bytes, but for the unreserved characters (RFC 3986 §2.3) and those of `others` each as `%XX`.
    func percentEncoded(leaving others: StaticString) -> [UInt8] {
        let left = others.withUTF8Buffer { Array($0) }
        let isUnreserved: (UInt8) -> Bool = {
            $0.isIdentifierByte || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "~") || left.contains($0)
        }
        if allSatisfy(isUnreserved) { return self }
        var encoded: [UInt8] = []
        encoded.reserveCapacity(count + count / 2)
        for byte in self {
            if isUnreserved(byte) { encoded.append(byte) } else { encoded += byte.percentEncoded }
        }
        return encoded
    }
}

extension UInt8 {
    var percentEncoded: [UInt8] { [UInt8(ascii: "%"), .upperHexDigit(self >> 4), .upperHexDigit(self & 15)] }
}

extension URLParts {
    /// Returns the URL as sent: scheme and host in lower case, no default port, no fragment, a path, and every byte
    /// that must not stand in a URL percent-encoded. Existing escapes stay. Throws `badURL` for control characters.
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
