import Policy

/// The beginning of a body for people: JSON with a line for each value, or text as it is, with control characters
/// escaped. Of other bytes it gives only the number.
struct BodyExcerpt {
    private static let mostLines = 40
    private static let mostBytes = 4096

    private(set) var lines: [String]
    /// The part that is not shown, in words; `nil` if all is shown.
    private(set) var rest: String?

    init(_ bytes: [UInt8], _ terminal: Terminal) {
        let head = bytes.prefix(Self.mostBytes)
        guard let text = Self.text(head, isWhole: head.count == bytes.count) else {
            lines = []
            rest = "\(bytes.count) bytes that are not text"
            return
        }
        let isJSON = bytes.count == head.count && (try? JSONDocument(bytes)) != nil
        let all = isJSON ? Self.spread(bytes) : text.pieces(at: "\n").map(String.init)
        let room = terminal.columns.map { max(1, $0 - 2) } ?? .max
        lines = all.prefix(Self.mostLines).map { escapedForDisplay($0).truncated(to: room) }
        if bytes.count > head.count {
            rest = "\(bytes.count - head.count) more bytes"
        } else if all.count > Self.mostLines {
            rest = "\(all.count - Self.mostLines) more lines"
        } else if all.contains(where: { escapedForDisplay($0).displayWidth > room }) {
            rest = "lines are cut"
        }
    }

    /// Returns the text without an incomplete character at the cut; `nil` if the bytes are no text.
    private static func text(_ head: ArraySlice<UInt8>, isWhole: Bool) -> String? {
        for missing in 0...(isWhole ? 0 : 3) {
            if let text = String(validating: head.dropLast(missing), as: UTF8.self) {
                return text.utf8.last == UInt8(ascii: "\n") ? String(text.unicodeScalars.dropLast()) : text
            }
        }
        return nil
    }

    /// Returns JSON with a line for each member and element. Changes only the white space between tokens.
    private static func spread(_ bytes: [UInt8]) -> [String] {
        var lines: [String] = []
        var line: [UInt8] = []
        var depth = 0
        var isInString = false
        var isEscaped = false
        func end() {
            lines.append(String(decoding: line, as: UTF8.self))
            line = Array(repeating: UInt8(ascii: " "), count: 2 * depth)
        }
        var previous: UInt8 = 0
        for byte in bytes {
            if isInString {
                line.append(byte)
                isInString = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): continue
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if previous != UInt8(ascii: "{"), previous != UInt8(ascii: "[") { end() }
            default:
                if previous == UInt8(ascii: "{") || previous == UInt8(ascii: "[") { end() }
            }
            line.append(byte)
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ","): end()
            case UInt8(ascii: ":"): line.append(UInt8(ascii: " "))
            default: break
            }
            previous = byte
        }
        lines.append(String(decoding: line, as: UTF8.self))
        return lines
    }
}
