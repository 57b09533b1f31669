import CSystem

/// The names lock: while a process has the lock, no other process renames a waiting operation.
///
/// `readdir` may return neither the old nor the new name of a file that is renamed while its directory is read. A run
/// that decides an order from such a listing would send a newer operation before a missed older operation. So two sides
/// take the lock on `state/names.lock`:
///
/// - A run that decides an order has the lock from the first directory read for `Precedence` to the last read of its
///   choice, and never while it sends.
/// - A process that moves an operation within `new/` and `deferred/`, or back into them, has the lock during the move:
///   `retry`, `hold`, `release`, recovery, the removal of earlier generations, `import --replace` from its claims to
///   their return, and the completion of a batch (`CommittedBatch`). A run recovers also without `SequenceLock`.
/// - A run that admits foreign files takes the ids lock first, and then has both locks from the claim of each file to
///   its name. So no listing for an order meets a file between claim and name.
///
/// An operator's command that moves many operations keeps the lock between moves (`withSharedSyncs`), for at most
/// `longestKept`. Then the command leaves the lock free for `shortestGap`, so a waiting run or `add` gets the lock
/// soon.
///
/// Three kinds of changes need no lock:
///
/// - `add` and `import`: an operation that a listing misses entered after the listing. They take the lock to look for
///   an id.
/// - `drop`: an operation that a listing misses is gone.
/// - Claims and their ends: only the holder of the sequence lock claims operations with an order, and it does not list
///   meanwhile.
///
/// Names that change without this lock (an operator's `mv`, a run with another configuration) can be missed by two
/// listings. A name in only one of the two listings stops its sequence until the next pass (`Precedence.isConfirmed`).
/// If locks reach only this host, the lock keeps out only this host's processes.
extension SpoolDirectory {
    /// How long a process waits for the names lock: longer than a listing of ten million names takes.
    static let namesPatience: Duration = .seconds(30)

    /// How long `withSharedSyncs` keeps the names lock between moves.
    static let longestKept: Duration = .milliseconds(20)
    /// How long `withSharedSyncs` then leaves the names lock free at least: longer than the first pauses of a waiting
    /// process. In a slow directory the gap is at least the time by which a move has kept the lock beyond
    /// `longestKept`.
    static let shortestGap: Duration = .milliseconds(2)

    /// Calls `body` while no other process has the names lock. Throws EWOULDBLOCK, without a call, if the lock is not
    /// free within `patience`. The end of the process releases the lock too.
    package func withNamesLock<Result>(
        patience: Duration = SpoolDirectory.namesPatience, _ body: () throws(SpoolError) -> Result
    ) throws(SpoolError) -> Result {
        if hasNamesLock { return try body() }
        if let since = namesKeptSince {
            let excess = system.elapsed() - since - Self.longestKept
            if excess >= .zero {
                giveNamesBack()
                system.sleep(max(Self.shortestGap, excess))
            }
        }
        if namesKeptSince == nil {
            try lockNames(patience)
            if deferredSyncs != nil { namesKeptSince = system.elapsed() }
        }
        hasNamesLock = true
        defer {
            hasNamesLock = false
            if namesKeptSince == nil { namesLock?.unlock() }
        }
        return try body()
    }

    /// Releases the lock kept by `withSharedSyncs`.
    func giveNamesBack() {
        if namesKeptSince == nil { return }
        namesKeptSince = nil
        namesLock?.unlock()
    }

    private func lockNames(_ patience: Duration) throws(SpoolError) {
        let path = QueuePath("state/names.lock")
        try attempt("lock", path) { () throws(Errno) in
            let lock = if let namesLock { namesLock } else { try LockFile(path, self) }
            namesLock = lock
            var wait = LockWait(patience)
            while try !lock.tryLock() { try wait.sleep(system) }
        }
    }
}
