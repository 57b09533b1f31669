/// Base64 (RFC 4648 §4 and §5).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let values: [UInt8?] = {
        var values = [UInt8?](repeating: nil, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
        values[Int(UInt8(ascii: "-"))] = 62
        values[Int(UInt8(ascii: "_"))] = 63
        return values
    }()

    /// Returns whether the byte is a letter of either alphabet.
    static func isLetter(_ byte: UInt8) -> Bool { values[Int(byte)] != nil }

    /// Returns the letter of the alphabet for URLs that stands for a letter of the first alphabet.
    static func inURLAlphabet(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: letter
        }
    }

    /// Returns the bytes in the first alphabet, padded.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        var letters: [UInt8] = []
        letters.reserveCapacity((bytes.count + 2) / 3 * 4)
        var rest = bytes[...]
        while !rest.isEmpty {
            let group = rest.prefix(3)
            rest = rest.dropFirst(3)
            let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for letter in 0..<4 {
                let isPadding = letter > group.count
                letters.append(isPadding ? UInt8(ascii: "=") : alphabet[Int(bits >> UInt32(18 - 6 * letter) & 63)])
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }

    /// Returns the letters that depend on these bytes alone if `offset` other bytes (0 to 2) come before them in a
    /// group of three, whatever follows. Leaves out the letters that these bytes share with a neighbour.
    static func letters(of bytes: [UInt8], after offset: Int) -> [UInt8] {
        let bits = (offset * 8, (offset + bytes.count) * 8)
        let padded = [UInt8](repeating: 0, count: offset) + bytes + [0, 0]
        let first = (bits.0 + 5) / 6
        let end = bits.1 / 6
        guard first < end else { return [] }
        return (first..<end).map { letter in
            let bit = letter * 6
            let pair = UInt16(padded[bit / 8]) << 8 | UInt16(padded[bit / 8 + 1])
            return alphabet[Int(pair >> UInt16(10 - bit % 8) & 63)]
        }
    }

    /// Returns the bytes of a padded text in the first alphabet (RFC 4648 §4); `nil` if the text is not valid.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let letters = text.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.dropFirst(letters.count)
        let isOfOtherAlphabet: (UInt8) -> Bool = { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        guard text.count % 4 == 0, padding.count < 3, padding.allSatisfy({ $0 == UInt8(ascii: "=") }),
            !letters.contains(where: isOfOtherAlphabet)
        else { return nil }
        return bytes(of: letters)
    }

    /// Returns the bytes of a text in either alphabet, padded or not; `nil` if the text is not valid.
    static func decodeLeniently(_ text: some Collection<UInt8>) -> [UInt8]? {
        var letters = Array(text)
        while letters.count > 1, letters.last == UInt8(ascii: "=") { letters.removeLast() }
        return bytes(of: letters)
    }

    private static func bytes(of letters: some Collection<UInt8>) -> [UInt8]? {
        guard letters.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(letters.count / 4 * 3 + 2)
        var collected: UInt32 = 0
        for (index, letter) in letters.enumerated() {
            guard let value = values[Int(letter)] else { return nil }
            collected = (collected << 6 | UInt32(value)) & 0xFFFF
            // The second, third and fourth letter of a group each complete a byte.
            if index % 4 != 0 { bytes.append(UInt8(truncatingIfNeeded: collected >> (6 - UInt32(index % 4) * 2))) }
        }
        return bytes
    }
}
