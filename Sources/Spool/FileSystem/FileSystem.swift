/// The file system that a queue is on, as the kernel names it.
package struct FileSystem: Hashable, Sendable {
    /// `ext4`, `nfs4`, `fuse.sshfs`.
    package var type: String
    /// Of the mount and of what is mounted: `rw`, `local_lock=none`.
    package var options: Set<String>

    package init(type: String, options: Set<String> = []) {
        self.type = type
        self.options = options
    }

    /// How far the kernel's locks on its files reach.
    package enum LockReach: Hashable, Sendable {
        /// Whoever sees the files sees their locks.
        case everyHost
        /// Another host may see the files and not their locks, or nobody knows.
        case thisHost
    }

    /// From what each file system's client does with flock(2). On a local one this kernel's locks are all there are.
    package var lockReach: LockReach {
        switch type {
        case "nfs4": return hasLocalLocks ? .thisHost : .everyHost
        // Version 3 has a lock manager beside it, unless it is mounted without.
        case "nfs": return hasLocalLocks || options.contains("nolock") ? .thisHost : .everyHost
        case "fuse.glusterfs", "ceph", "fuse.ceph-fuse", "gfs2", "ocfs2": return .everyHost
        case "lustre": return options.contains("flock") ? .everyHost : .thisHost
        default: return isLocal ? .everyHost : .thisHost
        }
    }

    /// Whether one kernel alone mounts it, so that what it says of a file is so now: all but the shared ones that are known,
    /// and FUSE without a block device (`fuseblk`, as with ntfs-3g).
    package var isLocal: Bool {
        !Self.shared.contains(type) && (!type.hasPrefix("fuse") || type == "fuseblk")
    }

    private static let shared: Set<String> = [
        "nfs", "nfs4", "ceph", "gfs2", "ocfs2", "lustre", "cifs", "smb3", "9p", "virtiofs", "afs", "beegfs", "gpfs",
        "pvfs2", "vboxsf", unknown.type,
    ]

    private var hasLocalLocks: Bool { !options.isDisjoint(with: ["local_lock=flock", "local_lock=all"]) }

    /// Where the kernel does not tell.
    static let unknown = FileSystem(type: "unknown")
}
