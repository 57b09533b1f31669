import Policy

extension OutgoingRequest {
    /// Why the request's transport cannot make it as it stands, in the words of an error's detail; `nil` if it can.
    ///
    /// Refuses what a transport would change or drop without a word, or hang on.
    var refusal: String? {
        if !method.utf8.allSatisfy(\.isTokenCharacter) || method.isEmpty {
            return "the method '\(method)' is not a token"
        }
        if method == "CONNECT" { return "the method CONNECT asks for a tunnel" }
        if method == "HEAD", hasContent { return "a HEAD request with a body cannot be sent" }
        return refusalOfURL ?? headers.lazy.compactMap(\.refusal).first ?? refusalByTransport
    }

    private var hasContent: Bool { (bodyLength ?? 0) > 0 }

    private var refusalByTransport: String? {
        switch transport {
        case .libcurl:
            guard connection.unixSocket != nil, case .url = connection.proxy else { return nil }
            return "a unix socket and a proxy exclude each other"
        case .urlsession:
            if method == "GET", hasContent { return "a GET request with a body cannot be sent by URLSession" }
            if host?.first == UInt8(ascii: "[") { return "an IPv6 address as host cannot be requested by URLSession" }
            if bodyFile != nil { return "a body file cannot be sent by URLSession" }
            if connection != ConnectionOptions() {
                return "the connection that is asked for cannot be made by URLSession"
            }
            return nil
        }
    }

    /// Host and port, as they are written.
    private var host: Substring.UTF8View? {
        afterScheme?.prefix { ![UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) }
    }

    private var refusalOfURL: String? {
        guard let host else { return "the URL is neither http nor https" }
        if host.contains(UInt8(ascii: "@")) { return "the URL has user information in it" }
        if host.isEmpty || host.first == UInt8(ascii: ":") { return "the URL has no host" }
        var digits = 0
        for byte in url.utf8 {
            if byte < 0x21 || byte == 0x7f { return "the URL contains a space or a control character" }
            if digits > 0, !byte.isHexDigit { return Self.strayPercent }
            digits = byte == UInt8(ascii: "%") ? 2 : max(0, digits - 1)
        }
        return digits > 0 ? Self.strayPercent : nil
    }

    private static let strayPercent = "the URL contains a '%' that two hexadecimal digits do not follow"

    /// The URL with its scheme in lower case, on which URLSession insists.
    package var normalizedURL: String {
        guard let rest = afterScheme else { return url }
        let isTLS = url.utf8.dropFirst(4).first?.asciiLowercased == UInt8(ascii: "s")
        return (isTLS ? "https://" : "http://") + Substring(rest)
    }

    /// What follows `http://` or `https://`, whatever the case of its letters; `nil` for every other URL.
    private var afterScheme: Substring.UTF8View? {
        for scheme: StaticString in ["http://", "https://"] {
            let start = url.utf8.prefix(scheme.utf8CodeUnitCount)
            let isScheme = scheme.withUTF8Buffer { scheme in
                start.count == scheme.count && zip(start, scheme).allSatisfy { $0.asciiLowercased == $1 }
            }
            if isScheme { return Substring(url).utf8.dropFirst(scheme.utf8CodeUnitCount) }
        }
        return nil
    }
}

extension HeaderField {
    /// Fields that the transport writes itself; a second one breaks the request, or lets it become two.
    private static let own: [StaticString] = [
        "host", "content-length", "transfer-encoding", "connection", "expect", "accept-encoding", "te", "trailer",
        "upgrade", "keep-alive", "proxy-connection",
    ]

    fileprivate var refusal: String? {
        if name.isEmpty || !name.utf8.allSatisfy(\.isTokenCharacter) {
            return "the header name '\(name)' is not a token"
        }
        if Self.own.contains(where: isNamed) { return "the header '\(name)' cannot be set" }
        if value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }) {
            return "the value of the header '\(name)' contains a control character"
        }
        return nil
    }
}

extension UInt8 {
    /// RFC 9110 §5.6.2.
    fileprivate var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }

    fileprivate var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
