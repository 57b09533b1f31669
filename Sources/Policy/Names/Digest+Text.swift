extension Digest {
    /// The digest of a key or an origin: of its UTF-8 bytes, without normalisation.
    package init(of text: String) {
        var digits: [UInt8] = []
        digits.reserveCapacity(24)
        for byte in SHA256.hash(Array(text.utf8)).prefix(12) {
            digits.append(UInt8.lowerHexDigit(byte >> 4))
            digits.append(UInt8.lowerHexDigit(byte & 15))
        }
        self.init(hexDigits: digits)
    }

    init?(bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count == 24,
            bytes.allSatisfy({
                $0 &- UInt8(ascii: "0") <= 9 || $0 &- UInt8(ascii: "a") <= 5
            })
        else { return nil }
        self.init(hexDigits: bytes)
    }

    private init(hexDigits: some Collection<UInt8>) {
        description = String(decoding: hexDigits, as: UTF8.self)
    }
}

extension UInt8 {
    /// The digit of a number from 0 to 15.
    static func lowerHexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// The digit of a number from 0 to 15.
    static func upperHexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
