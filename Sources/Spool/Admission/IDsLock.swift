import CSystem
import Policy

/// The ids lock: while a process holds it, no other process adds an operation under an id that its submitter chose.
///
/// The process holds it from the search for the ids to the sync of what it added. So of several that add one id at the
/// same time one adds it, and the others find it there: durable, or taken back. A holder that died in between has left an
/// operation that may not be durable, hence `makeDurable` before any answer that an id is there already.
///
/// Random ids need no lock: nobody has them twice. The lock file is `state/ids.lock`.
extension SpoolDirectory {
    /// Calls `body` with the operations that have these ids, while no other process adds one of them. Throws EWOULDBLOCK
    /// where the lock, or an id that `send` has reserved, is not free within `namesPatience`.
    func withIDs<Result>(
        _ ids: [OperationID], _ body: ([OperationID: Entry]) throws(SpoolError) -> Result
    ) throws(SpoolError) -> Result {
        if ids.isEmpty { return try body([:]) }
        return try withIDsLock(freeOf: Set(ids)) { () throws(SpoolError) in
            try body(try withNamesLock { () throws(SpoolError) in try find(ids) })
        }
    }

    /// Calls `body` while this process alone may add ids, and no other one has reserved one of these.
    func withIDsLock<Result>(
        freeOf ids: Set<OperationID> = [], _ body: () throws(SpoolError) -> Result
    ) throws(SpoolError) -> Result {
        if holdsIDs { return try body() }
        let path = QueuePath("state/ids.lock")
        let lock = try attempt("lock", path) { () throws(Errno) in
            let lock = if let idsLock { idsLock } else { try LockFile(path, self) }
            idsLock = lock
            var waiting = Waiting(Self.namesPatience)
            while try !lock.tryLock() { try waiting.pause(system) }
            return lock
        }
        holdsIDs = true
        defer {
            holdsIDs = false
            lock.unlock()
        }
        try completeCommittedBatches()
        if !ids.isEmpty {
            var waiting = Waiting(Self.namesPatience)
            while let path = try reservation(ofOneOf: ids) {
                lock.unlock()
                try attempt("wait for", path) { () throws(Errno) in
                    try waiting.pause(system)
                    while try !lock.tryLock() { try waiting.pause(system) }
                }
            }
        }
        return try body()
    }

    /// Where the operations with these ids are, in every state but `delivered`. Called under the names lock, so that only
    /// runs move files meanwhile: to `claimed/` and back.
    ///
    /// What a run puts back moves against the order of the list, hence the claims a second time. While a run is there the
    /// other states are listed once more: an operation would have to be claimed and settled twice between two listings to
    /// be missed in all of them. An id means what is in quarantine only where nothing else has it.
    func find(_ ids: [OperationID]) throws(SpoolError) -> [OperationID: Entry] {
        if ids.isEmpty { return [:] }
        let ids = Set(ids)
        var found: [OperationID: Entry] = [:]
        func look(_ states: [QueueState]) throws(SpoolError) {
            for state in states {
                try forEachEntry(in: state) { entry in
                    guard ids.contains(entry.name.id) else { return }
                    if state != .quarantine || found[entry.name.id] == nil { found[entry.name.id] = entry }
                }
            }
        }
        try look([.claimed, .new, .deferred, .failed, .quarantine, .claimed])
        if found.count < ids.count, try !names(in: QueueState.claimed.path).isEmpty {
            try look([.new, .deferred, .failed, .claimed])
        }
        return found
    }

    /// Makes operations durable that another process has added, and may not have synced: the file, then its name. One that
    /// is gone meanwhile was in the queue, and was delivered or dropped.
    func makeDurable(_ entries: [Entry]) throws(SpoolError) {
        if entries.isEmpty { return }
        if entries.count >= Self.groupSize {
            return try attempt("sync", QueuePath(".")) { () throws(Errno) in try system.syncfs(root) }
        }
        for entry in entries {
            var entry = entry
            // Only a run moves it now, claims it and settles it; each time is an attempt.
            for _ in 0..<100 {
                if try syncIfThere(QueuePath(entry.path)) { break }
                let again = try withNamesLock { () throws(SpoolError) in try find([entry.name.id]) }
                guard let standing = again[entry.name.id] else { break }
                entry = standing
            }
        }
    }

    /// False if the file was not in its place when its directory had been synced.
    private func syncIfThere(_ path: QueuePath) throws(SpoolError) -> Bool {
        try attempt("sync", path) { () throws(Errno) in
            do throws(Errno) {
                try Self.withDescriptor(system, root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) {
                    (descriptor) throws(Errno) in try system.fsync(descriptor)
                }
                try sync(path.parent)
                return try exists(path)
            } catch let error where error == .missing {
                return false
            }
        }
    }
}

/// A wait for a lock, in growing pauses.
struct Waiting {
    private let patience: Duration
    private var pauseLength: Duration = .milliseconds(1)
    private var waited: Duration = .zero

    init(_ patience: Duration) {
        self.patience = patience
    }

    /// Throws EWOULDBLOCK when the patience is at its end.
    mutating func pause(_ system: SystemCalls) throws(Errno) {
        if waited >= patience { throw .wouldBlock }
        system.sleep(pauseLength)
        waited += pauseLength
        pauseLength = min(pauseLength * 2, .milliseconds(50))
    }
}
