/// The request line and the header fields of a request.
struct RequestHead {
    enum Framing {
        case length(Int)
        case chunked
    }

    private(set) var method = ""
    private(set) var target = ""
    private(set) var headers: [HeaderLine] = []
    private(set) var isHEAD = false
    private(set) var framing = Framing.length(0)
    private(set) var closes = false
    private(set) var expectsContinue = false

    /// Reads a head that ends with an empty line.
    ///
    /// - Parameter keepsFields: whether `method`, `target` and `headers` are needed.
    init(_ bytes: ArraySlice<UInt8>, keepsFields: Bool) throws(RequestReader.Refusal) {
        guard var end = bytes.firstIndex(of: 13) else { throw RequestReader.Refusal(status: 400) }
        try readRequestLine(bytes[bytes.startIndex..<end], keepsFields: keepsFields)
        var length: Int?
        var chunked = false
        while true {
            let start = end + 2
            guard start < bytes.endIndex, let next = bytes[start...].firstIndex(of: 13) else { break }
            if next == start { break }
            end = next
            let line = bytes[start..<next]
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > start, bytes[next + 1] == 10 else {
                throw RequestReader.Refusal(status: 400)
            }
            let name = line[..<colon]
            let value = line[(colon + 1)...]
            if keepsFields {
                headers.append(
                    HeaderLine(
                        String(decoding: name, as: UTF8.self), trimmed(String(decoding: value, as: UTF8.self))))
            }
            // Compares only the names that matter here, by their length first.
            switch name.count {
            case 6 where isWord("expect", name):
                expectsContinue = isWord("100-continue", value)
            case 10 where isWord("connection", name):
                if isWord("close", value) { closes = true }
                if isWord("keep-alive", value) { closes = false }
            case 14 where isWord("content-length", name):
                let text = trimmed(String(decoding: value, as: UTF8.self))
                guard text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let number = Int(text),
                    length == nil || length == number
                else { throw RequestReader.Refusal(status: 400) }
                length = number
            case 17 where isWord("transfer-encoding", name):
                guard isWord("chunked", value) else { throw RequestReader.Refusal(status: 501) }
                chunked = true
            default:
                break
            }
        }
        // Requests are smuggled with both at once (RFC 9112 §6.1).
        if chunked && length != nil { throw RequestReader.Refusal(status: 400) }
        framing = chunked ? .chunked : .length(length ?? 0)
    }

    private mutating func readRequestLine(
        _ line: ArraySlice<UInt8>, keepsFields: Bool
    ) throws(RequestReader.Refusal) {
        let words = line.split(separator: 32, omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, !words[1].isEmpty, words[2].starts(with: "HTTP/".utf8) else {
            throw RequestReader.Refusal(status: 400)
        }
        if words[2].elementsEqual("HTTP/1.0".utf8) {
            closes = true
        } else if !words[2].elementsEqual("HTTP/1.1".utf8) {
            throw RequestReader.Refusal(status: 505)
        }
        isHEAD = words[0].elementsEqual("HEAD".utf8)
        if keepsFields {
            method = String(decoding: words[0], as: UTF8.self)
            target = String(decoding: words[1], as: UTF8.self)
        }
    }
}

/// Whether the bytes are this lower-case word, compared without case and surrounding blanks.
private func isWord(_ word: StaticString, _ bytes: ArraySlice<UInt8>) -> Bool {
    var (start, end) = (bytes.startIndex, bytes.endIndex)
    while start < end, bytes[start] == 32 || bytes[start] == 9 { start += 1 }
    while start < end, bytes[end - 1] == 32 || bytes[end - 1] == 9 { end -= 1 }
    guard end - start == word.utf8CodeUnitCount else { return false }
    for offset in 0..<(end - start) {
        let byte = bytes[start + offset]
        let lower = byte >= 65 && byte <= 90 ? byte | 32 : byte
        if lower != word.utf8Start[offset] { return false }
    }
    return true
}
