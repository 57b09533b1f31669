extension Digest: CustomStringConvertible {
    static let length = 24

    /// Computes the digest of a key or an origin, from its UTF-8 bytes without normalisation.
    package init(of text: String) { self.init(hashing: Array(text.utf8)) }

    package init(hashing bytes: [UInt8]) {
        let hash = SHA256.hash(bytes)
        first = hash[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        last = hash[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
    }

    package init?(_ text: some StringProtocol) {
        let parsed = Array(text.utf8).withUnsafeBufferPointer { Digest(bytes: $0) }
        guard let parsed else { return nil }
        self = parsed
    }

    init?(bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count == Self.length, let first = bytes.lowerHex(at: 0, digits: 16),
            let last = bytes.lowerHex(at: 16, digits: 8)
        else { return nil }
        self.first = first
        self.last = UInt32(last)
    }

    package var description: String {
        String(unsafeUninitializedCapacity: Self.length) { buffer in
            for index in 0..<Self.length {
                let digit = index < 16 ? first >> UInt64(60 - 4 * index) : UInt64(last) >> UInt64(92 - 4 * index)
                buffer[index] = UInt8.lowerHexDigit(UInt8(digit & 15))
            }
            return Self.length
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns the number in `digits` lower-case hex digits; `nil` if a byte is none. The caller checks bounds.
    fileprivate func lowerHex(at offset: Int, digits: Int) -> UInt64? {
        var value: UInt64 = 0
        for index in offset..<offset + digits {
            var digit = self[index] &- UInt8(ascii: "0")
            if digit > 9 {
                digit = self[index] &- UInt8(ascii: "a")
                guard digit <= 5 else { return nil }
                digit += 10
            }
            value = value << 4 | UInt64(digit)
        }
        return value
    }
}

extension UInt8 {
    /// Returns the lower-case hex digit of a number from 0 to 15.
    static func lowerHexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// Returns the upper-case hex digit of a number from 0 to 15.
    static func upperHexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
