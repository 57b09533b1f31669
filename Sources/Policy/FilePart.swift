/// A body left in its file: a range of bytes in an open file.
package struct FilePart: Hashable, Sendable {
    /// The open file; `nil` until the process that reads it has received the descriptor.
    package var file: OpenFile?
    package var offset: Int
    package var length: Int
    /// The CRC-32C of the bytes that the file's checksum covers before the body; `checksum` includes the body. The
    /// reader of the body compares, so a body changed meanwhile is never sent whole.
    package var checksumBefore: UInt32
    package var checksum: UInt32

    package init(file: OpenFile?, offset: Int, length: Int, checksumBefore: UInt32, checksum: UInt32) {
        self.file = file
        self.offset = offset
        self.length = length
        self.checksumBefore = checksumBefore
        self.checksum = checksum
    }

    /// The bytes of the body, read into memory.
    ///
    /// The operation is claimed, and the bytes were readable at that time. If they cannot be read now, the process
    /// ends: the next run recovers the claim, and no request is sent with another body.
    package var bytes: [UInt8] {
        guard let bytes = file?.bytes(at: offset, length), bytes.count == length else {
            preconditionFailure("the file of a claimed operation can no longer be read")
        }
        return bytes
    }
}

/// An open file, closed when its last reference goes.
package final class OpenFile: Hashable, Sendable {
    package let descriptor: Int32
    private let read: Read
    private let close: @Sendable (_ descriptor: Int32) -> Void

    /// Reads once at an offset, as pread(2). Returns the number of bytes, 0 at the end of the file, `nil` on an error.
    package typealias Read = @Sendable (_ descriptor: Int32, _ offset: Int, UnsafeMutableRawBufferPointer) -> Int?

    package init(
        _ descriptor: Int32, read: @escaping Read = { _, _, _ in nil },
        close: @escaping @Sendable (Int32) -> Void
    ) {
        self.descriptor = descriptor
        self.read = read
        self.close = close
    }

    deinit { close(descriptor) }

    /// Reads once at an offset. Returns the number of bytes read, 0 at the end of the file, `nil` on an error.
    package func read(at offset: Int, into space: UnsafeMutableRawBufferPointer) -> Int? {
        read(descriptor, offset, space)
    }

    /// Returns the bytes at an offset, fewer if the file ends before; `nil` on an error.
    package func bytes(at offset: Int, _ count: Int) -> [UInt8]? {
        var isRead = true
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { space, length in
            while length < count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(space)[length...])
                guard let more = read(at: offset +| length, into: rest) else { return isRead = false }
                if more == 0 { return }
                length +|= more
            }
        }
        return isRead ? bytes : nil
    }

    package static func == (one: OpenFile, other: OpenFile) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) { hasher.combine(descriptor) }
}
