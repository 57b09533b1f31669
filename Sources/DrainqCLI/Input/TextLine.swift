import Policy

/// A line of the input, without its line break and without a byte order mark at its beginning, which every program that
/// concatenates files may have put there.
struct TextLine {
    let text: ArraySlice<UInt8>
    let number: Int
    let hasBreak: Bool

    init(_ text: ArraySlice<UInt8>, number: Int, hasBreak: Bool) {
        self.text = text.dropFirst(ByteOrderMark.length(in: text))
        self.number = number
        self.hasBreak = hasBreak
    }

    var isBlank: Bool { text.allSatisfy(\.isJSONWhitespace) }
    var isIndented: Bool { text.first?.isJSONWhitespace ?? false }
    /// The last byte that is no white space.
    var lastByte: UInt8? { text.last { !$0.isJSONWhitespace } }
    var firstByte: UInt8? { text.first { !$0.isJSONWhitespace } }

    /// Whether only closing brackets and commas are on the line.
    var onlyCloses: Bool {
        text.allSatisfy {
            $0.isJSONWhitespace || $0 == UInt8(ascii: "}") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: ",")
        }
    }

    /// Returns the values on the line. Throws if it has anything else.
    func values() throws(JSONSyntaxError) -> [JSONInput.Item] {
        let bytes = Array(text)
        var scanner = JSONScanner(bytes)
        var values: [JSONInput.Item] = []
        while let range = try scanner.next() {
            values.append(.value(range.count == bytes.count ? bytes : Array(bytes[range]), line: number))
        }
        return values
    }
}

extension Collection<UInt8> {
    /// The number of bytes up to the last one that is no white space.
    var lengthWithoutTrailingSpace: Int {
        var length = 0
        for (index, byte) in enumerated() where !byte.isJSONWhitespace { length = index + 1 }
        return length
    }
}
