import CSystem
import Policy

/// The identity of a file's content, as far as the status of the file tells: a write changes it.
struct FileIdentity: Hashable, CustomStringConvertible {
    private let device: UInt64
    private let inode: UInt64
    private let modified: Int64
    private let changed: Int64

    /// Reads the status of a file and follows a symbolic link; `nil` if there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path.rawCString, &status) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
        modified = csystem_modified(&status)
        changed = csystem_changed(&status)
    }

    var description: String { "\(login) \(changed)" }

    /// The part of the identity that `SecretFile.replace` does not change. Every other write does.
    var login: String { "\(device) \(inode) \(modified)" }
}
