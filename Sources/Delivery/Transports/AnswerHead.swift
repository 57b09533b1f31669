import Policy

/// The status and header fields of an answer, read line by line as they arrive.
///
/// A status counts only where a head begins: at the first line, and after an informational answer (1xx), which leaves no
/// fields behind. Lines after the final head are trailers and are ignored. All lines count towards the limit.
struct AnswerHead {
    /// Upper bound on the bytes of lines, from all heads and trailers of one answer.
    static let limit = 256 << 10

    /// Why a line ends the answer.
    enum Defect: Equatable {
        case tooLong
        /// A head begins with something else than a status line.
        case noStatus
    }

    /// The status of the final answer; before its status line, that of an informational answer, or 0.
    private(set) var status = 0
    /// The major version of HTTP that the last status line names; 0 before the first.
    private(set) var version = 0
    private(set) var headers: [HeaderField] = []
    /// Whether the final head has arrived as a whole.
    private(set) var isComplete = false
    private(set) var defect: Defect?
    private var expectsStatus = true
    private var size = 0

    /// Reads a line with its line break; `false` where it has a `defect`.
    mutating func take(_ line: some Collection<UInt8>) -> Bool {
        size += line.count
        if size > Self.limit { defect = .tooLong }
        if defect != nil { return false }
        if isComplete { return true }
        let text = String(decoding: line, as: UTF8.self).trimmingLineBreak
        if expectsStatus {
            guard let line = Self.statusLine(text.utf8) else {
                defect = .noStatus
                return false
            }
            (version, status) = line
            expectsStatus = false
        } else if text.isEmpty {
            isComplete = status >= 200
            if !isComplete { (expectsStatus, headers) = (true, []) }
        } else if text.first == " " || text.first == "\t" {
            // A folded line (RFC 9112 §5.2) continues the field before it.
            guard !headers.isEmpty else { return true }
            headers[headers.count - 1].value += " " + text.trimmingBlanks
        } else if let colon = text.firstIndex(of: ":") {
            headers.append(
                HeaderField(name: String(text[..<colon]), value: text[text.index(after: colon)...].trimmingBlanks))
        }
        return true
    }

    /// Reads `HTTP/1.1 200 OK` or `HTTP/2 200`; `nil` for any other line.
    ///
    /// A tab separates as a blank does, because libcurl, which frames the body by the status, reads it so.
    private static func statusLine(_ line: String.UTF8View) -> (version: Int, status: Int)? {
        let words = line.split(maxSplits: 2) { $0 == 0x20 || $0 == 0x09 }
        guard words.count >= 2, words[0].starts(with: "HTTP/".utf8), words[1].count == 3 else { return nil }
        let version = words[0].dropFirst(5).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isDigit: (UInt8) -> Bool = { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard (1...2).contains(version.count), version.allSatisfy({ $0.count == 1 && $0.allSatisfy(isDigit) }),
            words[1].allSatisfy(isDigit), let status = Int(String(Substring(words[1]))), status >= 100
        else { return nil }
        return (Int(version[0].first! - UInt8(ascii: "0")), status)
    }
}

extension String {
    /// CR LF is one `Character`, so the bytes are compared.
    fileprivate var trimmingLineBreak: String {
        var bytes = Substring(self).utf8
        while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
        return String(Substring(bytes))
    }
}

extension StringProtocol {
    fileprivate var trimmingBlanks: String {
        let bytes = Substring(self).utf8
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let first = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(Substring(bytes[first...last]))
    }
}
