import Policy
import Spool

/// A file, a directory or another thing that has names.
final class Inode {
    let kind: FileStatus.Kind
    var number: UInt64
    var owner: UInt32
    /// The permission bits with the sticky bit and setgid: 0o1777.
    var mode: UInt32
    /// The names of a file; for a directory only whether it has one.
    var links = 0
    /// The open files that refer to it, over all processes.
    var opens = 0
    /// Those of them that read: the other ends of a FIFO.
    var readers = 0
    var modified: Timestamp
    var changed: Timestamp
    /// The open files that have its lock: one, or one of each host if locks do not reach other hosts.
    var locks: [OpenFile] = []

    /// The content of a regular file, the target of a symbolic link.
    var bytes: [UInt8] = []
    /// The content that a power cut keeps.
    var synced: [UInt8] = []
    /// Whether the two may differ.
    var isDirty = false
    /// Whether a sync has failed: the kernel takes its pages for clean, so no later sync writes them.
    var hasLostWrites = false
    /// How many syncs have failed, and whether no process has been told of the last one.
    var failures = 0
    var hasUntoldFailure = false

    /// The entries of a directory, sorted by the hashes of their names.
    var slots: [Slot] = []
    var subdirectories = 0
    /// The entry of a directory; `nil` for the root directory.
    var entry: DirectoryEntry?

    /// The number of the last group of changes that concerns it.
    var lastGroup = 0
    /// The changes that are not synced, in the model `perDirectory`: of a directory its names, of a file its mode.
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
    /// Whether it is a directory that has been removed, and is only open any more.
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
