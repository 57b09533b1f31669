import Policy

/// The status and header fields of an answer, read line by line as they arrive.
///
/// A status counts only at the start of a head: the first line, or after an informational answer (1xx), whose fields
/// are dropped. Lines after the final head are trailers and are ignored. All lines count towards the limit.
struct AnswerHead {
    /// Upper bound on the bytes of lines, from all heads and trailers of an answer.
    static let limit = 256 << 10

    /// Why a line ends the answer.
    enum Defect: Equatable {
        case tooLong
        /// A head does not begin with a status line.
        case noStatus
        /// A status line names a version of HTTP that its connection does not speak.
        case version(Int)
        /// The body has more than one transfer coding. libcurl can take any time to decode a few bytes of such a body.
        case codings

        /// The words of a failed attempt, whose connection speaks this version of HTTP.
        func detail(over version: Int) -> String {
            switch self {
            case .tooLong: "the answer's header fields are longer than \(AnswerHead.limit) bytes"
            case .noStatus: "the answer does not begin with a status line"
            case .version(let other): "the answer is in HTTP/\(other), but its connection speaks HTTP/\(version)"
            case .codings: "the answer has more than one transfer coding"
            }
        }
    }

    /// The status of the final answer; before its status line that of an informational answer, or 0.
    private(set) var status = 0
    /// The major version of HTTP in the last status line; 0 before the first.
    private(set) var version = 0
    private(set) var headers: [HeaderField] = []
    /// Whether the final head has arrived, as a whole or up to the limit.
    private(set) var isComplete = false
    private(set) var defect: Defect?
    private var expectsStatus = true
    private var size = 0
    private var codings = 0
    /// The major version of HTTP that the connection has negotiated; `nil` if unknown.
    private let negotiated: Int?

    init(over negotiated: Int? = nil) { self.negotiated = negotiated }

    /// Reads a line with its line break. Returns `false` if it has a `defect`.
    mutating func take(_ line: some Collection<UInt8>) -> Bool {
        Array(line).withUnsafeBytes { take($0) }
    }

    /// Reads a line with its line break. Returns `false` if it has a `defect`.
    mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
        size += line.count
        if size > Self.limit { (defect, isComplete) = (.tooLong, status >= 200) }
        if defect != nil { return false }
        if isComplete { return true }
        let text = line[..<line.endOfText { $0 == 0x0A || $0 == 0x0D }]
        if expectsStatus {
            guard let line = Self.statusLine(text) else {
                defect = .noStatus
                return false
            }
            (version, status) = line
            expectsStatus = false
            if let negotiated, version != negotiated { defect = .version(version) }
        } else if text.isEmpty {
            isComplete = status >= 200
            if codings > 1 { defect = .codings }
            if !isComplete { (expectsStatus, headers, codings) = (true, [], 0) }
        } else if text.first?.isBlank == true {
            // A folded line (RFC 9112 §5.2) continues the field before it.
            guard !headers.isEmpty else { return true }
            headers[headers.count - 1].value += " " + text.trimmedText
        } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            if headers.isEmpty { headers.reserveCapacity(8) }
            headers.append(
                HeaderField(
                    name: String(decoding: text[..<colon], as: UTF8.self), value: text[(colon + 1)...].trimmedText))
            codings += Libcurl.codings(in: line)
        }
        return defect == nil
    }

    /// Reads `HTTP/1.1 200 OK` or `HTTP/2 200`; `nil` for any other line.
    ///
    /// A tab separates as a blank does, because libcurl, which frames the body by the status, reads it so.
    private static func statusLine(_ line: Slice<UnsafeRawBufferPointer>) -> (version: Int, status: Int)? {
        var rest = line.drop(while: \.isBlank)
        guard rest.starts(with: "HTTP/".utf8), let version = rest.dropFirst(5).first, version.isDigit else {
            return nil
        }
        rest = rest.dropFirst(6)
        if rest.first == UInt8(ascii: ".") {
            guard rest.dropFirst().first?.isDigit == true else { return nil }
            rest = rest.dropFirst(2)
        }
        guard rest.first?.isBlank == true else { return nil }
        rest = rest.drop(while: \.isBlank)
        let digits = rest.prefix(3)
        guard digits.count == 3, digits.allSatisfy(\.isDigit), rest.dropFirst(3).first?.isBlank ?? true else {
            return nil
        }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return status < 100 ? nil : (Int(version - UInt8(ascii: "0")), status)
    }
}

extension BidirectionalCollection<UInt8> {
    /// Returns the end of the collection without such bytes at its end.
    fileprivate func endOfText(_ isOutside: (UInt8) -> Bool) -> Index {
        var end = endIndex
        while end > startIndex, isOutside(self[index(before: end)]) { formIndex(before: &end) }
        return end
    }
}
