import CSystem
package import Policy

/// Recovery of files left by dead runs and writers.
extension SpoolRun {
    /// Row C of dead runs → N or D, with one more interruption if a request had begun; → gone if the operation was
    /// delivered (`ClaimMarks`); or → Q; foreign files → F; row W of dead writers → gone; two generations of one
    /// operation → the later generation.
    ///
    /// Renames each claim into this run's directory first, so only one recoverer wins. If this run dies too, the claim
    /// is a dead run's again. Leaves what cannot be recovered to the next run, and reports the failure in `errors`.
    package func recover(now: Timestamp, maximumInterruptions: Int = 5) throws(SpoolError) -> Recovery {
        var recovery = Recovery()
        try queue.sweepTemporaries(now: now)
        let claimed = QueueState.claimed.path
        for run in try queue.names(in: claimed) {
            let path = QueuePath(in: claimed, run)
            if path == directory.path { continue }
            do throws(SpoolError) {
                guard let status = try queue.status(path, "look at"), status.kind == .directory else { continue }
                let name = QueuePath.escaped(run)
                let dead = try queue.attempt("recover", path) { () throws(Errno) in
                    try LockedDirectory.takeOver(path, name: name, queue)
                }
                guard let dead else { continue }
                try syncRunDirectory()
                recovery.deadRuns.append(name)
                try queue.withNamesLock { () throws(SpoolError) in
                    try recover(from: dead, &recovery, now, maximumInterruptions)
                }
                try sync()
                dead.remove()
            } catch {
                recovery.errors.append(error)
            }
        }
        if !recovery.deadRuns.isEmpty, !recovery.errors.contains(where: \.isLocked) {
            recovery.repaired += try queue.withNamesLock { () throws(SpoolError) in try removeEarlierGenerations() }
        }
        try sync()
        return recovery
    }

    private func recover(
        from dead: LockedDirectory, _ recovery: inout Recovery, _ now: Timestamp, _ maximumInterruptions: Int
    ) throws(SpoolError) {
        var first: SpoolError?
        let scratch = ScratchDirectory.path(in: dead.path)
        try CommittedBatch(in: scratch, queue).complete()
        queue.removeFiles(in: scratch, keepingLock: false)
        try? queue.system.removeDirectory(queue.root, scratch.bytes)
        let names: [[UInt8]]
        let marks: [String: ClaimMarks.Meaning]
        do throws(SpoolError) {
            marks = try ClaimMarks.read(of: dead, queue)
            names = try queue.names(in: dead.path)
        } catch let error where error.code == Errno.missing.code {
            // Another host has recovered the claim, although this host's cache still had it (GlusterFS).
            return
        }
        for bytes in names where !bytes.elementsEqual("lock".utf8) {
            do throws(SpoolError) {
                let from = QueuePath(in: dead.path, bytes)
                guard let name = bytes.withUnsafeBufferPointer({ EntryName($0) }) else {
                    try returnForeign(from, bytes, now)
                    continue
                }
                let mine = QueuePath(in: directory.path, bytes)
                let meaning = marks[name.description]
                // If this run dies too, or cannot move the file on, the next run does what the mark says.
                let mark = meaning.map { self.mark(name, $0) }
                let isThere = try queue.attempt("recover", from) { () throws(Errno) in
                    do throws(Errno) {
                        try queue.move(from, mine)
                        return true
                    } catch let error where error == .missing {
                        // A host that was cut off is back, and its run has just settled this claim.
                        return false
                    }
                }
                if isThere {
                    noteRemoval(in: dead.path)
                    if meaning == .delivered {
                        try removeDelivered(mine)
                        recovery.delivered.append(name)
                    } else {
                        try returnClaim(mine, name, hasBegun: meaning == .begun, &recovery, now, maximumInterruptions)
                    }
                }
                if let mark { unmark(mark) }
            } catch {
                first = first ?? error
            }
        }
        if let first { throw first }
    }

    private func returnClaim(
        _ path: QueuePath, _ name: EntryName, hasBegun: Bool, _ recovery: inout Recovery, _ now: Timestamp,
        _ maximumInterruptions: Int
    ) throws(SpoolError) {
        if try isInterruptedMove(path, name) {
            try remove(path)
            recovery.repaired += 1
            return
        }
        var name = name
        if hasBegun { name.interruptions = min(name.interruptions + 1, 99) }
        if name.interruptions >= maximumInterruptions {
            let reason = "its run died \(name.interruptions) times while it was being attempted"
            recovery.quarantined.append(try quarantine(path, name, reason: reason, now))
            return
        }
        switch try place(path, Entry(state: .home(of: name), name: name), "put back", now) {
        case .moved(let entry): recovery.returned.append(entry)
        case .quarantined(let item): recovery.quarantined.append(item)
        case .gone, .unkept: break
        }
    }

