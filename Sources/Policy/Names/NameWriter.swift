/// A writer of names and times into a buffer that must be long enough.
struct NameWriter {
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(_ buffer: UnsafeMutableBufferPointer<UInt8>) { self.buffer = buffer }

    mutating func write(_ byte: UInt8) {
        buffer[count] = byte
        count += 1
    }

    mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            _ = UnsafeMutableBufferPointer(rebasing: buffer[count...]).update(fromContentsOf: bytes)
            count += bytes.count
        }
    }

    /// Writes a value behind the text that stands before it.
    mutating func write(_ before: StaticString, _ value: String) {
        write(before)
        write(value)
    }

    mutating func write(_ text: StaticString) { text.withUTF8Buffer { for byte in $0 { write(byte) } } }

    /// Writes exactly `digits` decimal digits, with leading zeros. The number is not negative, and fits into them.
    mutating func write(_ number: Int, digits: Int) {
        var rest = UInt32(truncatingIfNeeded: number)
        var index = count + digits
        while index > count {
            index -= 1
            buffer[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        count += digits
    }

    mutating func writeCompactMicroseconds(_ moment: Timestamp) {
        let civil = CivilTime(moment.clampedToNames)
        writeCompactSeconds(civil)
        write(UInt8(ascii: "."))
        write(civil.microsecond, digits: 6)
        write(UInt8(ascii: "Z"))
    }

    mutating func writeCompactMilliseconds(_ moment: Timestamp) {
        // The last millisecond cannot be rounded up: its fraction is cut.
        let civil = CivilTime(min(moment.roundedUpToMilliseconds, .lastInNames).clampedToNames)
        writeCompactSeconds(civil)
        let milliseconds = civil.microsecond / 1000
        if milliseconds != 0 {
            write(UInt8(ascii: "."))
            write(milliseconds, digits: 3)
        }
        write(UInt8(ascii: "Z"))
    }

    private mutating func writeCompactSeconds(_ civil: CivilTime) {
        write(civil.year, digits: 4)
        write(civil.month, digits: 2)
        write(civil.day, digits: 2)
        write(UInt8(ascii: "T"))
        write(civil.hour, digits: 2)
        write(civil.minute, digits: 2)
        write(civil.second, digits: 2)
    }
}
