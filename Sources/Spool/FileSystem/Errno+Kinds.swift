package import CSystem

extension Errno {
    /// Whether space or inodes ran out, or a limit keeps a file from growing (RLIMIT_FSIZE).
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
