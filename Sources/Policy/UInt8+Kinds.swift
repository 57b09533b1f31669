extension UInt8 {
    package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    package var isHexDigit: Bool { isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20) }

    /// Whether the byte is a blank or a tab, which may surround the value of a header field (RFC 9110 §5.5).
    @inlinable
    package var isBlank: Bool { self == 0x20 || self == 0x09 }
}

extension BidirectionalCollection<UInt8> {
    /// The text without the blanks and tabs around it.
    @inlinable
    package var trimmedText: String {
        let text = drop(while: \.isBlank)
        let end = text.lastIndex { !$0.isBlank }.map(text.index(after:)) ?? text.startIndex
        return String(decoding: text[..<end], as: UTF8.self)
    }
}
