import CSystem
package import Policy

/// Recovery of files left by dead runs and writers.
extension SpoolRun {
    /// Row C of dead runs → N or D, with one more interruption if a request had begun, and an unknown end if one may
    /// have begun; → gone or K if the operation was delivered, and → X if it has failed (`ClaimMarks`); or → Q; foreign
    /// files → F; row W of dead writers → gone; two generations of one operation → the later generation. What an error
    /// has left in this run's own directory goes the same way, and what the run has inherited. Makes missing
    /// directories again.
    ///
    /// Finishes a dead run's decisions in its directory, and renames each other claim into this run's directory first.
    /// If this run dies too, the claim is a dead run's again. Leaves what cannot be recovered to the next recovery, and
    /// reports the failure in `errors`.
    ///
    /// Calls `finish` for each delivered operation before its file goes, with its own url, and with a time that is not
    /// after the beginning of its request, if known. Calls `tell` with the failures and deliveries that a dead run has
    /// not told, without a lock but the dead run's, before the run's marks go. If this run dies, or a call throws, the
    /// next recovery calls again; likewise if `tell` returns false.
    package func recover(
        now: Timestamp, maximumInterruptions: Int = 5,
        finishing finish: (Claim, _ url: String?, _ began: Timestamp?) throws(SpoolError) -> Void = { _, _, _ in },
        telling tell: ([UntoldEnd]) throws(SpoolError) -> Bool = { _ in false }
    ) throws(SpoolError) -> Recovery {
        var recovery = Recovery()
        do throws(SpoolError) {
            try queue.completeLayout()
            try queue.sweepTemporaries(now: now)
        } catch {
            recovery.errors.append(error)
        }
        let claimed = QueueState.claimed.path
        for run in try queue.names(in: claimed) {
            let path = QueuePath(in: claimed, run)
            let isOwn = path == directory.path
            do throws(SpoolError) {
                if isOwn, inherited.isEmpty, try leftovers(in: directory).isEmpty { continue }
                guard let status = try queue.status(path, "look at"), status.kind == .directory else { continue }
                let name = QueuePath.escaped(run)
                let dead = try queue.attempt("recover", path) { () throws(Errno) in
                    isOwn ? directory : try LockedDirectory.takeOver(path, name: name, queue)
                }
                guard let dead else { continue }
                try syncRunDirectory()
                if !isOwn { recovery.deadRuns.append(name) }
                let found = try queue.withNamesLock { () throws(SpoolError) in
                    try recover(from: dead, &recovery, now, maximumInterruptions, finish)
                }
                try sync()
                if !found.untold.isEmpty { guard try tell(found.untold) else { continue } }
                ClaimMarks.end(found.told, in: dead)
                if isOwn { inherited = [:] }
                if let error = found.error { throw error }
                if !isOwn { dead.remove() }
            } catch {
                recovery.errors.append(error)
            }
        }
        do throws(SpoolError) { try removeEarlierGenerations(&recovery) } catch { recovery.errors.append(error) }
        try sync()
        return recovery
    }

    /// Returns the files in the directory of a dead run; in this run's directory, the files without a claim.
    private func leftovers(in dead: LockedDirectory) throws(SpoolError) -> [[UInt8]] {
        let isOwn = dead === directory
        return try queue.names(in: dead.path).filter { bytes in
            if bytes.elementsEqual("lock".utf8) { return false }
            guard isOwn, let name = bytes.withUnsafeBufferPointer({ EntryName($0) }) else { return true }
            return !hasClaimed(name)
        }
    }

