import CSystem

/// A file to be locked: made once, never renamed or removed. The lock ends with its process. The lock file of the log
/// has a time besides.
final class LockFile {
    private let system: SystemCalls
    private var descriptor: Int32

    /// Opens the file, or makes it with mode 0600 whatever the umask, if it `mayMake` the file. Does not take the lock.
    init(_ path: QueuePath, _ queue: SpoolDirectory, mayMake: Bool = true) throws(Errno) {
        system = queue.system
        let flags = O_RDWR | O_NOFOLLOW
        do throws(Errno) {
            descriptor = try system.open(queue.root, path.bytes, flags, 0)
        } catch let error where error == .missing && mayMake {
            descriptor = try system.open(queue.root, path.bytes, flags | O_CREAT, 0o600)
            // All properties are set: if this throws, `deinit` runs.
            try system.chmod(descriptor, 0o600)
        }
    }

    /// Opens the file, or makes the file and its directory. Does not take the lock.
    static func inDirectory(_ path: QueuePath, _ queue: SpoolDirectory) throws(Errno) -> LockFile {
        do throws(Errno) {
            return try LockFile(path, queue)
        } catch let error where error == .missing {
            do throws(Errno) {
                try queue.system.makeDirectory(queue.root, path.parent.bytes, 0o700)
            } catch let error where error == .exists {}
            return try LockFile(path, queue)
        }
    }

    deinit {
        release()
    }

    /// Takes the lock without waiting. Returns false while another opener has it.
    func tryLock() throws(Errno) -> Bool {
        try system.lock(descriptor)
    }

    /// Makes room for a text in an empty file, so that `write` needs none on a full disk.
    func reserve(_ length: Int) {
        // try?: without room `write` may fail later.
        if (try? system.status(descriptor).size) ?? 0 > 0 { return }
        write([UInt8](repeating: UInt8(ascii: " "), count: length))
    }

    /// Writes a text at the beginning of the file, as far as there is room.
    func write(_ text: [UInt8]) {
        // try?: without room the text is lost, and nothing else.
        _ = try? text.withUnsafeBytes { bytes in try system.writeAt(descriptor, bytes, 0) }
    }

    /// Releases the lock, and keeps the file open to take it again.
    func unlock() {
        try? system.unlock(descriptor)
    }

    func release() {
        guard descriptor >= 0 else { return }
        try? system.unlock(descriptor)
        try? system.close(descriptor)
        descriptor = -1
    }
}
