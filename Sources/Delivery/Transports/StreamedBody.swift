import CSystem
package import Policy

/// A body that is read while it is sent.
protocol StreamedBody: AnyObject {
    /// Reads from `offset` on. Returns 0 only at the end.
    func read(at offset: Int, into space: UnsafeMutableRawBufferPointer) throws(BodyFileError) -> Int
}

extension OutgoingRequest {
    /// Whether the body is read while it is sent. An answer to a part of it is then read before more is sent. A body
    /// within one record of TLS leaves at once.
    var streamsBody: Bool { bodyFile != nil || bodyPart != nil || (bodyLength ?? 0) > 16 << 10 }

    /// Opens the body; `nil` if it is not read while it is sent.
    func streamedBody() throws(BodyFileError) -> (any StreamedBody)? {
        if let bodyFile { return try OpenBodyFile(bodyFile) }
        if let bodyPart { return try OpenFilePart(bodyPart) }
        return streamsBody ? body.map(BodyInMemory.init) : nil
    }

    /// Returns the body, for a transport that takes it from memory; `nil` for none.
    package func bodyInMemory() throws(UnsendableBody) -> [UInt8]? {
        guard let part = bodyPart else { return body }
        var bytes = [UInt8](repeating: 0, count: part.length)
        do throws(BodyFileError) {
            let source = try OpenFilePart(part)
            var count = 0
            while count < part.length {
                let outcome: Result<Int, BodyFileError> = bytes.withUnsafeMutableBytes { space in
                    do throws(BodyFileError) {
                        let rest = UnsafeMutableRawBufferPointer(rebasing: space[count...])
                        return .success(try source.read(at: count, into: rest))
                    } catch {
                        return .failure(error)
                    }
                }
                count +|= try outcome.get()
            }
        } catch {
            throw UnsendableBody(result: error.result)
        }
        return bytes
    }
}

/// The result of an attempt whose body cannot be read.
package struct UnsendableBody: Error {
    package var result: AttemptReport.Result
}

/// A body in memory.
final class BodyInMemory: StreamedBody {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read(at offset: Int, into space: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(space.count, bytes.count -| offset)
        guard count > 0 else { return 0 }
        space.copyBytes(from: bytes[offset..<offset + count])
        return count
    }
}

/// The body of an operation, read from the operation's file.
///
/// The run has checked the file's checksum. Checked again before the last bytes are returned, so a request whose body
/// has changed meanwhile never arrives whole.
final class OpenFilePart: StreamedBody {
    private let part: FilePart
    private let file: OpenFile
    /// The checksum and number of the bytes read so far.
    private var checked: (checksum: UInt32, count: Int)

    init(_ part: FilePart) throws(BodyFileError) {
        guard let file = part.file else {
            throw BodyFileError(unreadable: "the run sent no descriptor of the operation's file")
        }
        self.part = part
        self.file = file
        checked = (part.checksumBefore, 0)
    }

    func read(at offset: Int, into space: UnsafeMutableRawBufferPointer) throws(BodyFileError) -> Int {
        let wanted = min(space.count, part.length -| offset)
        guard wanted > 0 else { return 0 }
        // The body is sent again from the beginning, on another connection.
        if offset == 0 { checked = (part.checksumBefore, 0) }
        guard offset == checked.count else { throw BodyFileError(unreadable: "the operation's file is read in parts") }
        var count = -1
        repeat {
            count = pread(file.descriptor, space.baseAddress, wanted, off_t(part.offset +| offset))
        } while count < 0 && errno == EINTR
        if count < 0 { throw BodyFileError(unreadable: "cannot read the operation's file: \(Errno(errno))") }
        checked = (csystem_crc32c(checked.checksum, space.baseAddress, count), checked.count +| count)
        if count == 0 || checked.count == part.length, checked.checksum != part.checksum || count == 0 {
            throw BodyFileError(unreadable: "the operation's file has changed since it was claimed")
        }
        return count
    }
}