    private func recover(
        from dead: LockedDirectory, _ recovery: inout Recovery, _ now: Timestamp, _ maximumInterruptions: Int,
        _ finish: (Claim, _ url: String?, _ began: Timestamp?) throws(SpoolError) -> Void
    ) throws(SpoolError) -> (untold: [UntoldEnd], told: [ClaimMarks.Mark], error: SpoolError?) {
        var first: SpoolError?
        var stuck: Set<[UInt8]> = []
        let scratch = ScratchDirectory.path(in: dead.path)
        try CommittedBatch(in: scratch, queue).complete()
        queue.removeFiles(in: scratch, keepingLock: false)
        try? queue.system.removeDirectory(queue.root, scratch.bytes)
        let names: [[UInt8]]
        let marks: [String: ClaimMarks.Mark]?
        do throws(SpoolError) {
            marks = dead === directory ? inherited : try ClaimMarks.read(of: dead.name, dead.lockPath, queue)
            names = try leftovers(in: dead)
        } catch let error where error.code == Errno.missing.code {
            // Another host has recovered the claim, although this host's cache still had it (GlusterFS).
            return ([], [], nil)
        }
        var untold = (marks ?? [:]).mapValues(\.meaning)
        for bytes in names {
            do throws(SpoolError) {
                let from = QueuePath(in: dead.path, bytes)
                guard let name = bytes.withUnsafeBufferPointer({ EntryName($0) }) else {
                    try returnForeign(from, bytes, &recovery)
                    continue
                }
                // What the dead run has decided is done in its directory: the file keeps its mark until it has left.
                let decided = leftClaim(name) ?? Claim(name, from: .home(of: name), in: dead.path)
                let meaning = (marks?[decided.fileName] ?? decided.mark)?.meaning
                if case .delivered(let keep) = meaning, let delivery = delivery(of: decided, marked: meaning) {
                    let delivered = try queue.operation(at: decided.path, decided.name)
                    let last = delivered?.attempts.last
                    // Without a record the file has not changed since its claim.
                    let claimedAt = try queue.status(decided.path, "look at")?.changedAt
                    let began = last?.outcome == .delivered ? last?.at : claimedAt
                    try finish(decided, delivered?.header.url, began)
                    // The record has the values that the delivery leaves for its chain.
                    if let last, let left = last.kept {
                        // Another run may have kept the value of a newer operation.
                        let at = last.at + last.duration
                        _ = try queue.keep(
                            left.kept, of: Age(decided.name), for: left.chain, at: at, isLate: true)
                    }
                    _ = try self.finish(delivery, keep: keep)
                    recovery.delivered.append(name)
                    untold[decided.fileName] = meaning
                    // A dead run's mark stays until the delivery is told.
                    if marks?[decided.fileName] == nil { unmark(decided) }
                    continue
                }
                if let meaning, case .failed = meaning {
                    try finishFailure(of: decided, &recovery, now)
                    untold[decided.fileName] = meaning
                    continue
                }
                let claim = leftClaim(name) ?? Claim(name, from: .home(of: name), by: self)
                // If this run dies too, or cannot move the file on, the next recovery does what the mark says.
                if let meaning { mark(claim, meaning) }
                if try take(claim, from: from) {
                    try returnClaim(
                        claim.path, meaning != nil || marks == nil ? claim.name.withUnknownEnd : claim.nameAfter,
                        hasBegun: meaning == .begun, &recovery, now, maximumInterruptions)
                }
                unmark(claim)
            } catch {
                first = first ?? error
                stuck.insert(bytes)
            }
        }
        // A file that could not be moved on has not ended, and keeps its mark.
        func hasEnded(_ fileName: String) -> Bool { !stuck.contains(Array(fileName.utf8)) }
        let told = (marks ?? [:]).filter { $1.meaning != .begun && hasEnded($0) }
        return (try queue.untoldEnds(by: untold.filter { hasEnded($0.key) }), Array(told.values), first)
    }

    /// Row C of a dead run → C of this run. Returns false if the file has gone: a host that was cut off is back, and
    /// its run has just settled the claim.
    private func take(_ claim: Claim, from: QueuePath) throws(SpoolError) -> Bool {
        if from.parent == directory.path { return true }
        let isThere = try queue.attempt("recover", from) { () throws(Errno) in
            do throws(Errno) {
                try queue.move(from, claim.path)
                return true
            } catch let error where error == .missing {
                return false
            }
        }
        if isThere { noteRemoval(in: from.parent) }
        return isThere
    }

    /// Row C → gone, for the second name of a file that has one in a state. That one stays: it has at least as many
    /// attempts.
    private func removeSecondName(_ path: QueuePath, _ id: OperationID, _ recovery: inout Recovery) throws(SpoolError)
        -> Bool
    {
        guard let other = try queue.otherNames(of: path, id).first(where: \.isInState),
            try queue.removeSecondName(path, beside: other)
        else { return false }
        noteRemoval(in: path.parent)
        recovery.repaired += 1
        return true
    }

