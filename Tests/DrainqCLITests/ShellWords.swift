/// Splits a line as a shell does: at blanks, with single and double quotes. Covers only the needs of the tests.
func shellWords(_ line: String) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    for character in line {
        if let open = quote {
            if character == open { quote = nil } else { word = (word ?? "") + String(character) }
        } else if character == "'" || character == "\"" {
            quote = character
            word = word ?? ""
        } else if character == " " {
            if let done = word { words.append(done) }
            word = nil
        } else {
            word = (word ?? "") + String(character)
        }
    }
    return words + (word.map { [$0] } ?? [])
}

/// The arguments of each call of drainq in a pipeline, without redirections.
func callsOfDrainq(in line: String) -> [[String]] {
    shellWords(line).split(separator: "|").compactMap { part in
        let words = part.prefix { $0 != ">" && $0 != "<" }
        return words.first == "drainq" ? Array(words.dropFirst()) : nil
    }
}
