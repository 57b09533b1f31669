import CSystem
import Policy
package import Spool

/// A file system in memory, for several processes, users and hosts, that can lose power.
///
/// Makes the calls of `SystemCalls.real` on Linux, error for error; `DiskConformance` compares the two. The real
/// closures repeat a call after EINTR themselves, so no call ends with EINTR, neither there nor here.
///
/// **Listings** are in the order of a hash of the name, as in a directory of ext4. A process reads a listing in
/// portions of a few names; the kernel's portions have some hundred names. Other processes act between two portions. A
/// file renamed meanwhile is listed under both names, under either name or not at all. tmpfs and btrfs list in the
/// order of creation; no test may rely on the order.
///
/// **Power cuts.** Each change of a name or a mode is synced or unsynced, and so is the content of each file.
/// - `ordered` is ext4, xfs and btrfs: a power cut keeps a prefix of all changes, and a rename is one change. The
///   prefix has at least the last change of each inode synced since, as with xfs. The prefix may end there: ext4 also
///   commits earlier changes of other files. A sync of an inode without changes commits nothing, as with ext4.
/// - `perDirectory` is weaker than ext4, xfs and btrfs: POSIX promises no more. Each directory keeps a prefix of its
///   own changes, at least up to its own last sync, so a rename between two directories may be in both or in none, and
///   a sync of a file does not sync its name.
/// - Unsynced content may be missing, cut or zeros, in both models, also behind a rename over another file, where ext4
///   writes the content earlier (auto_da_alloc), and where data=ordered allows no zeros. Synced content stays.
/// - Stronger than real: owners and times are durable at once; a file's bytes do not tear within the part written
///   before a sync; an inode is back whole or not at all.
///
/// **Failed syncs.** If the gate throws at `fsync`, the unsynced content of the file stays readable and no later sync
/// makes the content durable, as Linux takes the pages for clean; if the gate throws at `syncfs`, the same is true of
/// every file. The next `fsync` of each other descriptor of the file throws EIO once, and so does the next `syncfs` of
/// each other descriptor.
///
/// Not here: groups (nobody is a member of a file's group), ACLs, EXDEV, the times of access, the blocks of files (a
/// byte takes a byte), signals, and fs.protected_symlinks. Nothing passes through a FIFO; an open of a FIFO throws
/// EDEADLK where the real open would wait for another process.
///
/// Several processes use the disk in turn. During `Gate.before` no code uses the disk.
package final class SimulatedDisk {
    package let journal: Setup.Journal
    let seed: UInt64
    let root: Inode

    /// How often the power has been cut.
    var powerCuts = 0
    /// The bytes that processes may still write; `nil` for no bound. A write beyond the bound throws ENOSPC.
    package var freeBytes: Int?
    /// Called for each write that finds no free byte, with the path of the file's `open`.
    var refused: (ProcessID, Call.Name, _ path: String) -> Void = { _, _, _ in }
    /// Called before each rename of a file takes effect, with the paths in the form of `Call`.
    var moves: (ProcessID, _ from: String, _ to: String) -> Void = { _, _, _ in }
    /// Called for each lock that a process finds taken, with the path and the process that has the lock.
    var finds: (ProcessID, _ path: String, _ owner: ProcessID?) -> Void = { _, _, _ in }
    /// The number of files that processes may still make; `nil` for no bound.
    package var freeInodes: Int?
    /// The maximal number of descriptors of a process.
    package var descriptorLimit = 200
    /// One in `shortWriteRate` writes is short; 0 for none.
    package var shortWriteRate: UInt64 = 16
    /// The most names of a portion of a listing.
    package var portion: UInt64 = 8
    /// False as on NFS: `renameNoReplace` throws EINVAL.
    package var renamesWithoutReplacing = true
    /// The reported file system. Its type and options decide whether a lock reaches other hosts.
    package var fileSystem = FileSystem(type: "ext4", options: ["rw"])
    /// What the clients of a shared file system remember of names; `nil` for a local file system.
    var memory: NameMemory?
    /// Whether a user may link a file only if the user owns the file or may read and write it (fs.protected_hardlinks).
    package var protectsHardLinks = true
    /// Whether O_CREAT refuses another user's file in a directory like /tmp (fs.protected_regular and protected_fifos).
    package var protectsSticky = true
    /// The permission bits that new files do not get.
    package var umask: UInt32 = 0o022

    var processes: [ProcessID: Descriptors] = [:]
    /// The unsynced changes, in the model `ordered`.
    var pending: [Change] = []
    /// The number of the last call that changed names or modes.
    var group = 0
    /// How many syncs have failed.
    var failures = 0
    var nextNumber: UInt64 = 2
    var freeNumbers: [UInt64] = []

    /// Makes a disk with an empty root directory. Every user may make files in the root directory.
    package init(journal: Setup.Journal, seed: UInt64) {
        self.journal = journal
        self.seed = seed
        root = Inode(.directory, 1, owner: 0, mode: 0o1777, at: Timestamp(microseconds: 0))
        root.links = 1
    }

    deinit {
        // Breaks the reference cycles between entries and directories.
        var directories = [root]
        while let directory = directories.popLast() {
            directories += directory.slots.lazy.map(\.entry.inode).filter(\.isDirectory)
            directory.slots = []
            directory.log = []
        }
    }

    /// Closes the files of a process and releases the locks: the process has ended or died.
    package func end(_ process: ProcessID) {
        for file in processes.removeValue(forKey: process)?.removeAll() ?? [] { close(file) }
    }

    func close(_ file: OpenFile) {
        unlock(file)
        file.inode.opens -= 1
        if file.flags & O_ACCMODE != O_WRONLY { file.inode.readers -= 1 }
        release(file.inode)
    }

    // MARK: - Locks

    func lock(_ file: OpenFile) -> Bool {
        let inode = file.inode
        if inode.locks.contains(where: { $0 === file }) { return true }
        let reachesAll = fileSystem.lockReach == .everyHost
        if inode.locks.contains(where: { reachesAll || $0.host == file.host }) { return false }
        inode.locks.append(file)
        return true
    }

    /// Whether a process has the lock on a file, given by its absolute path.
    func hasLock(_ process: ProcessID, _ path: String) -> Bool {
        var links = 0
        let inode = Array(path.utf8).withUnsafeBufferPointer { bytes in
            try? last(of: bytes, from: root, as: 0, links: &links).entry?.inode
        }
        return inode?.locks.contains { $0.process == process } ?? false
    }

    func unlock(_ file: OpenFile) {
        if !file.inode.locks.isEmpty { file.inode.locks.removeAll { $0 === file } }
    }

    // MARK: - Inodes

    func make(_ kind: FileStatus.Kind, owner: UInt32, mode: UInt32, at time: Timestamp) throws(Errno) -> Inode {
        if let free = freeInodes {
            if free <= 0 { throw Errno(ENOSPC) }
            freeInodes = free - 1
        }
        // A number is used again at once, as by ext4: who compares numbers must not rely on more.
        if let number = freeNumbers.popLast() { return Inode(kind, number, owner: owner, mode: mode, at: time) }
        defer { nextNumber += 1 }
        return Inode(kind, nextNumber, owner: owner, mode: mode, at: time)
    }

    /// Frees a closed file without a name.
    func release(_ inode: Inode) {
        if inode.links > 0 || inode.opens > 0 { return }
        freeBytes? += inode.bytes.count
        freeInodes? += 1
        freeNumbers.append(inode.number)
    }

    // MARK: - Names

    /// Begins the group of changes of a call.
    func beginChanges() {
        group += 1
    }

    func add(_ name: FileName, to directory: Inode, _ inode: Inode, at time: Timestamp) {
        note(directory, name, before: nil, after: inode)
        insert(DirectoryEntry(name, in: directory, of: inode), into: directory)
        touch(directory, inode, time)
        tell(name, directory, inode)
    }

    func remove(_ entry: DirectoryEntry, at time: Timestamp) {
        note(entry.parent, entry.name, before: entry.inode, after: nil)
        take(entry)
        touch(entry.parent, entry.inode, time)
        release(entry.inode)
    }

    /// Moves an entry to a free name, or replaces the entry with the name.
    func move(_ entry: DirectoryEntry, to name: FileName, in directory: Inode, at time: Timestamp) {
        let (source, inode) = (entry.parent, entry.inode)
        let replaced = directory.entry(name.hash)
        note(directory, name, before: replaced?.inode, after: inode)
        note(source, entry.name, before: inode, after: nil)
        if let replaced { take(replaced) }
        take(entry)
        entry.name = name
        entry.parent = directory
        insert(entry, into: directory)
        touch(source, inode, time)
        touch(directory, replaced?.inode ?? inode, time)
        if let replaced { release(replaced.inode) }
        tell(name, directory, inode)
    }

    /// Called for each file that gets a name in a watched directory, with the content of the file.
    var named: (_ name: [UInt8], _ bytes: [UInt8]) -> Void = { _, _ in }
    /// The directories whose new names `named` gets.
    var watched: [Inode] = []

    private func tell(_ name: FileName, _ directory: Inode, _ inode: Inode) {
        if inode.kind == .regular, watched.contains(where: { $0 === directory }) { named(name.bytes, inode.bytes) }
    }

    private func touch(_ directory: Inode, _ inode: Inode, _ time: Timestamp) {
        directory.modified = time
        directory.changed = time
        inode.changed = time
    }

    func insert(_ entry: DirectoryEntry, into directory: Inode) {
        entry.isRemoved = false
        let hash = entry.name.hash
        directory.slots.insert(Inode.Slot(hash: hash, entry: entry), at: directory.index(hash))
        entry.inode.links += 1
        if entry.inode.isDirectory {
            entry.inode.entry = entry
            directory.subdirectories += 1
        }
    }

    func take(_ entry: DirectoryEntry) {
        entry.isRemoved = true
        entry.parent.slots.remove(at: entry.parent.index(entry.name.hash))
        entry.inode.links -= 1
        if entry.inode.isDirectory { entry.parent.subdirectories -= 1 }
    }
}