    /// Row C → X, for an operation that a dead run was about to move there.
    private func finishFailure(of claim: Claim, _ recovery: inout Recovery, _ now: Timestamp) throws(SpoolError) {
        if try removeSecondName(claim.path, claim.name.id, &recovery) { return }
        // Without a record of the failure there was no room for it, and nobody knows how the request ended.
        let last = try queue.operation(at: claim.path, claim.name)?.attempts.last
        let name = last?.outcome == .failed ? claim.name : claim.name.withUnknownEnd
        let entry = Entry(state: .failed, name: name.failed(countsAttempt: last?.counted ?? false))
        if case .quarantined(let item) = try place(claim.path, entry, "move to failed/", now) {
            recovery.quarantined.append(item)
        }
    }

    private func returnClaim(
        _ path: QueuePath, _ name: EntryName, hasBegun: Bool, _ recovery: inout Recovery, _ now: Timestamp,
        _ maximumInterruptions: Int
    ) throws(SpoolError) {
        if try removeSecondName(path, name.id, &recovery) { return }
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

    /// Row C → F, for a file that a run died admitting, or for drainq's copy of the file. The next admission names it,
    /// unless its id is in the queue by then. Row C → gone for the second name of a file that an interrupted move has
    /// left in row F, or of a copy that has its canonical name.
    private func returnForeign(
        _ path: QueuePath, _ name: [UInt8], _ recovery: inout Recovery
    ) throws(SpoolError) {
        noteRemoval(in: path.parent)
        if try removeAdmittingName(path) {
            recovery.repaired += 1
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

    /// The most names that a recovery compares if no run has died.
    private static let mostCompared = 20_000

    /// Removes earlier generations: a file system that reorders, or a backup of a queue in use, can bring back a name
    /// from before a move. The later generation has more attempts. Takes the names lock only if there is a suspect.
    private func removeEarlierGenerations(_ recovery: inout Recovery) throws(SpoolError) {
        let most = recovery.deadRuns.isEmpty ? Self.mostCompared : .max
        if try queue.generations(amongFirst: most).isEmpty { return }
        try queue.withNamesLock { () throws(SpoolError) in
            for order in try queue.generations(amongFirst: most) {
                guard let latest = order.last else { continue }
                for earlier in order.dropLast() where earlier.state != .failed {
                    do throws(SpoolError) {
                        if try remove(earlier, before: latest) { recovery.repaired += 1 }
                    } catch {
                        recovery.errors.append(error)
                    }
                }
            }
        }
    }

    /// Row N, D → C → gone, for the earlier of two files of an operation. Returns false if the operation has no second
    /// file, or no longer has one.
    ///
    /// A listing may show one file under two names. So this function claims the earlier name first: no other process
    /// moves a claim. A later name still there after the claim belongs to a second file, or is a second name of this
    /// file, and stays when the claim goes.
    private func remove(_ earlier: Entry, before latest: Entry) throws(SpoolError) -> Bool {
        guard let claim = try claim(earlier) else { return false }
        guard try queue.removeGeneration(claim.path, named: claim.name, beside: latest) else {
            try putBack(claim)
            return false
        }
        noteRemoval(in: directory.path)
        forget(claim)
        return true
    }
}

extension SpoolDirectory {
    /// Returns the entries of each id with several entries among the first `most` names, the latest last. A moving
    /// operation may be there twice.
    func generations(amongFirst most: Int = .max) throws(SpoolError) -> [[Entry]] {
        var hashes: Set<Int> = []
        var suspects: Set<OperationID> = []
        for state in [QueueState.deferred, .failed, .new] where hashes.count < most {
            // A new queue has no other directory to compare with.
            if state == .new, hashes.isEmpty, most < .max { break }
            try attempt("list", state.path) { () throws(Errno) in
                try system.list(root, state.path.bytes) { bytes in
                    if let id = ListedName(bytes)?.id, !hashes.insert(id.hashValue).inserted { suspects.insert(id) }
                    return hashes.count < most
                }
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

    /// Whether operations came back, left or were quarantined.
    package var isNews: Bool { !(returned.isEmpty && delivered.isEmpty && quarantined.isEmpty) }

    package init() {}
}
