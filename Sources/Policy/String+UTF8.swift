extension String {
    /// Creates a text from UTF-8; `nil` if the bytes are not valid.
    package init?(validUTF8 bytes: ArraySlice<UInt8>) {
        // ASCII, the usual case, needs no second check.
        if bytes.allSatisfy({ $0 < 0x80 }) {
            self.init(decoding: bytes, as: UTF8.self)
        } else {
            self.init(validating: bytes, as: UTF8.self)
        }
    }
}

extension Sequence<String> {
    /// The texts of different bytes, in the order of their bytes. For `Set` and `sorted` two texts in different normal
    /// forms are equal.
    package var uniqueByBytes: [String] {
        Set(map { Bytewise(wrappedValue: $0) }).map(\.wrappedValue)
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

extension StringProtocol {
    /// Whether the text begins with these bytes. `hasPrefix` compares characters: a combining mark behind a slash makes
    /// another character of it.
    package func begins(with other: some StringProtocol) -> Bool { utf8.starts(with: other.utf8) }

    /// Whether the text ends with these bytes.
    package func ends(with other: some StringProtocol) -> Bool {
        utf8.reversed().starts(with: other.utf8.reversed())
    }

    /// Returns the pieces between the bytes that are `separator`, a scalar of ASCII. Includes empty pieces.
    package func pieces(at separator: Unicode.Scalar) -> [Substring] {
        Substring(self).utf8.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false)
            .map { Substring($0) }
    }

    /// Returns the text before the first byte that is one of `ends`, in ASCII; the whole text if there is none.
    package func upTo(_ ends: String) -> SubSequence {
        self[..<(utf8.firstIndex { ends.utf8.contains($0) } ?? endIndex)]
    }

    /// The text after its first byte; empty if the text is empty.
    package var afterFirstByte: Substring { Substring(Substring(self).utf8.dropFirst()) }
}
