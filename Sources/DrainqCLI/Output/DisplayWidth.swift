// The width of text at a terminal, in columns: East Asian characters and emoji take two columns, marks take none.

extension StringProtocol {
    /// The columns that the text takes. Control characters must be `escapedForDisplay` before.
    var displayWidth: Int {
        // Most text is ASCII, and in a long list of names all of it.
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return reduce(0) { $0 + $1.displayWidth }
    }

    /// The text in at most `width` columns, with `…` as the last one if it was cut. A wide character is never split:
    /// the text may be a column shorter.
    func truncated(to width: Int) -> String {
        guard displayWidth > width else { return String(self) }
        if width <= 0 { return "" }
        var kept = ""
        var used = 0
        for character in self {
            let next = character.displayWidth
            if used + next > width - 1 { break }
            kept.append(character)
            used += next
        }
        return kept + "…"
    }

    /// The text with blanks after it, up to `width` columns.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - displayWidth))
    }

    /// The text in lines of at most `width` columns, broken at blanks. The first line keeps its leading blanks. A
    /// longer word or command has a line of its own: ids, paths and commands stay whole, so that they can be copied.
    func wrapped(to width: Int, indent: String = "") -> [String] {
        if displayWidth <= width { return [String(self)] }
        var lines: [String] = []
        var line = String(prefix { $0 == " " })
        var used = line.count
        var isEmpty = true
        for word in unbroken {
            let next = word.displayWidth
            if !isEmpty, used + 1 + next > width {
                lines.append(line)
                line = indent
                used = indent.displayWidth
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            used += (isEmpty ? 0 : 1) + next
            isEmpty = false
        }
        return lines + [line]
    }

    /// The words of the text. A command in quotes, `'drainq …'`, is one word.
    private var unbroken: [String] {
        var units: [String] = []
        var command = ""
        for word in split(separator: " ") {
            guard !command.isEmpty || word.hasPrefix("'drainq") else {
                units.append(String(word))
                continue
            }
            command += (command.isEmpty ? "" : " ") + word
            let body = word.reversed().drop { ",.;:)".contains($0) }
            if body.first == "'", body.count > 1, command.count(where: { $0 == "'" }).isMultiple(of: 2) {
                units.append(command)
                command = ""
            }
        }
        // The quote is not closed.
        return units + command.split(separator: " ").map(String.init)
    }
}

extension Character {
    /// The columns of a grapheme cluster. A sequence that terminals draw as one picture takes two; otherwise each
    /// scalar takes what wcwidth(3) gives it.
    fileprivate var displayWidth: Int {
        let scalars = unicodeScalars
        let first = scalars[scalars.startIndex]
        if scalars.count > 1, first.properties.isEmoji, scalars.contains(where: \.makesEmoji) { return 2 }
        return scalars.reduce(0) { $0 + $1.displayWidth }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar makes an emoji sequence of the one before: emoji style, skin tone or joiner (UTS #51).
    fileprivate var makesEmoji: Bool { value == 0xFE0F || value == 0x200D || properties.isEmojiModifier }

    fileprivate var displayWidth: Int {
        switch value {
        case ..<0x300: return value == 0 ? 0 : 1
        // Vowels and finals of Hangul join the syllable before them.
        case 0x1160...0x11FF, 0xD7B0...0xD7FF: return 0
        // Two regional indicators make a flag of two columns.
        case 0x1F1E6...0x1F1FF: return 1
        default: break
        }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        case .format where properties.isDefaultIgnorableCodePoint: return 0
        default: return properties.isEmojiPresentation || isEastAsianWide ? 2 : 1
        }
    }

    private var isEastAsianWide: Bool {
        guard let range = Self.eastAsianWide.last(where: { $0.lowerBound <= value }) else { return false }
        return range.contains(value)
    }

    /// The blocks that EastAsianWidth.txt of Unicode 15 has as W or F, with unassigned places among ideographs, which
    /// will be wide. Leaves out emoji, a property of the standard library. Ambiguous characters are narrow.
    private static let eastAsianWide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4CF,
        0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60,
        0xFFE0...0xFFE6, 0x16FE0...0x16FF1, 0x17000...0x18D08, 0x1AFF0...0x1B2FB, 0x1F200...0x1F265, 0x20000...0x2FFFD,
        0x30000...0x3FFFD,
    ]
}
