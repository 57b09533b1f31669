import CSystem
import Policy

/// The directory of one live process: `tmp/<writer>/` or `claimed/<run>/`, with a locked file `lock`.
///
/// The lock file is made once and never replaced; a run writes the marks of its claims into the lock file
/// (`ClaimMarks`). The lock's holder removes the lock file last, so a directory with files and without a lock file has
/// no owner.
///
/// The directory's name contains the host. If the file system's locks reach only this host, a free lock does not prove
/// another host's process dead, and its directory stays: an operator who knows that the host is gone removes the lock
/// file.
///
/// An ending run leaves its empty directory as `state/spare`, unless there is one. If a later run finds the disk full,
/// or no inode left, the run takes the spare directory for its own, or a dead run's with its claims and marks
/// (`SpoolDirectory.beginRun`), so delivering needs no space.
final class LockedDirectory {
    let path: QueuePath
    /// The directory's own name: `20261121T091500.123456Z-9f86d081884c7d65`, of which eight digits are the host's.
    let name: String
    private let queue: SpoolDirectory
    private var descriptor: Int32
    /// Whether another process made the directory and may still have it open: its owner, taken for dead, may go on.
    private var isAnothers = false

    private init(path: QueuePath, name: String, queue: SpoolDirectory, descriptor: Int32) {
        self.path = path
        self.name = name
        self.queue = queue
        self.descriptor = descriptor
    }

    deinit {
        release()
    }

    /// Releases the lock. Files left in the directory have no owner then.
    func release() {
        guard descriptor >= 0 else { return }
        try? queue.system.unlock(descriptor)
        try? queue.system.close(descriptor)
        descriptor = -1
    }

    var lockPath: QueuePath { QueuePath(in: path, "lock".utf8) }

    /// Makes a directory in `parent`; makes another directory if a sweeper takes the first for dead before the lock is
    /// taken. Throws EBUSY after 100.
    static func make(in parent: QueuePath, at now: Timestamp, _ queue: SpoolDirectory) throws(Errno) -> LockedDirectory
    {
        for _ in 0..<100 {
            let random = String(queue.system.random() >> 32 | 1 << 32, radix: 16).dropFirst()
            let name = "\(now.compactMicroseconds)-\(queue.hostTag)\(random)"
            let path = QueuePath(in: parent, name.utf8)
            do throws(Errno) {
                if let directory = try make(path, name, queue) { return directory }
            } catch let full where full.isFullDisk && parent == QueueState.claimed.path {
                do throws(Errno) {
                    try queue.system.rename(queue.root, spare.bytes, queue.root, path.bytes)
                } catch {
                    throw full
                }
                if let directory = try takeOver(path, name: name, queue) {
                    directory.isAnothers = false
                    return directory
                }
            }
        }
        throw Errno(EBUSY)
    }

    static let spare = QueuePath("state/spare")

    /// Whether a name has the form of `make`'s names.
    static func isName(_ name: String) -> Bool { start(in: name) != nil }

    /// Returns the time in a name, at which its owner began; `nil` for other names.
    static func start(in name: String) -> Timestamp? {
        var time = name.prefix(23)
        return name.utf8.count == 40 ? time.withUTF8 { Timestamp(compactMicroseconds: $0) } : nil
    }

    /// Whether the lock of a directory of this name tells if its owner lives: false for another host's if locks do not
    /// reach that host.
    static func canJudge(_ name: String, _ queue: SpoolDirectory) -> Bool {
        name.dropFirst(24).prefix(8) == queue.hostTag || queue.fileSystem.lockReach == .everyHost
    }

