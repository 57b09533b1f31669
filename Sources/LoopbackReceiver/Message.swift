/// The parts of an HTTP/1.1 message, composed from an answer for `AnswerBytes`.
struct Message {
    private let answer: Answer
    private let toHead: Bool
    private let closing: Bool
    private(set) var head: [UInt8] = []
    private(set) var body: [UInt8] = []
    /// The bytes that repeat after `body` for `patternLength` bytes. The last repetition may be incomplete.
    private(set) var pattern: [UInt8] = []
    private(set) var patternLength = 0
    private(set) var end: [UInt8] = []
    private(set) var endsWithConnection: Bool

    private static let stretch = 32_768

    init(_ answer: Answer, toHead: Bool, closing: Bool) {
        self.answer = answer
        self.toHead = toHead
        self.closing = closing
        endsWithConnection = closing
    }

    mutating func compose() {
        switch answer.form {
        case .verbatim(let bytes):
            head = bytes
        case .endlessHeaders:
            openHead()
            pattern = Array(String(repeating: "X-Endless: 0123456789abcdef0123456789abcdef\r\n", count: 512).utf8)
            patternLength = .max
        case .message:
            openHead()
            frame()
        }
    }

    private mutating func openHead() {
        head.append(contentsOf: "HTTP/1.1 \(answer.status) \(answer.reason ?? reasonPhrase(answer.status))\r\n".utf8)
        for line in answer.headers { append(line) }
        guard let connection = answer.headers.first("Connection") else {
            if closing { append("Connection: close") }
            return
        }
        if connection.lowercased() == "close" { endsWithConnection = true }
    }

    private mutating func frame() {
        let hasBody = answer.status >= 200 && answer.status != 204 && answer.status != 304
        let chunked = answer.framing == .chunked || answer.framing == .malformedChunks
        if chunked {
            if hasBody { append("Transfer-Encoding: chunked") }
        } else {
            announceLength(hasBody: hasBody)
        }
        head.append(contentsOf: "\r\n".utf8)
        guard hasBody && !toHead else { return }
        if chunked { appendChunks() } else { appendBody() }
    }

    private mutating func announceLength(hasBody: Bool) {
        let length: Int
        switch answer.body {
        case .bytes(let bytes): length = bytes.count
        case .repeated(_, let count): length = count
        case .endless:
            endsWithConnection = true
            return
        }
        switch answer.framing {
        case .wrongLength(let difference): append(HeaderLine("Content-Length", "\(saturated(length, difference))"))
        case .length: if hasBody { append(HeaderLine("Content-Length", "\(length)")) }
        case .untilClose, .chunked, .malformedChunks: endsWithConnection = true
        }
    }

    private mutating func appendBody() {
        switch answer.body {
        case .bytes(let bytes):
            body = bytes
        case .repeated(let byte, let count):
            pattern = Array(repeating: byte, count: min(count, Self.stretch))
            patternLength = count
        case .endless(let byte):
            pattern = Array(repeating: byte, count: Self.stretch)
            patternLength = .max
        }
    }

    private mutating func appendChunks() {
        switch answer.body {
        case .bytes(let bytes):
            if !bytes.isEmpty { body = chunk(bytes) }
        case .repeated(let byte, let count):
            pattern = chunk(Array(repeating: byte, count: min(count, Self.stretch)))
            patternLength = saturated(count / Self.stretch, times: pattern.count)
            if count > Self.stretch {
                let rest = count % Self.stretch
                if rest > 0 { end = chunk(Array(repeating: byte, count: rest)) }
            } else {
                patternLength = count == 0 ? 0 : pattern.count
            }
        case .endless(let byte):
            pattern = chunk(Array(repeating: byte, count: Self.stretch))
            patternLength = .max
        }
        if answer.framing == .malformedChunks {
            end.append(contentsOf: "zz\r\nnot a chunk\r\n".utf8)
        } else {
            end.append(contentsOf: "0\r\n".utf8)
            for line in answer.trailers { end.append(contentsOf: "\(line.name): \(line.value)\r\n".utf8) }
            end.append(contentsOf: "\r\n".utf8)
        }
    }

    private func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }

    private mutating func append(_ line: HeaderLine) {
        head.append(contentsOf: "\(line.name): \(line.value)\r\n".utf8)
    }
}

/// Returns the reason phrase of RFC 9110 §15 or RFC 6585; empty for a status without one.
func reasonPhrase(_ status: Int) -> String {
    switch status {
    case 100: "Continue"
    case 101: "Switching Protocols"
    case 103: "Early Hints"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 407: "Proxy Authentication Required"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 425: "Too Early"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: ""
    }
}
