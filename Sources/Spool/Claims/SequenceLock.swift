import CSystem

/// The sequence lock. Only its holder, a run or a `send`, attempts the operations of ordered or coalescing routes,
/// whose order matters.
///
/// The holder recovers dead runs first, and only then lists `new/`, `deferred/` and `claimed/`. The holder releases the
/// lock only after its claims are settled and synced. So the listing is complete: an operation of such a route waits
/// (and is listed), or is claimed. The run that claimed the operation had the lock. If the run released the lock, the
/// claim had been settled; if the run died, recovery has put the claim back. A claim left in `claimed/` belongs to a
/// dying run (the kernel releases its two locks one after the other), or to a run begun under a configuration in which
/// the route was not ordered: its key, or its destination, waits. So no older operation is in flight while a newer
/// operation is sent, and no other process sends an operation of such a route.
///
/// If locks reach only this host, a run has the lock only while no run of another host is there, alive or dead. Each
/// run makes its directory in `claimed/` before it looks for other runs, so of two beginning runs at least one sees the
/// other.
package final class SequenceLock {
    private let file: LockFile

    init(_ file: LockFile) {
        self.file = file
    }

    /// Releases the lock; the end of the object or of the process does so too.
    package func release() {
        file.release()
    }
}

extension SpoolDirectory {
    /// Takes the lock on `state/sequence.lock` without waiting. Returns `nil` while another process has the lock, or
    /// while another host's run is there that cannot be judged.
    package func lockSequences() throws(SpoolError) -> SequenceLock? {
        let path = QueuePath("state/sequence.lock")
        let lock = try attempt("lock", path) { () throws(Errno) in
            let file = try LockFile(path, self)
            return try file.tryLock() ? SequenceLock(file) : nil
        }
        guard try unjudgedRuns().isEmpty else { return nil }
        return lock
    }
}
