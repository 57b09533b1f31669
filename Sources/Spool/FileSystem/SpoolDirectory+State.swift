import CSystem

/// The files of `state/`, a run's memory for later runs. Each file here is replaced in one step, under the lock on
/// `state/lock`: a reader sees the old or the new file, and two writers do not undo each other's work.
///
/// The lock's holder writes `state/.NAME` and renames it. The next writer overwrites what a crash leaves there.
///
/// On a full disk the lock's holder first removes `state/reserve`, which keeps room for one file, and makes it again
/// from the room of the replaced file. Later runs then know on a full disk, too, what a run has learned. A file of
/// `state/keys/` never takes the reserve: each new key would take room away for good.
extension SpoolDirectory {
    /// How long a writer waits for another writer. On a shared file system a single call can take seconds (CephFS: up
    /// to `mds_tick_interval`, 5 s, while another host has what the call needs).
    private var statePatience: Duration { .seconds(fileSystem.isLocal ? 2 : 10) }

    /// Returns the content of a file of `state/`; `nil` if it was never written.
    package func readState(_ name: String) throws(SpoolError) -> [UInt8]? {
        try readFile(QueuePath("state/\(name)"), limit: 64 << 20)
    }

    /// Replaces a file of `state/`, durably.
    package func writeState(_ name: String, _ bytes: [UInt8]) throws(SpoolError) {
        let lock = try lockState()
        defer { lock.release() }
        try replaceWithReserve(name, bytes, durable: true)
    }

    /// Reads a file of `state/`, changes it under the lock, and returns its content then. `change` gets `nil` if there
    /// is no file, and returns `nil` to leave the file as it is.
    ///
    /// Asks `durable` after the change. If the answer is false, syncs nothing: a power cut may bring back the old file
    /// or leave an empty file, although the old file had been synced. Throws EWOULDBLOCK if the lock is not free within
    /// `statePatience`.
    package func updateState(
        _ name: String, durable: @autoclosure () -> Bool, _ change: (_ old: [UInt8]?) -> [UInt8]?
    ) throws(SpoolError) -> [UInt8]? {
        let lock = try lockState()
        defer { lock.release() }
        let old = try readState(name)
        guard let new = change(old) else { return old }
        try replaceWithReserve(name, new, durable: durable())
        return new
    }

    /// Waits for the lock. Throws EWOULDBLOCK if it is not free within `patience`, by default `statePatience`.
    func lockState(patience: Duration? = nil) throws(SpoolError) -> LockFile {
        let path = QueuePath("state/lock")
        return try attempt("lock", path) { () throws(Errno) in
            let lock = try LockFile(path, self)
            let pause: Duration = .milliseconds(5)
            var waited: Duration = .zero
            while try !lock.tryLock() {
                if waited >= patience ?? statePatience { throw Errno(EWOULDBLOCK) }
                system.sleep(pause)
                waited += pause
            }
            return lock
        }
    }

    private static let reserve = QueuePath("state/reserve")
    private static let reserveSize = 64 << 10

    /// Makes the reserve, as large as there is room for.
    func keepReserve() {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK
        // try?: without room there is no reserve, and the write that needs it reports the error.
        try? Self.withDescriptor(system, root, Self.reserve, flags) { (descriptor) throws(Errno) in
            let lacking = Self.reserveSize - (try system.status(descriptor).size)
            if lacking > 0 { try write(descriptor, [UInt8](repeating: 0, count: lacking)) }
        }
    }

    /// Replaces a file of `state/`, on a full disk in the room of the reserve. The caller has the lock.
    private func replaceWithReserve(_ name: String, _ bytes: [UInt8], durable: Bool) throws(SpoolError) {
        do throws(SpoolError) { try replaceState(name, bytes, durable: durable) } catch let full where full.isFullDisk {
            do throws(Errno) { try system.unlink(root, Self.reserve.bytes) } catch { throw full }
            defer { keepReserve() }
            try replaceState(name, bytes, durable: durable)
        }
    }

    /// Replaces a file of `state/`. The caller has the lock.
    func replaceState(_ name: String, _ bytes: [UInt8], durable: Bool) throws(SpoolError) {
        let path = QueuePath("state/\(name)")
        let last = name.utf8.split(separator: UInt8(ascii: "/")).last ?? name.utf8[...]
        let temporary = QueuePath(in: path.parent, [UInt8(ascii: ".")] + last)
        try attempt("write", path) { () throws(Errno) in
            do throws(Errno) { try system.unlink(root, temporary.bytes) } catch let error where error == .missing {}
            try createFile(temporary, bytes, durable: durable)
            try replace(temporary, path)
            if durable { try sync(path.parent) }
        }
    }
}
