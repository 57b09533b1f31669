import Policy
import Spool

/// A file, a directory or another object with names.
final class Inode {
    let kind: FileStatus.Kind
    var number: UInt64
    var owner: UInt32
    /// The permission bits with the sticky bit and setgid: 0o1777.
    var mode: UInt32
    /// The number of names of a file; for a directory 1 or 0.
    var links = 0
    /// The number of open files of the inode, over all processes.
    var opens = 0
    /// The number of open files that read: the read ends of a FIFO.
    var readers = 0
    var modified: Timestamp
    var changed: Timestamp
    /// The open files that have the lock: at most one, or one for each host if locks do not reach other hosts.
    var locks: [OpenFile] = []

    /// The content of a regular file, the target of a symbolic link.
    var bytes: [UInt8] = []
    /// The content after a power cut.
    var synced: [UInt8] = []
    /// Whether `bytes` and `synced` may differ.
    var isDirty = false
    /// Whether a sync has failed. The kernel takes the pages for clean, so no later sync writes them.
    var hasLostWrites = false
    /// The number of failed syncs, and whether no process has been told of the last failure.
    var failures = 0
    var hasUntoldFailure = false

    /// The entries of a directory, sorted by the hashes of their names.
    var slots: [Slot] = []
    var subdirectories = 0
    /// The entry of a directory; `nil` for the root directory.
    var entry: DirectoryEntry?

    /// The group number of the last change of the inode.
    var lastGroup = 0
    /// The unsynced changes, in the model `perDirectory`: names for a directory, the mode for a file.
    var log: [Change] = []

    struct Slot {
        var hash: UInt64
        var entry: DirectoryEntry
    }

    init(_ kind: FileStatus.Kind, _ number: UInt64, owner: UInt32, mode: UInt32, at time: Timestamp) {
        self.kind = kind
        self.number = number
        self.owner = owner
        self.mode = mode
        modified = time
        changed = time
    }

    var isDirectory: Bool { kind == .directory }
    /// Whether the inode is a directory without a name. Only open files refer to a removed directory.
    var isDead: Bool { isDirectory && links == 0 }

    /// Returns the index of the first slot whose hash is not less.
    func index(_ hash: UInt64) -> Int {
        var (low, high) = (0, slots.count)
        while low < high {
            let middle = (low + high) / 2
            if slots[middle].hash < hash { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func entry(_ hash: UInt64) -> DirectoryEntry? {
        let index = index(hash)
        return index < slots.count && slots[index].hash == hash ? slots[index].entry : nil
    }

    var status: FileStatus {
        FileStatus(
            kind: kind, size: isDirectory ? 4096 : bytes.count, links: isDirectory ? links * 2 + subdirectories : links,
            device: 1, inode: number, owner: owner, permissions: mode & 0o777, isSticky: mode & 0o1000 != 0,
            setsGroup: mode & 0o2000 != 0, modifiedNanoseconds: modified.microseconds *| 1000, changedAt: changed)
    }
}
