/// The target of requests: one scheme, host and port. Its text names a destination.
package struct Origin: Hashable, Sendable, Comparable, CustomStringConvertible {
    package enum Scheme: String, Hashable, Sendable {
        case http
        case https

        package var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            }
        }
    }

    package let scheme: Scheme
    /// In lower case; an IPv6 literal keeps its brackets.
    @Bytewise package private(set) var host: String
    package let port: UInt16

    /// Parses the origin of an absolute http or https URL, or of a URL template with placeholders behind the host.
    ///
    /// Returns `nil` for anything else, also for user information (`http://user@host/`): credentials do not belong in a
    /// URL, and a host in front of an `@` deceives readers.
    package init?(url: String) {
        guard let parts = URLParts(url) else { return nil }
        self = parts.origin
    }

    init(scheme: Scheme, host: String, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// `https://api.example.com`, `http://[::1]:8080`: without the port if it is the scheme's own.
    package var description: String {
        "\(scheme.rawValue)://\(host)" + (port == scheme.defaultPort ? "" : ":\(port)")
    }

    /// The digest of this origin in the file name of an operation with its own url.
    package var digest: Digest { Digest(of: description) }

    package static func < (left: Origin, right: Origin) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}

/// Returns the URL for a message, with `…` for its user information, which may be a password. Takes everything before
/// the last `@` for it if the text is not a URL that can be requested.
package func withoutUserInformation(_ url: String) -> String {
    let text = Array(url.utf8)
    guard URLParts(url) == nil, let end = text.lastIndex(of: UInt8(ascii: "@")) else { return url }
    let scheme = text.firstRange(of: Array("://".utf8))?.upperBound ?? 0
    return String(decoding: text[..<min(scheme, end)] + Array("…".utf8) + text[end...], as: UTF8.self)
}

/// An absolute http or https URL, cut behind its authority.
struct URLParts {
    var origin: Origin
    /// The text from the first `/`, `?` or `#` to the end, as given; empty if nothing follows the host.
    var rest: Substring
}

extension URLParts {
    init?(_ url: String) {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")),
            let scheme = Origin.Scheme(rawValue: url[..<colon].lowercased()),
            url[colon...].begins(with: "://")
        else { return nil }
        let start = url.utf8.index(colon, offsetBy: 3)
        let end = url.utf8[start...].firstIndex { "/?#\\".utf8.contains($0) } ?? url.endIndex
        guard end == url.endIndex || url.utf8[end] != UInt8(ascii: "\\"),
            let (host, port) = Self.hostAndPort(url[start..<end])
        else { return nil }
        origin = Origin(scheme: scheme, host: host, port: port ?? scheme.defaultPort)
        rest = url[end...]
    }

    private static func hostAndPort(_ authority: Substring) -> (host: String, port: UInt16?)? {
        var host = authority
        var port: UInt16?
        // The last colon begins the port, unless it is inside an IPv6 literal.
        if let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":")),
            !authority[colon...].utf8.contains(UInt8(ascii: "]"))
        {
            let digits = authority[authority.utf8.index(after: colon)...]
            host = authority[..<colon]
            if !digits.isEmpty {
                guard digits.utf8.allSatisfy(\.isDigit),
                    let number = UInt16(digits), number > 0
                else { return nil }
                port = number
            }
        }
        if host.begins(with: "[") {
            guard host.ends(with: "]"), isIPv6(host.afterFirstByte.upTo("]")) else { return nil }
        } else {
            guard !host.isEmpty, host.unicodeScalars.allSatisfy(isHostScalar) else { return nil }
        }
        return (host.lowercased(), port)
    }

    /// ASCII letters, digits, `_`, `-`, `.`, other letters and marks. No percent-encoding: no resolvable name has it.
    private static func isHostScalar(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return UInt8(ascii: scalar).isIdentifierByte || scalar == "." }
        return scalar.properties.isAlphabetic || scalar.properties.generalCategory == .nonspacingMark
    }

    private static func isIPv6(_ text: Substring) -> Bool {
        var groups = text.pieces(at: ":")
        // An IPv4 address may stand for the last two groups.
        if let last = groups.last, last.utf8.contains(UInt8(ascii: ".")) {
            let numbers = last.pieces(at: ".")
            guard numbers.count == 4, numbers.allSatisfy({ (1...3).contains($0.utf8.count) && UInt8($0) != nil }) else {
                return false
            }
            groups.removeLast()
            groups += ["0", "0"]
        }
        let gaps = text.indices.count { text[$0...].begins(with: "::") }
        guard gaps <= 1, gaps == 0 ? groups.count == 8 : groups.count <= 9 else { return false }
        if text.begins(with: ":"), !text.begins(with: "::") { return false }
        if text.ends(with: ":"), !text.ends(with: "::") { return false }
        let written = groups.filter { !$0.isEmpty }
        return written.count <= (gaps == 0 ? 8 : 7)
            && written.allSatisfy { $0.utf8.count <= 4 && $0.utf8.allSatisfy(\.isHexDigit) }
    }
}
