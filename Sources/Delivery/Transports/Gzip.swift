import CSystem
import CZlib
package import Policy
import Synchronization

/// This machine's zlib, opened at run time, for routes with `compress: "gzip"` and for answers.
package enum Gzip {
    private static let lock = Mutex(())

    /// Why this machine cannot compress; `nil` if it can. Opens the library for the rest of the process.
    package static var defect: String? {
        lock.withLock { _ in
            czlib_open().map { "'compress' needs zlib, which cannot be used here: \(String(cString: $0))" }
        }
    }

    /// Returns the bytes as one gzip member (RFC 1952) without name and time: the same bytes give the same member.
    /// Throws `cannotCompress`, or `unavailable` if this process has too little memory.
    package static func compressed(_ bytes: [UInt8]) throws(RequestError) -> [UInt8] {
        if let defect {
            let isPassing = UnavailableTransport(reason: defect).isPassing
            throw isPassing ? .unavailable(.shortage, reason: defect) : .cannotCompress(reason: defect)
        }
        var length = 0
        guard let member = czlib_gzip(bytes, bytes.count, &length) else {
            throw .unavailable(.shortage, reason: "there is no memory to compress \(bytes.count) bytes")
        }
        defer { free(member) }
        return Array(UnsafeRawBufferPointer(start: member, count: length))
    }

    /// Returns the content of gzip members, as far as it can be read and up to `limit` bytes, and whether the content
    /// is whole.
    static func decompressed(_ members: [UInt8], upTo limit: Int) -> (bytes: [UInt8], isWhole: Bool) {
        if defect != nil { return ([], false) }
        var isWhole = false
        // Deflate makes at most 1,032 bytes of one.
        let bytes = [UInt8](unsafeUninitializedCapacity: min(limit, members.count * 1_032)) { space, count in
            count = czlib_gunzip(members, members.count, space.baseAddress, space.count, &isWhole)
        }
        return (bytes, isWhole)
    }
}
