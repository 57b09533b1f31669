import Policy

/// A splitter of input into JSON values: returns each value byte for byte as given, once its last line is complete.
///
/// The first line that is whole or begins a value decides between two shapes. If it is one or more whole values, the
/// input is NDJSON: each line is read by itself, and a bad line does not affect others. If it is only the beginning of
/// a value, the input is one or more documents over any number of lines. A broken document is one bad part from its
/// first line to its last (`OpenDocument`): its inner lines must never become operations.
struct JSONInput {
    enum Item: Hashable {
        case value([UInt8], line: Int)
        /// Text that is not JSON, the line where it begins, and the line and reason of the mistake. The text of a part
        /// that is longer than the limit is its beginning.
        case bad([UInt8], line: Int, mistakeLine: Int, reason: String)
    }

    private enum Shape { case unknown, lines, documents }

    /// The longest value in bytes, and what is kept of a longer one.
    private let longest: Int
    private static let keptOfLonger = 65_536

    private var shape = Shape.unknown
    /// The document that has begun and not ended.
    private var document: OpenDocument?
    /// The bytes of the lines that are not taken yet.
    private var buffer: [UInt8] = []
    /// The number of the buffer's first line.
    private var line = 1
    /// The offset in the buffer before which no line ends.
    private var searched = 0
    /// Whether the buffer begins inside a line that is longer than the limit.
    private var isSkipping = false

    init(longest: Int = 256 << 20) {
        self.longest = longest
    }

    /// The bytes of a value that is not complete.
    var pending: Int { buffer.count + (document?.text.count ?? 0) }

    /// Takes the next bytes and returns the values that are complete. `atEnd` marks the last bytes.
    mutating func feed(_ bytes: [UInt8], atEnd: Bool) -> [Item] {
        buffer += bytes
        var items: [Item] = []
        var start = 0
        while let end = endOfLine(from: start, atEnd: atEnd) {
            // The end of the input ends the last line without a line break.
            let next = min(end + 1, buffer.count)
            if !isSkipping { take(TextLine(buffer[start..<end], number: line, hasBreak: next > end), &items) }
            isSkipping = false
            line += 1
            start = next
        }
        buffer.removeFirst(start)
        if isSkipping { buffer = [] }
        searched = buffer.count
        if pending > longest { giveUp(&items) }
        if atEnd, let document {
            self.document = nil
            items += document.items
        }
        return items
    }

    /// Returns the end of the line that starts there, without its line break.
    private func endOfLine(from start: Int, atEnd: Bool) -> Int? {
        guard start < buffer.count else { return nil }
        return buffer[max(start, searched)...].firstIndex(of: UInt8(ascii: "\n")) ?? (atEnd ? buffer.count : nil)
    }

    private mutating func take(_ line: TextLine, _ items: inout [Item]) {
        guard var open = document else { return begin(line, &items) }
        document = nil
        switch open.take(line) {
        case .open: document = open
        case .complete: items += open.items
        case .broken:
            items += open.items
            begin(line, &items)
        case .lines(let whole):
            items += open.items
            shape = .lines
            items += whole
        case .completeBefore(let next):
            items += open.items
            begin(next, &items)
        }
    }

    /// Takes a line outside of any document.
    private mutating func begin(_ line: TextLine, _ items: inout [Item]) {
        if line.isBlank { return }
        if line.number == 1, let encoding = ForeignEncoding(line.text) {
            document = OpenDocument(line, encoding)
            return
        }
        do throws(JSONSyntaxError) {
            items += try line.values()
            if shape == .unknown { shape = .lines }
        } catch {
            if shape != .lines, let begun = OpenDocument(line, error) {
                document = begun
                shape = .documents
            } else {
                items.append(
                    .bad(
                        Array(line.text), line: line.number, mistakeLine: line.number,
                        reason: error.reason + line.text.column(of: error.offset)))
            }
        }
    }

    /// Gives up a line or a document that is longer than the limit: keeps its beginning, and skips the rest.
    private mutating func giveUp(_ items: inout [Item]) {
        let beginning = (document?.text ?? []) + buffer.prefix(Self.keptOfLonger)
        let first = document?.line ?? line
        // A document that was given up before is reported once.
        if document?.isGivenUp != true {
            items.append(
                .bad(
                    Array(beginning.prefix(Self.keptOfLonger)), line: first, mistakeLine: first,
                    reason: "longer than \(longest) bytes; only its beginning is kept"))
        }
        document?.giveUp()
        if !buffer.isEmpty {
            buffer = []
            searched = 0
            isSkipping = true
        }
    }
}
