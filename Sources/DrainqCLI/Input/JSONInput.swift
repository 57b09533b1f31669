import Policy

/// Cuts what `add` reads into JSON values, byte for byte as they were given, as soon as each is complete.
///
/// Two shapes are told apart by the first line. If it is one or more whole values, the input is NDJSON: every line
/// stands for itself, and a bad one harms no other. If the first line is only the beginning of a value, the input is a
/// document or several, over as many lines as they need; after a mistake in one, the next is looked for at a line that
/// begins with `{` or `[`, since the inner lines of a broken document must never be taken for operations.
struct JSONInput {
    enum Item: Hashable {
        case value([UInt8], line: Int)
        /// Not JSON: the text, the line it begins at, and the line and reason of the mistake.
        case bad([UInt8], line: Int, mistakeLine: Int, reason: String)
    }

    private enum Shape { case unknown, lines, documents }

    private var shape = Shape.unknown
    private var buffer: [UInt8] = []
    /// The number of the buffer's first line.
    private var line = 1

    /// How many bytes wait for the rest of their value.
    var pending: Int { buffer.count }

    /// Takes the next bytes and gives the values that are complete; `atEnd` with the last ones.
    mutating func feed(_ bytes: [UInt8], atEnd: Bool) -> [Item] {
        buffer += bytes
        if shape == .unknown {
            guard let decided = decideShape(atEnd: atEnd) else { return [] }
            shape = decided
        }
        switch shape {
        case .unknown: return []
        case .lines: return takeLines(atEnd: atEnd)
        case .documents: return takeDocuments(atEnd: atEnd)
        }
    }

    private mutating func decideShape(atEnd: Bool) -> Shape? {
        if buffer.starts(with: [0xEF, 0xBB, 0xBF]) { buffer.removeFirst(3) }
        var start = 0
        while let end = endOfLine(from: start, atEnd: atEnd) {
            let text = Array(buffer[start..<end])
            if !text.allSatisfy(\.isJSONWhitespace) {
                do throws(JSONSyntaxError) {
                    _ = try Self.values(in: text)
                    return .lines
                } catch {
                    return error.offset >= text.trimmedEnd ? .documents : .lines
                }
            }
            start = end + 1
        }
        return nil
    }

    private mutating func takeLines(atEnd: Bool) -> [Item] {
        var items: [Item] = []
        var start = 0
        while let end = endOfLine(from: start, atEnd: atEnd) {
            let text = Array(buffer[start..<end])
            do throws(JSONSyntaxError) {
                for value in try Self.values(in: text) { items.append(.value(value, line: line)) }
            } catch {
                items.append(.bad(text, line: line, mistakeLine: line, reason: error.reason))
            }
            line += 1
            start = min(end + 1, buffer.count)
        }
        buffer.removeFirst(start)
        return items
    }

    private mutating func takeDocuments(atEnd: Bool) -> [Item] {
        var items: [Item] = []
        var consumed = 0
        var scanner = JSONScanner(buffer)
        scanning: while true {
            do {
                guard let range = try scanner.next() else {
                    consumed = buffer.count
                    break
                }
                // A number may go on in the next bytes.
                if range.upperBound == buffer.count, !atEnd { break }
                items.append(.value(Array(buffer[range]), line: lineNumber(of: range.lowerBound)))
                consumed = range.upperBound
            } catch {
                if error.offset >= buffer.trimmedEnd, !atEnd { break scanning }
                let start = buffer[consumed...].firstIndex { !$0.isJSONWhitespace } ?? consumed
                guard let end = nextDocument(after: max(start, consumed), atEnd: atEnd) else { break scanning }
                items.append(
                    .bad(
                        Array(buffer[start..<end]), line: lineNumber(of: start),
                        mistakeLine: lineNumber(of: min(error.offset, buffer.count)), reason: error.reason))
                consumed = end
                scanner = JSONScanner(buffer, from: end)
            }
        }
        line = lineNumber(of: consumed)
        buffer.removeFirst(consumed)
        return items
    }

    /// Where the next document may begin: the next line that starts with an opening bracket, or the end.
    private func nextDocument(after start: Int, atEnd: Bool) -> Int? {
        var position = start
        while let newline = buffer[position...].firstIndex(of: UInt8(ascii: "\n")) {
            position = newline + 1
            guard position < buffer.count else { break }
            if buffer[position] == UInt8(ascii: "{") || buffer[position] == UInt8(ascii: "[") { return position }
        }
        return atEnd ? buffer.count : nil
    }

    /// The end of the line that starts there, without its newline; the end of the input counts as one.
    private func endOfLine(from start: Int, atEnd: Bool) -> Int? {
        guard start < buffer.count else { return nil }
        return buffer[start...].firstIndex(of: UInt8(ascii: "\n")) ?? (atEnd ? buffer.count : nil)
    }

    private func lineNumber(of offset: Int) -> Int {
        line + buffer[..<offset].count { $0 == UInt8(ascii: "\n") }
    }

    private static func values(in text: [UInt8]) throws(JSONSyntaxError) -> [[UInt8]] {
        var scanner = JSONScanner(text)
        var values: [[UInt8]] = []
        while let range = try scanner.next() {
            values.append(range.count == text.count ? text : Array(text[range]))
        }
        return values
    }
}

extension UInt8 {
    fileprivate var isJSONWhitespace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}

extension [UInt8] {
    /// The offset behind the last byte that is not white space.
    fileprivate var trimmedEnd: Int {
        (lastIndex { !$0.isJSONWhitespace } ?? -1) + 1
    }
}
