/// The reader of one connection's requests. It waits until a request is complete.
struct RequestReader {
    /// A request that cannot be served, with the status to answer. The connection ends after it.
    struct Refusal: Error { var status: Int }

    struct Request {
        var head: RequestHead
        /// The body without its framing; empty if bodies are not recorded.
        var body: [UInt8] = []
        var bodyLength = 0
    }

    private static let headLimit = 65_536

    private let connection: Connection
    private let recordsBodies: Bool
    private let bodyLimit: Int
    private var input: [UInt8] = []
    /// The position of the first byte that has not been read.
    private var start = 0

    init(_ connection: Connection, recordsBodies: Bool, bodyLimit: Int) {
        self.connection = connection
        self.recordsBodies = recordsBodies
        self.bodyLimit = bodyLimit
    }

    /// Returns the next request; `nil` if the connection ends before it is complete.
    mutating func next() throws(Refusal) -> Request? {
        guard let end = try headEnd() else { return nil }
        var request = Request(head: try RequestHead(input[start..<end]))
        start = end
        switch request.head.framing {
        case .length(let length):
            if length > bodyLimit { throw Refusal(status: 413) }
            continueIfExpected(request.head, length: length)
            return take(length, into: &request) ? request : nil
        case .chunked:
            continueIfExpected(request.head, length: .max)
            return try takeChunks(into: &request) ? request : nil
        }
    }

    /// Receives more bytes. Returns false at the end of the connection.
    private mutating func fill() -> Bool {
        input.removeSubrange(..<start)
        start = 0
        let more = connection.receive()
        input += more
        return !more.isEmpty
    }

    /// Returns the end of the head, its empty line included. Skips empty lines before the request line (RFC 9112 §2.2).
    private mutating func headEnd() throws(Refusal) -> Int? {
        let end: [UInt8] = [13, 10, 13, 10]
        while true {
            while input.count - start >= 2, input[start] == 13, input[start + 1] == 10 { start += 2 }
            if let found = input[start...].firstRange(of: end) { return found.upperBound }
            if input.count - start > Self.headLimit { throw Refusal(status: 431) }
            guard fill() else { return nil }
        }
    }

    /// Returns the next line without its CRLF.
    private mutating func line() throws(Refusal) -> String? {
        while true {
            if let end = input[start...].firstIndex(of: 10) {
                guard end > start, input[end - 1] == 13 else { throw Refusal(status: 400) }
                defer { start = end + 1 }
                return String(decoding: input[start..<end - 1], as: UTF8.self)
            }
            if input.count - start > Self.headLimit { throw Refusal(status: 400) }
            guard fill() else { return nil }
        }
    }

    /// Tells a client that waits with its body to send it.
    private func continueIfExpected(_ head: RequestHead, length: Int) {
        guard head.expectsContinue, length > 0, start == input.count else { return }
        _ = connection.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }

    /// Moves `count` bytes into the body. Returns false if the connection ends before.
    private mutating func take(_ count: Int, into request: inout Request) -> Bool {
        request.bodyLength += count
        var missing = count
        while true {
            let here = min(missing, input.count - start)
            if recordsBodies { request.body += input[start..<start + here] }
            start += here
            missing -= here
            if missing == 0 { return true }
            guard fill() else { return false }
        }
    }

    /// Reads chunks and trailers. Returns false if the connection ends before the last line.
    private mutating func takeChunks(into request: inout Request) throws(Refusal) -> Bool {
        while true {
            guard let line = try line() else { return false }
            let text = trimmed(line.prefix { $0 != ";" })
            guard text.first != "+", text.first != "-", let size = Int(text, radix: 16) else {
                throw Refusal(status: 400)
            }
            if size == 0 { break }
            if size > bodyLimit - request.bodyLength { throw Refusal(status: 413) }
            guard take(size, into: &request), let end = try self.line() else { return false }
            if !end.isEmpty { throw Refusal(status: 400) }
        }
        while let trailer = try line() { if trailer.isEmpty { return true } }
        return false
    }
}

/// The request line and the header fields of a request.
struct RequestHead {
    enum Framing {
        case length(Int)
        case chunked
    }

    let method: String
    let target: String
    private(set) var headers: [HeaderLine] = []
    private(set) var framing = Framing.length(0)
    private(set) var closes: Bool
    private(set) var expectsContinue = false

    /// Reads a head that ends with an empty line.
    init(_ bytes: ArraySlice<UInt8>) throws(RequestReader.Refusal) {
        let lines = bytes.split(separator: 10)
        guard lines.allSatisfy({ $0.firstIndex(of: 13) == $0.endIndex - 1 }) else { throw .init(status: 400) }
        let texts = lines.map { String(decoding: $0.dropLast(), as: UTF8.self) }
        let words = texts[0].split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 3, !words[0].isEmpty, !words[1].isEmpty, words[2].hasPrefix("HTTP/") else {
            throw .init(status: 400)
        }
        guard ["HTTP/1.0", "HTTP/1.1"].contains(words[2]) else { throw .init(status: 505) }
        (method, target, closes) = (words[0], words[1], words[2] == "HTTP/1.0")
        var length: Int?
        for text in texts.dropFirst() where !text.isEmpty {
            guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else { throw .init(status: 400) }
            let line = HeaderLine(String(text[..<colon]), trimmed(text[colon...].dropFirst()))
            headers.append(line)
            switch line.name.lowercased() {
            case "expect": expectsContinue = line.value.lowercased() == "100-continue"
            case "connection" where line.value.lowercased() == "close": closes = true
            case "connection" where line.value.lowercased() == "keep-alive": closes = false
            case "content-length":
                guard line.value.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let number = Int(line.value),
                    length == nil || length == number
                else { throw .init(status: 400) }
                length = number
            case "transfer-encoding":
                guard line.value.lowercased() == "chunked" else { throw .init(status: 501) }
                framing = .chunked
            default: break
            }
        }
        guard let length else { return }
        // Requests are smuggled with both at once (RFC 9112 §6.1).
        if case .chunked = framing { throw .init(status: 400) }
        framing = .length(length)
    }
}

private func trimmed(_ text: Substring) -> String {
    func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
    var rest = text.drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return String(rest)
}
