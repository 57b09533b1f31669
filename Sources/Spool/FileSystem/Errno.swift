import CSystem

/// Why a system call failed.
package struct Errno: Error, Hashable, Sendable, CustomStringConvertible {
    package var code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    /// The system's words: `Permission denied`.
    package var description: String { String(cString: strerror(code)) }

    /// Whether space or inodes are wanting, or a limit keeps a file from growing (RLIMIT_FSIZE).
    var isFullDisk: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }

    static let exists = Errno(EEXIST)
    static let invalid = Errno(EINVAL)
    package static let missing = Errno(ENOENT)
    static let noLocks = Errno(ENOLCK)
    static let notADirectory = Errno(ENOTDIR)
    static let notPermitted = Errno(EPERM)
    static let stale = Errno(ESTALE)
    static let forbidden = Errno(EACCES)
    static let wouldBlock = Errno(EWOULDBLOCK)
}
