extension SHA256 {
    /// Returns the 32 bytes of HMAC-SHA-256 (RFC 2104) of a message under a key.
    static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var block = key.count > 64 ? hash(key) : key
        block += [UInt8](repeating: 0, count: 64 - block.count)
        return hash(block.map { $0 ^ 0x5c } + hash(block.map { $0 ^ 0x36 } + message))
    }

    /// Returns bytes in lower-case hexadecimal.
    package static func hexadecimal(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.flatMap { [.lowerHexDigit($0 >> 4), UInt8.lowerHexDigit($0 & 15)] }, as: UTF8.self)
    }
}
