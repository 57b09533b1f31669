/// SHA-256 (FIPS 180-4 §6.2), because the toolchain has none on Linux. No step depends on the content of the message.
package struct SHA256 {
    private var state = SIMD8<UInt32>(
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19)
    private var byteCount: UInt64 = 0

    package init() {}

    /// Returns the 32 bytes of the digest.
    static func hash(_ message: [UInt8]) -> [UInt8] { SHA256().digest(endingWith: message[...]) }

    /// Takes in a part of the message: a multiple of 64 bytes.
    package mutating func update(_ bytes: ArraySlice<UInt8>) {
        byteCount += UInt64(bytes.count)
        bytes.withUnsafeBytes { message in
            Self.constants.withUnsafeBufferPointer { constants in
                withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
                    for start in stride(from: 0, to: message.count, by: 64) {
                        for index in 0..<16 {
                            let word = message.loadUnaligned(fromByteOffset: start + index * 4, as: UInt32.self)
                            words[index] = UInt32(bigEndian: word)
                        }
                        absorb(words, constants)
                    }
                }
            }
        }
    }

    /// Returns the 32 bytes of the digest of the message that ends with these bytes.
    package consuming func digest(endingWith bytes: ArraySlice<UInt8>) -> [UInt8] {
        let bitCount = (byteCount + UInt64(bytes.count)) * 8
        var padded = Array(bytes) + [0x80]
        padded += repeatElement(0, count: (120 - padded.count % 64) % 64)
        withUnsafeBytes(of: bitCount.bigEndian) { padded += $0 }
        update(padded[...])
        return (0..<32).map { UInt8(truncatingIfNeeded: state[$0 / 4] >> UInt32(24 - $0 % 4 * 8)) }
    }

    /// Takes in a block, whose words are the first 16 of `words`.
    private mutating func absorb(
        _ words: UnsafeMutableBufferPointer<UInt32>, _ constants: UnsafeBufferPointer<UInt32>
    ) {
        for index in 16..<64 {
            let early = words[index - 15]
            let late = words[index - 2]
            let sigma0 = early.rotated(7) ^ early.rotated(18) ^ early >> 3
            let sigma1 = late.rotated(17) ^ late.rotated(19) ^ late >> 10
            words[index] = words[index - 16] &+ sigma0 &+ words[index - 7] &+ sigma1
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in 0..<64 {
            let sum1 = e.rotated(6) ^ e.rotated(11) ^ e.rotated(25)
            let choice = (e & f) ^ (~e & g)
            let first = h &+ sum1 &+ choice &+ constants[index] &+ words[index]
            let sum0 = a.rotated(2) ^ a.rotated(13) ^ a.rotated(22)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ sum0 &+ majority)
        }
        state &+= SIMD8(a, b, c, d, e, f, g, h)
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
    ]
}

extension UInt32 {
    /// Returns the word rotated to the right.
    fileprivate func rotated(_ count: UInt32) -> UInt32 { self >> count | self << (32 - count) }
}
