import CSystem
package import Policy

/// Ids of submitters, each of which is in the queue once. A process has the names lock from the search for the ids to
/// the sync of the added operations. So of several processes that add the same id at the same time only one succeeds,
/// and the rest find the operation durable, or taken back. A process that died in between may have left an operation
/// that is not durable, hence the sync in `existing` before any answer that an id is there already.
///
/// Random ids need no lock: no two operations have the same.
extension SpoolDirectory {
    /// Calls `body` with the operations of these ids, while no other process adds an operation with such an id. Without
    /// ids takes no lock.
    func withIDs<Result>(
        _ ids: [OperationID], _ body: ([OperationID: Entry]) throws(SpoolError) -> Result
    ) throws(SpoolError) -> Result {
        if ids.isEmpty { return try body([:]) }
        return try withNamesLock { () throws(SpoolError) in try body(find(ids)) }
    }

    /// Returns where the operations with these ids are, in every state but `delivered`. The caller has the names lock,
    /// so only runs move files meanwhile: to `claimed/` and back.
    ///
    /// A run that puts a claim back moves the operation against the order of the list, so the claims are listed twice.
    /// While a run is there the other states are listed once more: to be missed in all listings an operation would have
    /// to be claimed and settled twice between two listings. An id stands for a file in quarantine only if nothing else
    /// has the id. Bytes in quarantine that ask for an operation have no id yet.
    package func find(_ ids: [OperationID]) throws(SpoolError) -> [OperationID: Entry] {
        if ids.isEmpty { return [:] }
        let ids = Set(ids)
        var found: [OperationID: Entry] = [:]
        func look(_ states: [QueueState]) throws(SpoolError) {
            for state in states {
                try forEachName(in: state) { name, run in
                    let id = name.id
                    guard ids.contains(id), !name.isInput, state != .quarantine || found[id] == nil else { return }
                    found[id] = Entry(state: state, name: EntryName(name), claimedBy: run)
                }
            }
        }
        try look([.claimed, .new, .deferred, .failed, .quarantine, .claimed])
        if found.count < ids.count, try !names(in: QueueState.claimed.path).isEmpty {
            try look([.new, .deferred, .failed, .claimed])
        }
        return found
    }

    /// The operation that has an id already.
    package enum Existing: Hashable, Sendable {
        /// In this state, and as durable as an accepted operation if the caller asked for durability. A failure that a
        /// run may take back is in flight: `claimed`.
        case stays(QueueState)
        /// A living process has it that may keep nothing of it (`SpoolDirectory.mayEnd`).
        case mayEnd
    }

    /// Returns what the found operations are to a new operation of their id, without those that are gone meanwhile:
    /// their ids are free. The caller has the names lock.
    ///
    /// Syncs each operation that stays, the file, then its name: the process that has added it may not have synced it.
    /// A process that ends between the search and the question for it has put its operation back, or has kept nothing.
    func existing(
        among found: [OperationID: Entry], durable: Bool
    ) throws(SpoolError) -> [OperationID: Existing] {
        var existing: [OperationID: Existing] = [:]
        var open = found
        // Only a run can move an operation now: it claims and settles it, once for each attempt.
        for _ in 0..<100 where !open.isEmpty {
            let isGrouped = durable && open.count >= Self.groupSize
            if isGrouped { try attempt("sync", QueuePath(".")) { () throws(Errno) in try system.syncfs(root) } }
            var moved: [OperationID] = []
            for entry in try withRuns(Array(open.values)) {
                let (id, path) = (entry.name.id, QueuePath(entry.path))
                if try mayEnd(entry) {
                    existing[id] = .mayEnd
                } else if try durable && !isGrouped ? syncIfThere(path) : status(path, "look at") != nil {
                    existing[id] = .stays(entry.isInFlight ? .claimed : entry.state)
                } else {
                    moved.append(id)
                }
            }
            open = try find(moved)
        }
        for id in open.keys { existing[id] = .mayEnd }
        return existing
    }

    /// Syncs a file and its directory. Returns false if the file was not in its place after the sync of the directory.
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
