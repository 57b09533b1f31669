import CSystem
import Policy

extension OperationFile {
    /// Reads a whole file and leaves its body in it. Returns `nil` if anything about the file is unusual.
    ///
    /// Verifies the checksum of header and body in pieces, so memory does not depend on the body's length.
    static func decode(_ file: OpenFile, size: Int) -> Operation? {
        guard let head = file.bytes(at: 0, min(size, headerLimit)),
            let headerEnd = head.firstIndex(of: UInt8(ascii: "\n")),
            let (header, length) = try? decodeHeader(head, in: 0..<headerEnd, file: ""),
            length > 0, length <= size -| (headerEnd + 1)
        else { return nil }
        let place: Range<Int>?
        switch Checksum.presence(head, headerEnd: headerEnd) {
        case .damaged: return nil
        case .absent: place = nil
        case .present(let digits): place = digits
        }
        let before: UInt32 =
            place.map { place in
                head.withUnsafeBytes { bytes in
                    let crc = Checksum.crc32c(0, UnsafeRawBufferPointer(rebasing: bytes[..<place.lowerBound]))
                    return Checksum.crc32c(crc, UnsafeRawBufferPointer(rebasing: bytes[place.upperBound...headerEnd]))
                }
            } ?? 0
        guard let checksum = checksum(of: file, from: headerEnd + 1, length, after: before),
            place.map({ Checksum.isWritten(head[$0], for: checksum) }) ?? true,
            let attempts = attempts(of: file, from: headerEnd +| length +| 1, to: size)
        else { return nil }
        let part = FilePart(
            file: file, offset: headerEnd + 1, length: length, checksumBefore: before, checksum: checksum)
        return Operation(header: header, bodyPart: part, attempts: attempts)
    }

    /// Returns the checksum continued with `length` bytes of a file; `nil` if the file has fewer.
    private static func checksum(of file: OpenFile, from start: Int, _ length: Int, after crc: UInt32) -> UInt32? {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { space in
            var (crc, count) = (crc, 0)
            while count < length {
                let piece = UnsafeMutableRawBufferPointer(rebasing: space[..<min(space.count, length -| count)])
                guard let more = file.read(at: start +| count, into: piece), more > 0 else { return nil }
                crc = Checksum.crc32c(crc, UnsafeRawBufferPointer(rebasing: piece[..<more]))
                count +|= more
            }
            return crc
        }
    }

    /// Returns the records after a body; `nil` if anything else follows the body. Skips lines that are not readable
    /// records.
    private static func attempts(of file: OpenFile, from end: Int, to size: Int) -> [AttemptRecord]? {
        guard let rest = file.bytes(at: end, size -| end) else { return nil }
        guard let first = rest.first else { return [] }
        guard first == UInt8(ascii: "\n") else { return nil }
        return rest.dropFirst().split(separator: UInt8(ascii: "\n")).compactMap { decodeRecord(rest, in: $0.indices) }
    }
}
