import CSystem

/// The names lock: while a process has the lock, no other process gives a waiting operation a name or takes one away.
/// So a listing under the lock is a moment: it has every operation that entered before, and none that enters later.
///
/// `readdir` may miss a file that enters, or is renamed, while its directory is read, and may return a newer file. A
/// run that decides an order from such a listing would send a newer operation before a missed older operation. So two
/// sides take the lock on `state/names.lock`:
///
/// - A run that decides an order has the lock from the first directory read for `Precedence` to the last read of its
///   choice, and never while it sends.
/// - A process that changes names has the lock to the end of the change. `add`, `import` and `send` have the lock from
///   the time of creation that they give to the name of the last file, if the queue has an order, limits, or the
///   submitter's ids: so limits hold, and an id is there once, for all processes that add. `retry`, `hold`, `release`
///   and `drop`, recovery, the removal of earlier generations, and `import --replace` from its claims to their return
///   have the lock during their moves. A run that admits foreign files has the lock from the claim of each file to its
///   name. Whoever completes a batch (`CommittedBatch`) has the lock. A run recovers also without a sequence lock.
///
/// A queue without order and limits takes no lock for an operation with a random id. An `add` waits for at most one
/// listing. A process that stops while it has the lock delays operations with an order by `patience` for each pass, and
/// no other operation.
///
/// An operator's command that moves many operations keeps the lock between moves (`withSharedSyncs`), for at most
/// `longestKept`. Then the command leaves the lock free for `shortestGap`, so a waiting run or `add` gets the lock
/// soon.
///
/// Claims and their ends need no lock: only the holder of a sequence lock claims its destination's operations with an
/// order, and it does not list meanwhile.
///
/// A listing can miss names that change without this lock: by an operator's `mv`, by another program that writes
/// canonical names, or by a run or `add` with another configuration. If locks reach only this host, the lock keeps out
/// only this host's processes: operations that two hosts add in the same moment may then be sent in either order.
extension SpoolDirectory {
    /// How long a process waits for the names lock: longer than a listing of ten million names takes.
    static let namesPatience: Duration = .seconds(30)

    /// How long `withSharedSyncs` keeps the names lock between moves.
    static let longestKept: Duration = .milliseconds(20)
    /// How long `withSharedSyncs` then leaves the names lock free at least: longer than the first pauses of a waiting
    /// process. In a slow directory the gap is at least the time by which a move has kept the lock beyond
    /// `longestKept`.
    static let shortestGap: Duration = .milliseconds(2)

    var hasNamesLock: Bool { namesLockDepth > 0 }

    /// Calls `body` while no other process has the names lock, once the batches of dead writers are complete: a search,
    /// a listing and a count have their operations, and a command finds each file in its last place. Throws
    /// EWOULDBLOCK, without a call, if the lock is not free within `patience`. The end of the process releases the lock
    /// too.
    package func withNamesLock<Result>(
        patience: Duration = SpoolDirectory.namesPatience, _ body: () throws(SpoolError) -> Result
    ) throws(SpoolError) -> Result {
        try lockNames(patience)
        defer { unlockNames() }
        return try body()
    }

    func lockNames(_ patience: Duration = SpoolDirectory.namesPatience) throws(SpoolError) {
        var isFresh = false
        if !hasNamesLock {
            if let since = namesKeptSince {
                let excess = system.elapsed() - since - Self.longestKept
                if excess >= .zero {
                    giveNamesBack()
                    system.sleep(max(Self.shortestGap, excess))
                }
            }
            if namesKeptSince == nil {
                try takeNamesLock(patience)
                isFresh = true
                if deferredSyncs != nil { namesKeptSince = system.elapsed() }
            }
        }
        namesLockDepth += 1
        if !isFresh { return }
        do throws(SpoolError) {
            try completeCommittedBatches()
        } catch {
            unlockNames()
            throw error
        }
    }

    func unlockNames() {
        namesLockDepth -= 1
        if !hasNamesLock, namesKeptSince == nil { namesLock?.unlock() }
    }

    /// Releases the lock kept by `withSharedSyncs`.
    func giveNamesBack() {
        if namesKeptSince == nil { return }
        namesKeptSince = nil
        if !hasNamesLock { namesLock?.unlock() }
    }

    private func takeNamesLock(_ patience: Duration) throws(SpoolError) {
        let path = QueuePath("state/names.lock")
        try attempt("lock", path) { () throws(Errno) in
            let lock = if let namesLock { namesLock } else { try LockFile(path, self) }
            namesLock = lock
            var wait = LockWait(patience)
            while try !lock.tryLock() { try wait.sleep(system) }
        }
    }
}
