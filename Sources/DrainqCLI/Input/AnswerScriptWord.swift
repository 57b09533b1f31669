/// One word of a rule: `name`, `name=value` or `Name:value`.
struct AnswerScriptWord: Hashable {
    enum Separator: Hashable {
        case none, equals, colon
    }

    /// The word as written, for errors.
    var text: String
    var name: String
    var separator: Separator
    var value: [UInt8]

    var string: String { String(decoding: value, as: UTF8.self) }

    static func words(of rule: String) throws(UsageError) -> [AnswerScriptWord] {
        func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
        var words: [AnswerScriptWord] = []
        var rest = Array(rule.utf8).drop(while: isBlank)
        while !rest.isEmpty {
            let begin = rest
            let name = rest.prefix { !isBlank($0) && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ":") }
            rest = rest[name.endIndex...]
            var word = AnswerScriptWord(
                text: "", name: String(decoding: name, as: UTF8.self), separator: .none, value: [])
            if let mark = rest.first, !isBlank(mark) {
                word.separator = mark == UInt8(ascii: "=") ? .equals : .colon
                rest.removeFirst()
                if rest.first == UInt8(ascii: "\"") {
                    guard let quoted = takeQuoted(&rest) else {
                        let text = String(decoding: begin, as: UTF8.self)
                        throw AnswerScriptRule.error(in: rule, text, "the quotation mark is not closed")
                    }
                    word.value = quoted
                } else {
                    word.value = Array(rest.prefix { !isBlank($0) })
                    rest = rest.dropFirst(word.value.count)
                }
            }
            word.text = String(decoding: begin[..<rest.startIndex], as: UTF8.self)
            words.append(word)
            rest = rest.drop(while: isBlank)
        }
        return words
    }

    /// Removes the text between two quotation marks, and returns its bytes; `nil` if the second mark is missing or an
    /// escape is unknown.
    private static func takeQuoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        var value: [UInt8] = []
        rest.removeFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return value }
            guard byte == UInt8(ascii: "\\") else {
                value.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "n"): value.append(10)
            case UInt8(ascii: "r"): value.append(13)
            case UInt8(ascii: "t"): value.append(9)
            case let mark? where mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "\\"): value.append(mark)
            case UInt8(ascii: "x"):
                let digits = rest.prefix(2)
                guard digits.count == 2, let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                    return nil
                }
                value.append(code)
                rest = rest.dropFirst(2)
            default: return nil
            }
        }
        return nil
    }
}
