/// A description as paragraphs of words: plain text, options such as `--limit`, and literal text in backquotes.
struct Prose {
    enum Word: Hashable {
        case plain(String)
        /// `--name` or `--name=value`, between punctuation.
        case option(before: String, name: String, value: String?, after: String)
        /// Text from backquotes, between punctuation.
        case literal(before: String, text: String, after: String)
    }

    /// The words of each paragraph.
    let paragraphs: [[Word]]

    init(_ text: String) { paragraphs = text.split(separator: "\n\n").map { Self.words(of: String($0)) } }

    private static func words(of paragraph: String) -> [Word] {
        var words: [Word] = []
        var rest = paragraph.replacing("\n", with: " ")[...]
        while true {
            rest = rest.drop { $0 == " " }
            if rest.isEmpty { return words }
            let before = String(rest.prefix { $0 == "(" })
            rest = rest.dropFirst(before.count)
            if rest.first == "`", let end = rest.dropFirst().firstIndex(of: "`") {
                let text = String(rest[rest.index(after: rest.startIndex)..<end])
                rest = rest[rest.index(after: end)...]
                let after = String(rest.prefix { $0 != " " })
                rest = rest.dropFirst(after.count)
                words.append(.literal(before: before, text: text, after: after))
            } else {
                let word = rest.prefix { $0 != " " }
                rest = rest.dropFirst(word.count)
                words.append(option(before: before, String(word)) ?? .plain(before + word))
            }
        }
    }

    private static func option(before: String, _ word: String) -> Word? {
        guard word.hasPrefix("--") else { return nil }
        let punctuation = word.reversed().prefix { ".,;:)".contains($0) }.count
        let body = word.dropFirst(2).dropLast(punctuation)
        let parts = body.split(separator: "=", maxSplits: 1).map(String.init)
        guard let name = parts.first else { return nil }
        return .option(
            before: before, name: name, value: parts.count > 1 ? parts[1] : nil, after: String(word.suffix(punctuation))
        )
    }
}
