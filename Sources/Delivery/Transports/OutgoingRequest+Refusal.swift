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

    private var hasContent: Bool { bodyFile.map { $0.length > 0 } ?? (body?.isEmpty == false) }

    private var refusalByTransport: String? {
        switch transport {
        case .libcurl:
            guard connection.unixSocket != nil, case .url = connection.proxy else { return nil }
            return "a unix socket and a proxy exclude each other"
        case .urlsession:
            if method == "GET", hasContent { return "a GET request with a body cannot be sent by URLSession" }
            if host?.hasPrefix("[") == true { return "an IPv6 address as host cannot be requested by URLSession" }
            if bodyFile != nil { return "a body file cannot be sent by URLSession" }
            if connection != ConnectionOptions() {
                return "the connection that is asked for cannot be made by URLSession"
            }
            return nil
        }
    }

    private var host: Substring? {
        afterScheme?.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    }

    private var refusalOfURL: String? {
        guard let host else { return "the URL is neither http nor https" }
        if host.contains("@") { return "the URL has user information in it" }
        if host.isEmpty || host.hasPrefix(":") { return "the URL has no host" }
        if url.unicodeScalars.contains(where: { $0.value < 0x21 || $0.value == 0x7f }) {
            return "the URL contains a space or a control character"
        }
        let bytes = Array(url.utf8)
        for place in bytes.indices where bytes[place] == UInt8(ascii: "%") {
            guard place + 2 < bytes.count, bytes[place + 1].isHexDigit, bytes[place + 2].isHexDigit else {
                return "the URL contains a '%' that two hexadecimal digits do not follow"
            }
        }
        return nil
    }

    /// The URL with its scheme in lower case, on which URLSession insists.
    package var normalizedURL: String {
        guard let rest = afterScheme else { return url }
        return url.utf8.dropFirst(4).first.map { $0 | 0x20 } == UInt8(ascii: "s") ? "https://\(rest)" : "http://\(rest)"
    }

    private var afterScheme: Substring? {
        for scheme in ["http://", "https://"] where url.prefix(scheme.count).lowercased() == scheme {
            return url.dropFirst(scheme.count)
        }
        return nil
    }
}

extension HeaderField {
    /// Fields that the transport writes itself; a second one breaks the request, or lets it become two.
    private static let own: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "expect", "accept-encoding", "te", "trailer",
        "upgrade", "keep-alive", "proxy-connection",
    ]

    fileprivate var refusal: String? {
        if name.isEmpty || !name.utf8.allSatisfy(\.isTokenCharacter) {
            return "the header name '\(name)' is not a token"
        }
        if Self.own.contains(name.lowercased()) { return "the header '\(name)' cannot be set" }
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
