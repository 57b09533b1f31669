import CSystem
import Policy

extension OutgoingRequest {
    /// Why the request's transport cannot make it as it stands, as an error's detail; `nil` if it can.
    ///
    /// Refuses requests that a transport would silently change or cut, or hang on.
    var refusal: String? { refusal(after: nil) }

    /// Returns the same. Does not look again at what the request has in common with `former`, which had no refusal.
    func refusal(after former: OutgoingRequest?) -> String? {
        if method == "HEAD", hasContent { return "a HEAD request with a body cannot be sent" }
        return (former?.base === base ? nil : refusalOfMethod ?? refusalOfURL)
            ?? refusalOfHeaders(after: former?.headers ?? []) ?? refusalOfSize ?? refusalByTransport
    }

    private var refusalOfMethod: String? {
        if !method.isToken { return "the method '\(method)' is not a token" }
        return method == "CONNECT" ? "the method CONNECT asks for a tunnel" : nil
    }

    private func refusalOfHeaders(after former: [HeaderField]) -> String? {
        for (index, header) in headers.enumerated() {
            if index < former.count, header.name.hasBytes(of: former[index].name),
                header.value.hasBytes(of: former[index].value)
            {
                continue
            }
            if let defect = header.defectInRequest { return "the header '\(header.name)' \(defect)" }
        }
        return nil
    }

    /// Upper bound on the bytes of url and header fields. libcurl takes 1 MiB together with its own fields and the
    /// beginning of a body, and reports more as a lack of memory.
    private static let longestHead = 900 << 10

    private var refusalOfSize: String? {
        let length = headers.reduce(url.utf8.count) { $0 +| $1.name.utf8.count +| $1.value.utf8.count +| 4 }
        guard length > Self.longestHead else { return nil }
        return "url and header fields are \(length) bytes long, more than \(Self.longestHead)"
    }

    private var hasContent: Bool { (bodyLength ?? 0) > 0 }

    private var refusalByTransport: String? {
        switch transport {
        case .libcurl:
            guard connection.unixSocket != nil, case .url = connection.proxy else { return nil }
            return "a unix socket and a proxy exclude each other"
        case .urlsession:
            if method == "GET", hasContent { return "a GET request with a body cannot be sent by URLSession" }
            if url.utf8.dropFirst(schemeLength ?? 0).first == UInt8(ascii: "[") {
                return "an IPv6 address as host cannot be requested by URLSession"
            }
            if bodyFile != nil { return "a body file cannot be sent by URLSession" }
            if connection != ConnectionOptions() {
                return "the connection that is asked for cannot be made by URLSession"
            }
            return nil
        }
    }

    private var refusalOfURL: String? {
        guard let start = schemeLength else { return "the URL is neither http nor https" }
        var url = url
        return url.withUTF8 { bytes in
            let host = bytes[start...].prefix { !$0.endsAuthority }
            if host.contains(UInt8(ascii: "@")) { return "the URL has user information in it" }
            if host.isEmpty || host.first == UInt8(ascii: ":") { return "the URL has no host" }
            var digits = 0
            for byte in bytes {
                if byte < 0x21 || byte == 0x7f { return "the URL contains a space or a control character" }
                if digits > 0, !byte.isHexDigit { return Self.strayPercent }
                digits = byte == UInt8(ascii: "%") ? 2 : max(0, digits - 1)
            }
            return digits > 0 ? Self.strayPercent : nil
        }
    }

    private static let strayPercent = "the URL contains a '%' that two hexadecimal digits do not follow"

    /// The URL as URLSession requires it: with its scheme in lower case, and with four decimal numbers for an IPv4
    /// address in another notation (`127.1`, `0x7f.1`, `2130706433`), which libcurl replaces itself.
    package var normalizedURL: String {
        guard let length = schemeLength else { return url }
        let rest = url.utf8.dropFirst(length)
        let host = rest.prefix { !$0.endsAuthority && $0 != UInt8(ascii: ":") }
        var address = in_addr()
        let isNumber = host.first?.isDigit == true && inet_aton(String(decoding: host, as: UTF8.self), &address) != 0
        let shown = isNumber ? String(cString: inet_ntoa(address)) : String(decoding: host, as: UTF8.self)
        return (length == 8 ? "https://" : "http://") + shown + String(decoding: rest[host.endIndex...], as: UTF8.self)
    }

    /// The number of bytes of `http://` or `https://`, in any case, with which the URL begins; `nil` for every other
    /// URL.
    private var schemeLength: Int? {
        var url = url
        return url.withUTF8 { bytes in
            for scheme: StaticString in ["http://", "https://"] {
                let start = bytes.prefix(scheme.utf8CodeUnitCount)
                let isScheme = scheme.withUTF8Buffer { scheme in
                    start.count == scheme.count && zip(start, scheme).allSatisfy { $0.asciiLowercased == $1 }
                }
                if isScheme { return scheme.utf8CodeUnitCount }
            }
            return nil
        }
    }
}

extension UInt8 {
    /// Whether the byte ends host and port in a URL (RFC 3986 §3.2).
    fileprivate var endsAuthority: Bool {
        self == UInt8(ascii: "/") || self == UInt8(ascii: "?") || self == UInt8(ascii: "#")
    }
}
