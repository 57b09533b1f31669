import Policy

/// A splitter of input into JSON values: returns each value byte for byte as given, as soon as it is complete.
///
/// The first line decides between two shapes. If it is one or more whole values, the input is NDJSON: each line is read
/// by itself, and a bad line does not affect others. If it is only the beginning of a value, the input is one or more
/// documents over any number of lines. After a mistake in a document, the next begins at a line that starts with `{` or
/// `[`: the inner lines of a broken document must never become operations.
struct JSONInput {
    enum Item: Hashable {
        case value([UInt8], line: Int)
        /// Text that is not JSON, the line where it begins, and the line and reason of the mistake.
        case bad([UInt8], line: Int, mistakeLine: Int, reason: String)
    }

    private enum Shape { case unknown, lines, documents }

    private var shape = Shape.unknown
    private var buffer: [UInt8] = []
    /// The line number of the buffer's first line.
    private var line = 1
    /// The offset in the buffer before which no line ends. The rest belongs to a line that has not ended.
    private var searched = 0
    /// The state of the search for the end of a document, up to the end of the buffer.
    private var brackets = Brackets()
    /// The length of the buffer at which an unfinished document is scanned again, unless its brackets close before.
    private var nextScan = 0

    /// The bytes of a value that is not complete.
    var pending: Int { buffer.count }

    /// Takes the next bytes and returns the values that are complete. `atEnd` marks the last bytes.
    mutating func feed(_ bytes: [UInt8], atEnd: Bool) -> [Item] {
        buffer += bytes
        if shape == .documents { brackets.take(bytes) }
        if shape == .unknown {
            guard let decided = decideShape(atEnd: atEnd) else { return [] }
            shape = decided
            searched = 0
            if shape == .documents { brackets.take(buffer) }
        }
        switch shape {
        case .unknown: return []
        case .lines: return takeLines(atEnd: atEnd)
        case .documents: return takeDocuments(atEnd: atEnd)
        }
    }

    private mutating func decideShape(atEnd: Bool) -> Shape? {
        if buffer.starts(with: [0xEF, 0xBB, 0xBF]) {
            buffer.removeFirst(3)
            searched = 0
        }
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
        searched = buffer.count
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
        searched = buffer.count
        return items
    }

    private mutating func takeDocuments(atEnd: Bool) -> [Item] {
        guard atEnd || brackets.haveClosed || buffer.count >= nextScan else { return [] }
        var items: [Item] = []
        var consumed = 0
        var lines = LineCount(line: line)
        var mustGrow = false
        var scanner = JSONScanner(buffer)
        scanning: while true {
            do {
                guard let range = try scanner.next() else {
                    consumed = buffer.count
                    break
                }
                // The next bytes may continue the number.
                if range.upperBound == buffer.count, !atEnd { break }
                items.append(.value(Array(buffer[range]), line: lines.number(of: range.lowerBound, in: buffer)))
                consumed = range.upperBound
            } catch {
                if error.offset >= buffer.trimmedEnd, !atEnd { break scanning }
                let start = buffer[consumed...].firstIndex { !$0.isJSONWhitespace } ?? consumed
                guard let end = nextDocument(after: max(start, consumed), atEnd: atEnd) else {
                    mustGrow = true
                    break scanning
                }
                let first = lines.number(of: start, in: buffer)
                // The mistake may lie after the end of the text.
                var ahead = lines
                let mistake = ahead.number(of: min(error.offset, buffer.count), in: buffer)
                items.append(
                    .bad(Array(buffer[start..<end]), line: first, mistakeLine: mistake, reason: error.reason))
                consumed = end
                scanner = JSONScanner(buffer, from: end)
            }
        }
        line = lines.number(of: consumed, in: buffer)
        buffer.removeFirst(consumed)
        // However small the chunks, a value is scanned only each time its length doubles.
        nextScan = buffer.count * 2
        brackets = Brackets(followsMistake: mustGrow)
        brackets.take(buffer)
        brackets.haveClosed = false
        return items
    }

    /// Returns where the next document may begin, at a line with an opening bracket or the end; `nil` if unknown yet.
    private func nextDocument(after start: Int, atEnd: Bool) -> Int? {
        var position = start
        while let newline = buffer[position...].firstIndex(of: UInt8(ascii: "\n")) {
            position = newline + 1
            guard position < buffer.count else { break }
            if buffer[position] == UInt8(ascii: "{") || buffer[position] == UInt8(ascii: "[") { return position }
        }
        return atEnd ? buffer.count : nil
    }

    /// Returns the end of the line that starts there, without its newline. The end of the input ends a line too.
    private func endOfLine(from start: Int, atEnd: Bool) -> Int? {
        guard start < buffer.count else { return nil }
        return buffer[max(start, searched)...].firstIndex(of: UInt8(ascii: "\n")) ?? (atEnd ? buffer.count : nil)
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
    /// The offset after the last byte that is not white space.
    fileprivate var trimmedEnd: Int {
        (lastIndex { !$0.isJSONWhitespace } ?? -1) + 1
    }
}

/// A counter of lines that goes from one offset to the next.
private struct LineCount {
    var line: Int
    private var offset = 0

    init(line: Int) { self.line = line }

    /// Returns the number of the line at `place`, which must not be before the last one.
    mutating func number(of place: Int, in bytes: [UInt8]) -> Int {
        if place > offset {
            line += bytes[offset..<place].count { $0 == UInt8(ascii: "\n") }
            offset = place
        }
        return line
    }
}

/// A hint whether the brackets of a document have closed, from each byte once. Only a scanner knows where a value ends.
private struct Brackets {
    /// Whether a mistake came before: then only a line that begins with a bracket counts.
    private let followsMistake: Bool
    var haveClosed = false
    private var depth = 0
    private var isString = false
    private var isEscaped = false
    private var beginsLine = false

    init(followsMistake: Bool = false) { self.followsMistake = followsMistake }

    mutating func take(_ bytes: [UInt8]) {
        for byte in bytes {
            if followsMistake {
                if beginsLine, byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") { haveClosed = true }
                beginsLine = byte == UInt8(ascii: "\n")
                continue
            }
            if isString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 { haveClosed = true }
            default: break
            }
        }
    }
}
