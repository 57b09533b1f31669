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
        let bytes = Array(rule.utf8)
        var words: [AnswerScriptWord] = []
        var index = 0
        func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
        while index < bytes.count {
            if isBlank(bytes[index]) {
                index += 1
                continue
            }
            let start = index
            while index < bytes.count, !isBlank(bytes[index]), bytes[index] != 0x3D, bytes[index] != 0x3A { index += 1 }
            var word = AnswerScriptWord(
                text: "", name: String(decoding: bytes[start..<index], as: UTF8.self), separator: .none, value: [])
            if index < bytes.count, !isBlank(bytes[index]) {
                word.separator = bytes[index] == 0x3D ? .equals : .colon
                index += 1
                if index < bytes.count, bytes[index] == 0x22 {
                    guard let quoted = unquoted(bytes, at: &index) else {
                        let text = String(decoding: bytes[start...], as: UTF8.self)
                        throw AnswerScriptRule.error(in: rule, text, "the quotation mark is not closed")
                    }
                    word.value = quoted
                } else {
                    let valueStart = index
                    while index < bytes.count, !isBlank(bytes[index]) { index += 1 }
                    word.value = Array(bytes[valueStart..<index])
                }
            }
            word.text = String(decoding: bytes[start..<index], as: UTF8.self)
            words.append(word)
        }
        return words
    }

    /// Returns the bytes between quotation marks; `nil` if the second mark is missing or an escape is unknown.
    private static func unquoted(_ bytes: [UInt8], at index: inout Int) -> [UInt8]? {
        var value: [UInt8] = []
        index += 1
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == 0x22 { return value }
            guard byte == 0x5C else {
                value.append(byte)
                continue
            }
            guard index < bytes.count else { return nil }
            index += 1
            switch bytes[index - 1] {
            case UInt8(ascii: "n"): value.append(10)
            case UInt8(ascii: "r"): value.append(13)
            case UInt8(ascii: "t"): value.append(9)
            case 0x22: value.append(0x22)
            case 0x5C: value.append(0x5C)
            case UInt8(ascii: "x"):
                guard index + 2 <= bytes.count,
                    let code = UInt8(String(decoding: bytes[index..<index + 2], as: UTF8.self), radix: 16)
                else { return nil }
                value.append(code)
                index += 2
            default: return nil
            }
        }
        return nil
    }
}
