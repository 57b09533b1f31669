import Policy

/// The status and header fields of an answer, read line by line as they arrive.
///
/// Informational answers (1xx) leave nothing behind, and what follows the final head are trailers, which nobody asked
/// for. All of them count towards the bound.
struct AnswerHead {
    /// How many bytes of lines there may be, from all heads and trailers of one answer.
    static let limit = 256 << 10

    /// Of the final answer; 0 until its status line has come.
    private(set) var status = 0
    private(set) var headers: [HeaderField] = []
    /// The final head has come whole.
    private(set) var isComplete = false
    private var size = 0

    /// Reads a line with its line break; `false` where that is more than there may be.
    mutating func take(_ line: some Collection<UInt8>) -> Bool {
        size += line.count
        if size > Self.limit { return false }
        if isComplete { return true }
        let text = String(decoding: line, as: UTF8.self).trimmingLineBreak
        if text.hasPrefix("HTTP/") {
            status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
            headers = []
        } else if text.isEmpty {
            isComplete = status >= 200
        } else if text.first == " " || text.first == "\t" {
            // A folded line (RFC 9112 §5.2) goes on with the field before it.
            guard !headers.isEmpty else { return true }
            headers[headers.count - 1].value += " " + text.trimmingBlanks
        } else if let colon = text.firstIndex(of: ":") {
            headers.append(
                HeaderField(name: String(text[..<colon]), value: text[text.index(after: colon)...].trimmingBlanks))
        }
        return true
    }
}

extension String {
    /// CR LF is one character of Swift's, so bytes are looked at.
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
