/// A parser of one connection's bytes into requests, which may arrive in parts or several at once.
struct RequestReader {
    enum Step {
        /// More bytes are needed.
        case incomplete
        /// As `incomplete`, but the client waits for `100 Continue` before it sends its body.
        case awaitingContinue
        case request(Request)
    }

    struct Request {
        var head: RequestHead
        var body: [UInt8] = []
        var bodyLength = 0
    }

    /// A request that cannot be served, with the status to answer. The connection ends after it.
    struct Refusal: Error {
        var status: Int
    }

    private enum Phase {
        case head
        case body(remaining: Int)
        case chunkSize
        case chunk(remaining: Int)
        case chunkEnd
        case trailers
    }

    static let headLimit = 65_536

    private let keepsFields: Bool
    private let keepsBodies: Bool
    private let bodyLimit: Int
    private var input: [UInt8] = []
    private var start = 0
    /// The end of the part of the current line or head that has been searched.
    private var scanned = 0
    private var phase = Phase.head
    private var request: Request?
    private var announcedContinue = false

    init(keepsFields: Bool, keepsBodies: Bool, bodyLimit: Int) {
        self.keepsFields = keepsFields
        self.keepsBodies = keepsBodies
        self.bodyLimit = bodyLimit
    }

    /// The number of bytes not parsed yet, behind the request that is being answered.
    var waiting: Int { input.count - start }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if start == input.count {
            input.removeAll(keepingCapacity: true)
            (start, scanned) = (0, 0)
        }
        input.append(contentsOf: bytes)
    }

    mutating func next() throws(Refusal) -> Step {
        while true {
            switch phase {
            case .head:
                guard let end = try headEnd() else { return .incomplete }
                let head = try RequestHead(input[start..<end], keepsFields: keepsFields)
                consume(upTo: end)
                request = Request(head: head)
                announcedContinue = false
                switch head.framing {
                case .length(let length):
                    if length > bodyLimit { throw Refusal(status: 413) }
                    phase = .body(remaining: length)
                case .chunked:
                    phase = .chunkSize
                }
            case .body(let remaining):
                let left = take(remaining)
                phase = .body(remaining: left)
                if left > 0 { return waitForBody() }
                return finish()
            case .chunkSize:
                guard let line = try line() else { return waitForBody() }
                let digits = input[line].prefix { $0 != UInt8(ascii: ";") }
                let text = trimmed(String(decoding: digits, as: UTF8.self))
                guard text.first != "+", text.first != "-", let size = Int(text, radix: 16) else {
                    throw Refusal(status: 400)
                }
                if saturated(request!.bodyLength, size) > bodyLimit { throw Refusal(status: 413) }
                consume(upTo: line.upperBound + 2)
                phase = size == 0 ? .trailers : .chunk(remaining: size)
            case .chunk(let remaining):
                let left = take(remaining)
                phase = .chunk(remaining: left)
                if left > 0 { return .incomplete }
                phase = .chunkEnd
            case .chunkEnd:
                guard let line = try line() else { return .incomplete }
                if !line.isEmpty { throw Refusal(status: 400) }
                consume(upTo: line.upperBound + 2)
                phase = .chunkSize
            case .trailers:
                guard let line = try line() else { return .incomplete }
                consume(upTo: line.upperBound + 2)
                if line.isEmpty { return finish() }
            }
        }
    }

    private mutating func finish() -> Step {
        phase = .head
        defer { request = nil }
        return .request(request!)
    }

    private mutating func waitForBody() -> Step {
        guard request!.head.expectsContinue, !announcedContinue, waiting == 0 else { return .incomplete }
        announcedContinue = true
        return .awaitingContinue
    }

    /// Moves up to `count` bytes into the body. Returns the number of bytes still missing.
    private mutating func take(_ count: Int) -> Int {
        let here = min(count, waiting)
        if keepsBodies { request!.body.append(contentsOf: input[start..<start + here]) }
        request!.bodyLength += here
        consume(upTo: start + here)
        return count - here
    }

    private mutating func consume(upTo end: Int) {
        start = end
        scanned = end
        if start > 1 << 20 {
            input.removeSubrange(..<start)
            (start, scanned) = (0, 0)
        }
    }

    /// Returns the end of the head, its empty line included; `nil` if it has not arrived. Skips empty lines before the
    /// request line (RFC 9112 §2.2).
    private mutating func headEnd() throws(Refusal) -> Int? {
        while waiting >= 2, input[start] == 13, input[start + 1] == 10 { consume(upTo: start + 2) }
        let found = input.withUnsafeBufferPointer { bytes -> Int? in
            var index = max(scanned, start + 3)
            while index < bytes.count {
                switch bytes[index] {
                case 10:
                    if bytes[index - 1] == 13, bytes[index - 2] == 10, bytes[index - 3] == 13 { return index + 1 }
                    index += 2
                case 13: index += 1
                default: index += 4
                }
            }
            return nil
        }
        if let found { return found }
        if waiting > Self.headLimit { throw Refusal(status: 431) }
        // The longest stride above passes the end by at most three bytes. Search these again.
        scanned = max(start, input.count - 3)
        return nil
    }

    /// Returns the next line without its CRLF; `nil` if it has not arrived.
    private mutating func line() throws(Refusal) -> Range<Int>? {
        guard let end = input[max(scanned, start)...].firstIndex(of: 10) else {
            if waiting > Self.headLimit { throw Refusal(status: 400) }
            scanned = input.count
            return nil
        }
        guard end > start, input[end - 1] == 13 else { throw Refusal(status: 400) }
        return start..<end - 1
    }
}

func trimmed(_ text: some StringProtocol) -> String {
    func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
    var rest = Substring(text).drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return String(rest)
}

/// Returns the sum, or the nearest `Int` if it overflows.
func saturated(_ left: Int, _ right: Int) -> Int {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? (right < 0 ? .min : .max) : sum
}

/// Returns the product of two numbers that are not negative, or `Int.max` if it overflows.
func saturated(_ number: Int, times factor: Int) -> Int {
    let (product, overflow) = number.multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
}
