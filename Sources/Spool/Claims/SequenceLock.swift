import CSystem

/// The sequence lock. Only its holder, one run or one `send`, attempts operations whose order matters: those of ordered
/// or coalescing routes.
///
/// The holder recovers dead runs first, and only then lists `new/`, `deferred/` and `claimed/`. It releases the lock
/// only after its claims are settled and synced. So the listing is complete: an operation of such a route waits (and
/// is listed), or is claimed. A run that claimed it had the lock. If that run released the lock, it had settled the
/// claim; if it died, recovery has put the claim back. A claim that is left in `claimed/` belongs to a run that is just
/// dying (the kernel releases its two locks one after the other), or that began under a configuration in which the
/// route was not ordered: its key, or its destination, waits. So no older operation is in flight while a newer one is
/// sent, and no other process sends one.
///
/// If locks reach only this host, a run has the lock only while no run of another host is there, alive or dead. Each
/// run makes its directory in `claimed/` before it looks for others, so of two that begin at least one sees the other.
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
    /// Takes the lock on `state/sequence.lock` without waiting. Returns `nil` while another process has it, or while a
    /// run of another host is there that cannot be judged.
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
