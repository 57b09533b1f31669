package import Policy

extension NetworkError {
    /// Names the error with URLSession's `code` and libcurl's `message`.
    ///
    /// The codes are coarse. All but ten of libcurl's results are -1 with a message, and a connection refused by one of
    /// a host's addresses colours later errors on the next address (-1004 for an answer that broke off). So the message
    /// comes first if a code can have several meanings.
    ///
    /// `hasStatus`: a status had been received, so a lost connection has truncated an answer. The status may also be
    /// that of a proxy's answer to CONNECT, which URLSession shows as the answer: so an error that cannot follow an
    /// answer keeps its name.
    package init(urlErrorCode code: Int, message: String, hasStatus: Bool = false) {
        let name = Self.name(ofURLErrorCode: code, message: message)
        self = hasStatus ? name.afterStatus : name
    }

    private static func name(ofURLErrorCode code: Int, message: String) -> NetworkError {
        let words = message.lowercased()
        let spoken = NetworkError(errorMessage: message)
        switch code {
        case -1: return spoken ?? .other
        case -1001: return words.contains("resolv") ? .dns : words.contains("connect") ? spoken ?? .timeout : .timeout
        case -1004: return spoken ?? .refused
        // libcurl's "unsupported protocol" is also an answer in HTTP/0.9: then something was sent.
        case -1000, -1002: return spoken ?? .badURL
        case -1005: return .reset
        case -1011: return .emptyAnswer
        default: return byCode[code] ?? spoken ?? .other
        }
    }

    /// Names the error by libcurl's message, from URLSession or from libcurl itself; `nil` if no row fits.
    init?(errorMessage message: String) {
        let words = message.lowercased()
        let row = Self.byWords.first { row in
            row.messages.contains { $0.utf8.split(separator: " & ".utf8).allSatisfy { words.utf8.contains($0) } }
        }
        guard let row else { return nil }
        self = row.name
    }

    /// Codes with one meaning.
    private static let byCode: [Int: NetworkError] = [
        -999: .cancelled,
        -1003: .dns, -1006: .dns,
        -1009: .offline, -1018: .offline, -1020: .offline,
        -1015: .malformedAnswer, -1016: .malformedAnswer, -1017: .malformedAnswer,
        // Darwin has a code for each TLS error.
        -1022: .tls, -1200: .tls, -1201: .tls, -1202: .tls, -1203: .tls, -1204: .tls, -1205: .tls, -1206: .tls,
        // A body with a method that has none.
        -1103: .badURL,
        // Darwin's proxy errors.
        306: .proxy, 307: .proxy, 310: .proxy, 311: .proxy,
    ]

    /// Parts of libcurl's messages (7.88 and later, OpenSSL and GnuTLS) in lower case, by the name of their error; `&`
    /// joins parts of one message. The first fitting row decides.
    private static let byWords: [(name: NetworkError, messages: [String])] = [
        (.proxy, ["resolve proxy", "proxy connect", "connect tunnel", "response & from proxy"]),
        (.dns, ["could not resolve host", "failed to resolve", "resolving timed out"]),
        (
            .connectTimeout,
            [
                "connection timed out & failed to connect", "connection timeout & failed to connect",
                "timeout was reached & failed to connect",
            ]
        ),
        (.unreachable, ["network is unreachable", "no route to host", "host is unreachable"]),
        (.refused, ["failed to connect", "couldn't connect", "could not connect", "connection refused"]),
        (.emptyAnswer, ["empty reply"]),
        // Lost connections, with or without TLS. `tls` is for errors of trust and protocol, which a person must repair.
        (.truncated, ["bytes remaining to read", "outstanding read data", "partial file"]),
        (
            .reset,
            [
                "connection reset", "connection was reset", "connection died", "broken pipe",
                "unexpected eof while reading", "syscall", "non-properly terminated", "recv failure", "send failure",
                "failure when receiving data", "failed sending data",
            ]
        ),
        (.tls, ["ssl_read & alert"]),
        (.reset, ["ssl_read", "ssl_write"]),
        (.tls, ["ssl", "tls", "certificate"]),
        (
            .malformedAnswer,
            [
                "header", "http/0.9", "chunk", "weird server reply", "unsupported http", "unsupported response code",
                "http version", "content-length", "content encoding", "content-encoding", "transfer encoding",
                "transfer-encoding", "incorrect data check", "there's no response",
            ]
        ),
    ]
}
