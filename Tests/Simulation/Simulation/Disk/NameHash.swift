/// The hash function of the disk: the same numbers for the same seed, in each build and on each machine.
struct NameHash {
    private(set) var value: UInt64

    init(seed: UInt64) {
        value = seed ^ 0xCBF2_9CE4_8422_2325
    }

    mutating func combine(_ word: UInt64) {
        value = (value ^ word) &* 0x9E37_79B9_7F4A_7C15
        value ^= value >> 32
    }

    mutating func combine(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        while index + 8 <= bytes.count {
            combine(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
            index += 8
        }
        var last: UInt64 = 0
        while index < bytes.count {
            last = last << 8 | UInt64(bytes[index])
            index += 1
        }
        combine(last)
        combine(UInt64(bytes.count))
    }
}