    private static func make(
        _ path: QueuePath, _ name: String, _ queue: SpoolDirectory
    ) throws(Errno) -> LockedDirectory? {
        let (system, root) = (queue.system, queue.root)
        let lockPath = QueuePath(in: path, "lock".utf8)
        let descriptor: Int32
        do throws(Errno) {
            try system.makeDirectory(root, path.bytes, 0o700)
            descriptor = try system.open(root, lockPath.bytes, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        } catch let error where error == .missing || error == .exists {
            // A sweeper has removed the directory between the two calls, or is about to.
            return nil
        } catch {
            try? system.removeDirectory(root, path.bytes)
            throw error
        }
        // From here on the object closes the descriptor, whatever happens.
        let directory = LockedDirectory(path: path, name: name, queue: queue, descriptor: descriptor)
        do throws(Errno) {
            guard try directory.isHeld else { return nil }
            try system.chmod(descriptor, 0o600)
        } catch let error where error == .stale || error == .missing {
            // Another host's sweeper has removed the directory, although this host's cache still had it (GlusterFS).
            // Another directory may be in its place by now.
            return nil
        } catch {
            directory.remove()
            throw error
        }
        return directory
    }

    /// Takes over a directory whose owner is dead. Returns `nil` while its owner lives or cannot be judged, or if
    /// another process takes the directory over. Returns `nil` also for a stale lock file: another host has just
    /// removed the file.
    static func takeOver(_ path: QueuePath, name: String, _ queue: SpoolDirectory) throws(Errno) -> LockedDirectory? {
        do throws(Errno) {
            return try takeOverUnlessStale(path, name: name, queue)
        } catch let error where error == .stale || error == .missing {
            return nil
        }
    }

    private static func takeOverUnlessStale(
        _ path: QueuePath, name: String, _ queue: SpoolDirectory
    ) throws(Errno) -> LockedDirectory? {
        let (system, root) = (queue.system, queue.root)
        let lockPath = QueuePath(in: path, "lock".utf8)
        let descriptor: Int32
        var hasOwner = true
        do throws(Errno) {
            descriptor = try system.open(root, lockPath.bytes, O_RDWR | O_NOFOLLOW, 0)
        } catch let error where error == .missing {
            hasOwner = false
            // Its owner died between mkdir and open, or the removing process died before rmdir.
            do throws(Errno) {
                descriptor = try system.open(root, lockPath.bytes, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
            } catch let error where error == .missing || error == .exists {
                return nil
            }
        }
        let directory = LockedDirectory(path: path, name: name, queue: queue, descriptor: descriptor)
        guard !hasOwner || canJudge(name, queue), try directory.isHeld else { return nil }
        directory.isAnothers = true
        return directory
    }

    /// Whether no process has the lock of the directory at `path`; false if the lock cannot be judged from this host.
    /// Leaves the directory as it is.
    ///
    /// Takes the lock for a moment. A process that looks meanwhile believes in a living owner, which does no harm.
    static func isAbandoned(_ path: QueuePath, name: String, _ queue: SpoolDirectory) throws(Errno) -> Bool {
        let descriptor: Int32
        do throws(Errno) {
            descriptor = try queue.system.open(
                queue.root, QueuePath(in: path, "lock".utf8).bytes, O_RDWR | O_NOFOLLOW, 0)
        } catch let error where error == .missing {
            return try queue.exists(path)
        }
        let directory = LockedDirectory(path: path, name: name, queue: queue, descriptor: descriptor)
        defer { directory.release() }
        guard canJudge(name, queue) else { return false }
        do throws(Errno) {
            return try directory.isHeld
        } catch let error where error == .stale || error == .missing {
            // Its owner or a sweeper has just removed the directory.
            return false
        }
    }

    /// Whether this process has the lock, or gets the lock by asking, and the locked file is still in the directory.
    ///
    /// Asking for a lock that the process has changes nothing. But if a server has taken the lock away, as from a host
    /// that was cut off, the answer says so.
    var isHeld: Bool {
        get throws(Errno) {
            guard try queue.system.lock(descriptor) else { return false }
            return try isInPlace
        }
    }

    /// Whether the lock keeps a second opener out. If not, the lock proves nothing to other processes.
    var excludes: Bool {
        get throws(Errno) { try !LockFile(lockPath, queue).tryLock() }
    }

    /// Whether the locked file is still in the directory.
    private var isInPlace: Bool {
        get throws(Errno) {
            do throws(Errno) {
                let existing = try queue.system.statusAt(queue.root, lockPath.bytes)
                return try queue.system.status(descriptor).isSameFile(as: existing)
            } catch let error where error == .missing {
                return false
            }
        }
    }

    /// Writes bytes into the lock file. Returns false if the system refuses.
    @discardableResult
    func write(_ bytes: [UInt8], at offset: Int) -> Bool {
        do throws(Errno) {
            try queue.write(descriptor, bytes, at: offset)
            return true
        } catch {
            return false
        }
    }

    /// Overwrites what the lock file says: the marks of this run mean nothing to the next owner. Keeps the size, so the
    /// next owner's marks need no space. Returns false if the system refuses.
    private func blank() throws(Errno) -> Bool {
        let size = try queue.system.status(descriptor).size
        return size == 0 || write([UInt8](repeating: UInt8(ascii: "\n"), count: size), at: 0)
    }

    /// Removes the lock file and the directory, or keeps them as the spare directory, if the directory has no other
    /// file. Other files stay, without an owner.
    ///
    /// On a shared file system a dead run's directory is always removed. A run that was taken for dead may have it open
    /// (`OpenDirectories`); its next call then fails, instead of reaching the claims of the next run in the directory.
    ///
    /// Closes the lock file before it removes the directory: NFS and FUSE keep an open file under a hidden name, and a
    /// directory with such a name cannot be removed.
    func remove() {
        var isEmpty = true
        do throws(Errno) {
            try queue.system.list(queue.root, path.bytes) { name in
                isEmpty = name.elementsEqual("lock".utf8)
                return isEmpty
            }
            guard isEmpty else { return }
            let mayBeOpen = isAnothers && !queue.fileSystem.isLocal
            if path.parent == QueueState.claimed.path, !mayBeOpen, try !queue.exists(Self.spare), try blank() {
                return try queue.system.rename(queue.root, path.bytes, queue.root, Self.spare.bytes)
            }
            try queue.system.unlink(queue.root, lockPath.bytes)
            release()
            try queue.system.removeDirectory(queue.root, path.bytes)
        } catch {
            // The directory has no owner: the next run sweeps the directory.
        }
    }
}
