import CSystem

/// The right to attempt operations whose order matters: those of routes that are ordered or coalesced. One run, or one
/// `send`, has it.
///
/// Whoever has it recovers dead runs next, and only then lists `new/`, `deferred/` and `claimed/`; and gives it back only
/// after what it claimed has been settled and flushed. Then the listing is all there is: an operation of such a route
/// waits (and is listed), or is claimed. A run that claimed it had the lock. If that run gave the lock back, it had
/// settled the claim; if it died, recovery has put the claim back. What is left in `claimed/` belongs to a run that is
/// just dying (the kernel takes its two locks one after the other) or that began under a configuration in which the route
/// was not ordered: its key, or its destination, waits. So no older operation is under way while a newer one is sent, and
/// nobody else sends one.
///
/// Where locks reach this host only, a run has it only while no run of another host is there, alive or not. Each has made
/// its directory in `claimed/` before it looks for others, so of two that begin at least one sees the other.
package final class SequenceLock {
    private let file: LockFile

    init(_ file: LockFile) {
        self.file = file
    }

    /// Gives the lock back; the end of the object or of the process does so too.
    package func release() {
        file.release()
    }
}

extension SpoolDirectory {
    /// Takes the lock on `state/sequence.lock` without waiting; `nil` while another run has it.
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
