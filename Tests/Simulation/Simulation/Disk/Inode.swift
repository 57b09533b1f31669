internal import Spool

/// A file, a directory or a link of the simulated disk, by whatever names it has.
final class Inode {
    let number: UInt64
    let kind: FileStatus.Kind
    /// The content of a file; the target of a symbolic link.
    var data: [UInt8] = []
    /// The content that a power cut keeps; `nil` if none was ever synced.
    var syncedData: [UInt8]?
    /// Whether `data` is what was synced last.
    var isSynced = false
    /// The names in a directory.
    var names: [[UInt8]: Inode] = [:]
    /// The directory's changes that a power cut may undo, oldest first.
    var changes: [Change] = []
    var links = 0
    var owner: UInt32
    var permissions: UInt32
    var isSticky = false
    /// In nanoseconds since 1970.
    var modified: Int64
    var changed: Int64
    /// The open file that has the lock.
    var lock: OpenFile?

    /// A name that a directory got or lost.
    struct Change {
        /// The place in the journal, which all directories share. A rename has one place in both.
        var place: Int
        var name: [UInt8]
        var before: Inode?
    }

    init(_ number: UInt64, _ kind: FileStatus.Kind, owner: UInt32, permissions: UInt32, at now: Int64) {
        self.number = number
        self.kind = kind
        self.owner = owner
        self.permissions = permissions
        modified = now
        changed = now
    }
}

/// An open file description.
final class OpenFile {
    let inode: Inode
    let process: ProcessID
    let path: String
    let isAppending: Bool
    var position = 0

    init(_ inode: Inode, _ process: ProcessID, _ path: String, isAppending: Bool) {
        self.inode = inode
        self.process = process
        self.path = path
        self.isAppending = isAppending
    }
}
