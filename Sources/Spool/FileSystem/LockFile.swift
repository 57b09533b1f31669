import CSystem

/// A file that exists only to be locked: made once, never renamed, rewritten or removed. The lock ends with its
/// process.
final class LockFile {
    private let system: SystemCalls
    private var descriptor: Int32

    /// Opens the file, or makes it with mode 0600 whatever the umask. Does not take the lock.
    init(_ path: QueuePath, _ queue: SpoolDirectory) throws(Errno) {
        system = queue.system
        let flags = O_RDWR | O_NOFOLLOW
        do throws(Errno) {
            descriptor = try system.open(queue.root, path.bytes, flags, 0)
        } catch let error where error == .missing {
            descriptor = try system.open(queue.root, path.bytes, flags | O_CREAT, 0o600)
            // All properties are set: if this throws, `deinit` runs.
            try system.chmod(descriptor, 0o600)
        }
    }

    deinit {
        release()
    }

    /// Takes the lock without waiting. Returns false while another opener has it.
    func tryLock() throws(Errno) -> Bool {
        try system.lock(descriptor)
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
