/// Returns the text with every scalar escaped that could steer a terminal or forge a line: C0, DEL and C1 controls,
/// line and paragraph separators, bidirectional controls, invisible marks and tags. The escapes are `\n`, `\r` and
/// `\t`, `\u{1b}` for the others, and `\xff` for a byte that is not text (`String(raw:)`). For every text that comes
/// from names, servers or users, whether or not a terminal reads it.
package func escapedForDisplay(_ text: some StringProtocol) -> String {
    // Printable ASCII, which almost every text is, needs no escapes.
    var plain = String(text)
    if plain.withUTF8({ $0.allSatisfy { 0x20 <= $0 && $0 <= 0x7E } }) { return plain }
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\n": result += "\\n"
        case "\r": result += "\\r"
        case "\t": result += "\\t"
        default:
            if let byte = scalar.carriedByte {
                result += "\\x\(String(byte, radix: 16))"
            } else if scalar.isUnsafeForDisplay {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }
    return result
}

/// Returns the excerpt of an answer in an attempt's record: one line, escaped, blanks run together, at most `limit`
/// characters, the last of them `…` if something was cut. `nil` if nothing remains.
package func excerpt(of bytes: some Collection<UInt8>, limit: Int = 200) -> String? {
    if bytes.isEmpty { return nil }
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
    // Cuts first, because the answer may have any size. A scalar has at most four bytes.
    let head = bytes.lazy.drop(while: isBlank).prefix(limit * 8)
    let words = String(decoding: Array(head), as: UTF8.self).unicodeScalars.split(whereSeparator: {
        $0.isASCII && isBlank(UInt8(ascii: $0))
    })
    let line = escapedForDisplay(words.map(String.init).joined(separator: " "))
    if line.isEmpty { return nil }
    guard line.unicodeScalars.count > limit else { return line }
    return String(String.UnicodeScalarView(line.unicodeScalars.prefix(limit - 1))) + "…"
}

extension Unicode.Scalar {
    /// Whether the scalar could steer a terminal or forge a line.
    var isUnsafeForDisplay: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F: true
        // Arabic letter mark, zero-width space, marks, separators, embeddings, isolates, invisible operators, BOM.
        case 0x061C, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB: true
        case 0xE0000...0xE007F: true
        default: false
        }
    }
}