    /// Row C → F, for a file that a run died reading. A copy in its place goes to row N: only its name was missing.
    private func returnForeign(_ path: QueuePath, _ name: [UInt8], _ now: Timestamp) throws(SpoolError) {
        noteRemoval(in: path.parent)
        if Self.isAdmittingName(name),
            let name = try queue.attempt("read", path, { () throws(Errno) in try queue.copy(at: path) })
        {
            _ = try place(path, Entry(state: .home(of: name), name: name), "put back", now)
            return
        }
        try queue.attempt("put back", path) { () throws(Errno) in
            do throws(Errno) {
                try queue.move(path, QueuePath(in: QueueState.new.path, name))
            } catch let error where error == .exists {
                try queue.move(path, QueuePath("new/\(newAdmittingName())"))
            }
        }
        noteAddition(in: QueueState.new.path)
    }

    /// Whether the inode has a name in another state, as after a link. The other name stays, since it has at least as
    /// many attempts.
    private func isInterruptedMove(_ path: QueuePath, _ name: EntryName) throws(SpoolError) -> Bool {
        guard let status = try queue.status(path, "look at"), status.kind == .regular, status.links > 1 else {
            return false
        }
        var others: [QueuePath] = []
        for state in QueueState.unclaimed {
            try queue.forEachEntry(in: state) { if $0.name.id == name.id { others.append(QueuePath($0.path)) } }
        }
        for other in others where try queue.status(other, "look at")?.isSameFile(as: status) == true { return true }
        return false
    }

    /// Removes earlier generations: a file system that reorders can bring back a name from before a move. The later
    /// generation has more attempts. Returns the number of removed generations.
    private func removeEarlierGenerations() throws(SpoolError) -> Int {
        var count = 0
        for order in try queue.generations() {
            guard let latest = order.last else { continue }
            for earlier in order.dropLast() where earlier.state != .failed {
                if try remove(earlier, before: latest) { count += 1 }
            }
        }
        return count
    }

    /// Row N, D → C → gone, for the earlier of two files of an operation. Returns false if the operation has no second
    /// file, or no longer has one.
    ///
    /// A listing may show one file under two names. So this function claims the earlier name first: no other process
    /// moves a claim. A later name still there after the claim belongs to a second file, or is a second name of this
    /// file, and stays when the claim goes.
    private func remove(_ earlier: Entry, before latest: Entry) throws(SpoolError) -> Bool {
        guard case .operation(let stored)? = try queue.read(earlier), try isLater(latest, than: stored),
            let claim = try claim(earlier)
        else { return false }
        let limit = SpoolDirectory.readLimit
        guard case .operation(let claimed)? = try queue.read(claim.path, name: claim.name, limit: limit),
            try isLater(latest, than: claimed)
        else {
            try putBack(claim)
            return false
        }
        try remove(claim.path)
        forget(claim)
        return true
    }

    /// Whether the name of `latest` has a file of the same operation now.
    private func isLater(_ latest: Entry, than stored: StoredOperation) throws(SpoolError) -> Bool {
        guard case .operation(let kept)? = try queue.read(latest) else { return false }
        return stored.operation.header == kept.operation.header && stored.operation.body == kept.operation.body
    }
}

extension SpoolDirectory {
    /// Returns the entries of each id with several entries, the latest last. A moving operation may be there twice.
    func generations() throws(SpoolError) -> [[Entry]] {
        var hashes: Set<Int> = []
        var suspects: Set<OperationID> = []
        for state in [QueueState.new, .deferred, .failed] {
            try forEachEntry(in: state) { entry in
                if !hashes.insert(entry.name.id.hashValue).inserted { suspects.insert(entry.name.id) }
            }
        }
        if suspects.isEmpty { return [] }
        var generations: [OperationID: [Entry]] = [:]
        for state in [QueueState.new, .deferred, .failed] {
            try forEachEntry(in: state) { entry in
                if suspects.contains(entry.name.id) { generations[entry.name.id, default: []].append(entry) }
            }
        }
        return generations.values.map { $0.sorted { $0.name.generation < $1.name.generation } }
    }
}

extension EntryName {
    /// Grows with an operation's history. Between two equal histories the entry on hold is later: it must not be sent.
    fileprivate var generation: (Int, Int, Int) { (attempts, interruptions, isHeld ? 1 : 0) }
}

/// The result of `recover`.
package struct Recovery: Hashable, Sendable {
    /// Returned operations in their new rows.
    package var returned: [Entry] = []
    /// The names of operations that a dead run had delivered. Their files are removed.
    package var delivered: [EntryName] = []
    /// Operations interrupted too often, or whose name another operation has.
    package var quarantined: [QuarantineItem] = []
    /// The names of the dead runs.
    package var deadRuns: [String] = []
    /// The number of interrupted moves finished and earlier generations removed.
    package var repaired = 0
    /// The errors; the next run tries these files again.
    package var errors: [SpoolError] = []

    package init() {}
}
