/// The file system that a queue is on, as the kernel names it.
package struct FileSystem: Hashable, Sendable {
    /// `ext4`, `nfs4`, `fuse.sshfs`.
    package let type: String
    /// The options of the mount and of the file system: `rw`, `local_lock=none`.
    package let options: Set<String>
    /// Whether only one kernel mounts the file system, so this kernel's answers about a file are current. False for the
    /// known shared file systems, and for FUSE without a block device (`fuseblk`, as with ntfs-3g).
    package let isLocal: Bool

    package init(type: String, options: Set<String> = []) {
        self.type = type
        self.options = options
        isLocal = !Self.shared.contains(type) && (!type.hasPrefix("fuse") || type == "fuseblk")
    }

    /// How far the kernel's locks on its files reach.
    package enum LockReach: Hashable, Sendable {
        /// Every host that sees the files sees their locks.
        case everyHost
        /// Another host may see the files and not their locks, or this is unknown.
        case thisHost
    }

    /// How far its locks reach, by what its client does with flock(2). Only this host sees a local file system, so its
    /// locks reach every host that sees the files.
    package var lockReach: LockReach {
        switch type {
        case "nfs4": return hasLocalLocks ? .thisHost : .everyHost
        // Version 3 locks by a separate lock manager, unless it is mounted without (nolock).
        case "nfs": return hasLocalLocks || options.contains("nolock") ? .thisHost : .everyHost
        case "fuse.glusterfs", "ceph", "fuse.ceph-fuse", "gfs2", "ocfs2": return .everyHost
        case "lustre": return options.contains("flock") ? .everyHost : .thisHost
        default: return isLocal ? .everyHost : .thisHost
        }
    }

    private static let shared: Set<String> = [
        "nfs", "nfs4", "ceph", "gfs2", "ocfs2", "lustre", "cifs", "smb3", "9p", "virtiofs", "afs", "beegfs", "gpfs",
        "pvfs2", "vboxsf", "unknown",
    ]

    private var hasLocalLocks: Bool { !options.isDisjoint(with: ["local_lock=flock", "local_lock=all"]) }

    /// The file system when the kernel does not tell.
    static let unknown = FileSystem(type: "unknown")
}
