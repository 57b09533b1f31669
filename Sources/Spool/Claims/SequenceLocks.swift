import CSystem
package import Policy

/// The sequence locks of a process, one for each destination. Only the holder of a destination's lock, a run or a
/// `send`, attempts its operations of ordered or coalescing routes, whose order matters. All operations of a sequence
/// go to one destination (`SequenceKey`), so the sequences of other destinations go on in other processes.
///
/// The holder takes the lock first, and only then lists `new/`, `deferred/` and `claimed/` under the names lock. The
/// holder releases the lock only after its claims are settled and synced. So the listing is complete: an operation of
/// such a route waits (and is listed), or is claimed. The run that claimed the operation had the lock. If the run
/// released the lock, the claim had been settled. A claim left in `claimed/` belongs to a run that died, to a `send`
/// that waits for its next attempt or is telling its submitter of a failure, or to a run begun under a configuration in
/// which the route was not ordered or led elsewhere: its key, or its destination, waits.
/// So no older operation is in flight while a newer operation is sent, and no other process sends an operation of such
/// a route.
///
/// If locks reach only this host, a run has the lock only while no run of another host is there, alive or dead. Each
/// run makes its directory in `claimed/` before it looks for other runs, so of two beginning runs at least one sees the
/// other.
package final class SequenceLocks {
    private static let directory = QueuePath("state/sequences")
    static let common = QueuePath("state/sequence.lock")
    private let queue: SpoolDirectory
    private var files: [Digest: LockFile] = [:]
    /// The lock under which the files of destinations are made. While the disk has no room for a file, the lock is that
    /// of its destination: a run needs no room to deliver.
    private var common: LockFile?

    package init(in queue: SpoolDirectory) { self.queue = queue }

    deinit { release() }

    package var isEmpty: Bool { files.isEmpty }

    package func has(_ destination: Digest) -> Bool { files[destination] != nil }

    /// The destinations whose locks this process has.
    package var taken: some Collection<Digest> { files.keys }

    /// Takes the lock of a destination without waiting. Returns false while another process has the lock, or while
    /// another host's run is there that cannot be judged.
    package func take(_ destination: Digest) throws(SpoolError) -> Bool {
        if has(destination) { return true }
        let path = QueuePath(in: Self.directory, "\(destination)".utf8)
        let lock = try queue.attempt("lock", path) { () throws(Errno) in
            do throws(Errno) {
                let file = try LockFile(path, queue, mayMake: false)
                return try file.tryLock() ? file : nil
            } catch let error where error == .missing {
                return try make(path)
            }
        }
        guard let lock, try queue.unjudgedRuns().isEmpty else { return false }
        files[destination] = lock
        return true
    }

    /// Makes the file of a destination and takes its lock. Returns `nil` if another process makes such a file, or has
    /// no room for one.
    private func make(_ path: QueuePath) throws(Errno) -> LockFile? {
        if let common { return common }
        let file = try LockFile(Self.common, queue)
        guard try file.tryLock() else { return nil }
        let made: LockFile
        do throws(Errno) { made = try LockFile.inDirectory(path, queue) } catch let error where error.isFullDisk {
            common = file
            return file
        }
        // The end of this function releases the lock of `file`.
        return try made.tryLock() ? made : nil
    }

    /// Releases the lock of a destination whose claims have been settled and synced.
    package func release(_ destination: Digest) {
        guard let file = files.removeValue(forKey: destination) else { return }
        if file !== common { return file.release() }
        if files.values.contains(where: { $0 === file }) { return }
        file.release()
        common = nil
    }

    /// Releases the locks of all destinations but these.
    package func release(besides kept: Set<Digest> = []) {
        for destination in Set(files.keys).subtracting(kept) { release(destination) }
    }
}
