/// A body that is left in the file that holds it: the bytes of an open file from a place on.
package struct FilePart: Hashable, Sendable {
    /// `nil` until the process that is to read it has received it.
    package var file: OpenFile?
    package var offset: Int
    package var length: Int
    /// The CRC-32C of what the file's checksum covers before the bytes, and including them. Who reads them compares: what
    /// has changed meanwhile never goes out whole.
    package var checksumBefore: UInt32
    package var checksum: UInt32

    package init(file: OpenFile?, offset: Int, length: Int, checksumBefore: UInt32, checksum: UInt32) {
        self.file = file
        self.offset = offset
        self.length = length
        self.checksumBefore = checksumBefore
        self.checksum = checksum
    }

    /// The bytes themselves, for a use that needs them in memory.
    ///
    /// They were there a moment ago, under a claim. If they cannot be read now the process ends: the next run recovers the
    /// claim, and no request goes out with another body.
    package var bytes: [UInt8] {
        guard let bytes = file?.bytes(at: offset, length), bytes.count == length else {
            preconditionFailure("the file of a claimed operation can no longer be read")
        }
        return bytes
    }
}

/// A file that stays open as long as something refers to it.
package final class OpenFile: Hashable, Sendable {
    package let descriptor: Int32
    private let read: Read
    private let close: @Sendable (_ descriptor: Int32) -> Void

    /// Reads once from a place on, as pread(2): returns how many bytes there were, 0 at the end, `nil` where the system
    /// refuses.
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

    /// Reads once from a place on.
    package func read(at offset: Int, into space: UnsafeMutableRawBufferPointer) -> Int? {
        read(descriptor, offset, space)
    }

    /// The bytes from a place on, fewer where the file ends before; `nil` where the system refuses.
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

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
