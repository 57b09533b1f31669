import Policy

/// A document over several lines, or what looked like the beginning of one, up to where it ends.
///
/// A document ends at the line break after its last bracket. If its brackets do not match, or never close, it is
/// broken, and only three things end it:
/// - the end of the input;
/// - a line in column 0 that begins with a bracket, after a mistake, in a document whose inner lines are indented;
/// - three lines in a row in column 0 that are whole values. Between the values of a document there are commas, and one
///   missing comma leaves two such lines. So the document is a torn line, and lines follow it. An array that a line
///   opens at its end is the exception: its elements may lack all commas.
struct OpenDocument {
    /// What a line does to a document.
    enum Step {
        /// The document goes on.
        case open
        /// The document ends with the line.
        case complete
        /// The document ends with its last bracket on the line. The rest of the line begins another one.
        case completeBefore(TextLine)
        /// The document was broken and ended before the line.
        case broken
        /// The document was a torn line. The whole values of the lines after it follow.
        case lines([JSONInput.Item])
    }

    /// The text up to the last line taken.
    private(set) var text: [UInt8]
    /// The number of its first line.
    let line: Int
    /// Whether it is reported already, because it is longer than the limit.
    private(set) var isGivenUp = false
    private var brackets = Brackets()
    /// Whether the first line opens an array at its end.
    private let opensArray: Bool
    /// What the whole input is instead of text; `nil` if it is text.
    private var encoding: ForeignEncoding?
    private var hasIndentedLines = false
    /// Whether an inner line other than a closing bracket stands in column 0.
    private var isFlat = false
    /// The whole values of the last lines in column 0, and the length of the text before them.
    private var run: [[JSONInput.Item]] = []
    private var lengthBeforeRun = 0

    /// Begins a document, if a line that is not whole can be its first, or an inner line of one without a beginning.
    /// Returns `nil` for a line that is bad by itself: no torn string and no line without an open bracket goes on.
    init?(_ first: TextLine, _ error: JSONSyntaxError) {
        var brackets = Brackets()
        brackets.take(first.text)
        let continues = [",", ":", "{", "["].contains { first.lastByte == UInt8(ascii: $0) }
        guard !brackets.isInString, brackets.areOpen || continues || first.onlyCloses else { return nil }
        if !brackets.areOpen { brackets.isBroken = true }
        self.brackets = brackets
        text = first.text + (first.hasBreak ? [UInt8(ascii: "\n")] : [])
        line = first.number
        opensArray = first.lastByte == UInt8(ascii: "[")
    }

    /// Begins an input that is not text. It is bad as a whole.
    init(_ first: TextLine, _ encoding: ForeignEncoding) {
        text = first.text + (first.hasBreak ? [UInt8(ascii: "\n")] : [])
        line = first.number
        opensArray = false
        self.encoding = encoding
    }

    mutating func take(_ next: TextLine) -> Step {
        if next.isBlank || encoding != nil {
            append(next)
            return .open
        }
        if next.isIndented {
            hasIndentedLines = true
            run = []
        } else {
            let isBracket = next.firstByte == UInt8(ascii: "{") || next.firstByte == UInt8(ascii: "[")
            if isBracket, hasIndentedLines, !isFlat, isBroken(with: next) { return .broken }
            if next.lastByte != UInt8(ascii: ","), let values = try? next.values() {
                if run.isEmpty { lengthBeforeRun = text.count }
                run.append(values)
                isFlat = true
                if run.count == 3, !opensArray {
                    text = Array(text.prefix(lengthBeforeRun))
                    return .lines(Array(run.joined()))
                }
            } else {
                run = []
                isFlat = isFlat || !next.onlyCloses
            }
        }
        let length = text.count
        brackets.take(next.text)
        append(next)
        guard !brackets.isBroken, let closed = brackets.lastClosing else { return .open }
        // A bracket that closes too early ends nothing: the rest of the document follows.
        if isFlat, mistake(in: Array(text.prefix(length + closed))) == length + closed - 1 {
            brackets.isBroken = true
            return .open
        }
        if !brackets.areOpen { return .complete }
        // One document ended and the next began on this line.
        text = Array(text.prefix(length + closed))
        return .completeBefore(TextLine(next.text.dropFirst(closed), number: next.number, hasBreak: next.hasBreak))
    }

    /// The values of the text, or the text as a bad part.
    var items: [JSONInput.Item] {
        if isGivenUp { return [] }
        if let encoding { return [.bad(text, line: line, mistakeLine: line, reason: encoding.description)] }
        var values: [JSONInput.Item] = []
        var scanner = JSONScanner(text)
        var lines = LineCount(line: line)
        do throws(JSONSyntaxError) {
            while let range = try scanner.next() {
                values.append(.value(Array(text[range]), line: lines.number(of: range.lowerBound, in: text)))
            }
            return values
        } catch {
            let length = text.lengthWithoutTrailingSpace
            // The mistake may lie after the end of the text.
            let mistake = lines.number(of: min(error.offset, length), in: text)
            let place = text.prefix(min(error.offset, text.count)).lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            let reason = error.reason + text[place...].column(of: error.offset - place)
            return [.bad(text, line: line, mistakeLine: mistake, reason: reason)]
        }
    }

    /// Drops the text, because it is too long.
    mutating func giveUp() {
        isGivenUp = true
        text = []
        run = []
    }

    private mutating func append(_ line: TextLine) {
        if isGivenUp { return }
        text += line.text
        if line.hasBreak { text.append(UInt8(ascii: "\n")) }
    }

    /// Whether the document has a mistake before its end, or before the end of the line.
    private func isBroken(with next: TextLine) -> Bool {
        if brackets.isBroken || isGivenUp { return true }
        let all = text + next.text
        return mistake(in: all).map { $0 < all.lengthWithoutTrailingSpace } ?? false
    }

    /// Returns the offset of the first mistake.
    private func mistake(in text: [UInt8]) -> Int? {
        var scanner = JSONScanner(text)
        do throws(JSONSyntaxError) {
            while try scanner.next() != nil {}
            return nil
        } catch {
            return error.offset
        }
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
