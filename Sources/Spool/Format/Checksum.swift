import CSystem

/// The CRC-32C of an operation file's header line and body, as the last field of the header line:
/// `,"crc32c":"1a2b3c4d"}`.
///
/// The checksum covers every byte from the first of the file to the last of the body, except its own eight digits. So
/// the checksum covers its own name and the newline at the end of the header line, but not the lines of attempts, which
/// are appended later.
enum Checksum {
    static let field = "crc32c"

    private static let prefix = Array(",\"\(field)\":\"".utf8)
    private static let suffix = Array("\"}".utf8)
    private static let digits = 8

    /// The field as it ends a header line, with the brace, and zeros for its digits.
    private static let blank = prefix + [UInt8](repeating: UInt8(ascii: "0"), count: digits) + suffix

    // MARK: - Writing

    /// Adds the field to a header line that ends with its brace. Its digits are zeros until `fill` is called.
    static func append(to line: inout [UInt8]) {
        line.removeLast()
        line += blank
    }

    /// Writes the digits into a file. The header line ends before `headerEnd` with the field, and the body ends before
    /// `bodyEnd`.
    static func fill(_ file: inout [UInt8], headerEnd: Int, bodyEnd: Int) {
        let place = digits(beforeEnd: headerEnd)
        let text = hexadecimal(computed(file, without: place, to: bodyEnd))
        file.replaceSubrange(place, with: text)
    }

    /// Returns the header line without the field; the line itself if it has none.
    static func removed(from line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard case .present = presence(Array(line), headerEnd: line.count) else { return line }
        return line.dropLast(blank.count) + [UInt8(ascii: "}")]
    }

    // MARK: - Reading

    /// Whether a header line ends with a checksum.
    enum Presence: Equatable {
        case absent
        /// The extent of the digits.
        case present(Range<Int>)
        /// One or two bytes differ from a checksum field. Without this case a single flipped bit in the field's name
        /// would make the field unknown, and leave the file without a checksum.
        case damaged
    }

    /// Looks for the field at the end of a header line.
    static func presence(_ bytes: [UInt8], headerEnd: Int) -> Presence {
        let start = headerEnd - blank.count
        guard start >= 0 else { return .absent }
        let place = digits(beforeEnd: headerEnd)
        var differences = 0
        for (offset, byte) in blank.enumerated() where !place.contains(start + offset) {
            if bytes[start + offset] != byte { differences += 1 }
        }
        switch differences {
        case 0: return .present(place)
        case 1, 2: return .damaged
        default: return .absent
        }
    }

    /// Returns why header and body of a file are not as written; `nil` if they are, or if the file has no checksum.
    static func objection(to bytes: [UInt8], headerEnd: Int, bodyEnd: Int) -> String? {
        switch presence(bytes, headerEnd: headerEnd) {
        case .absent: return nil
        case .damaged: return "the checksum at the end of the header line is damaged"
        case .present(let place):
            let found = hexadecimal(computed(bytes, without: place, to: bodyEnd))
            if bytes[place].elementsEqual(found) { return nil }
            let (own, said) = (QueuePath.escaped(found), QueuePath.escaped(bytes[place]))
            return "header and body have the checksum \(own), the header says \(said): "
                + "the file was changed or damaged"
        }
    }

    /// Whether a header line's digits are those of this checksum.
    static func isWritten(_ digits: ArraySlice<UInt8>, for crc: UInt32) -> Bool {
        digits.elementsEqual(hexadecimal(crc))
    }

    // MARK: - Parts

    private static func digits(beforeEnd headerEnd: Int) -> Range<Int> {
        let end = headerEnd - suffix.count
        return end - digits..<end
    }

    private static func computed(_ bytes: [UInt8], without place: Range<Int>, to end: Int) -> UInt32 {
        bytes.withUnsafeBytes { buffer in
            let crc = crc32c(0, UnsafeRawBufferPointer(rebasing: buffer[..<place.lowerBound]))
            return crc32c(crc, UnsafeRawBufferPointer(rebasing: buffer[place.upperBound..<end]))
        }
    }

    static func crc32c(_ crc: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
        csystem_crc32c(crc, bytes.baseAddress, bytes.count)
    }

    private static func hexadecimal(_ crc: UInt32) -> [UInt8] {
        (0..<digits).map { place in
            let digit = UInt8(truncatingIfNeeded: crc >> UInt32(4 * (digits - 1 - place)) & 15)
            return (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10) + digit
        }
    }
}
