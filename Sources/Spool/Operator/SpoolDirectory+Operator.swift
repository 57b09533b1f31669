import CSystem
package import Policy

/// The operator's commands on operations. Each is a single rename, and the name is there or not: a run that was faster
/// wins, and the result says so. The caller has asked which command an operation of this state takes
/// (`OperatorAction.objection`): no command moves a claim, or an operation into a row not named by the command.
extension SpoolDirectory {
    /// Carries out an operator's command on many operations, and makes the whole command durable after `body` has
    /// returned: syncs each directory once, not for each operation, and keeps the names lock between operations. After
    /// an error no part of the command is promised.
    package func withSharedSyncs(_ body: () -> Void) throws(SpoolError) {
        deferredSyncs = ([], [])
        body()
        giveNamesBack()
        sharedScratch?.close()
        sharedScratch = nil
        let (withAdditions, withRemovals) = deferredSyncs ?? ([], [])
        deferredSyncs = nil
        for directory in Array(withAdditions) + withRemovals.subtracting(withAdditions) { try syncDirectory(directory) }
        if !withRemovals.isEmpty { AdmissionRecord.noteRemovals(in: self) }
    }

    /// Row X, D, N, K or Q → D or N: makes an operation due again, with all its attempts, for the next run.
    ///
    /// An attempted operation goes to `deferred/`, due now: its name distinguishes it from a never attempted operation,
    /// which goes to `new/`. A hold of the operation itself ends. Returns `nil` if the operation is no longer there.
    ///
    /// With a future `notBefore` the operation goes to `new/` and waits for this time, however far away: a due time
    /// beyond the schedule's reach would count as past.
    package func retry(_ entry: Entry, now: Timestamp, notBefore: Timestamp? = nil) throws(SpoolError) -> Entry? {
        let result = Self.retried(entry, now, notBefore)
        guard try replace(entry, by: result, "retry") else { return nil }
        if entry.state == .quarantine { removeReason(QuarantineItem(fileName: entry.name.description)) }
        return result
    }

    /// Row X → W → N: retries a dead letter as an operation created now, so that it is the newest of its sequence. A
    /// crash leaves at least one of the two files. Returns `nil` if the dead letter is no longer there, or no
    /// operation.
    package func retryAsNewest(
        _ entry: Entry, now: Timestamp, notBefore: Timestamp? = nil, by configuration: Configuration
    ) throws(SpoolError) -> Entry? {
        guard case .success(let old)? = try portable(entry) else { return nil }
        let renewed = Self.retried(entry, now, notBefore)
        var submission = Submission(
            Operation(header: old.header, body: old.body), as: renewed.name, hasOwnID: true, at: now, isDated: false)
        submission.useSubmissionTime()
        try AdmissionRule(configuration).complete(&submission, in: self)
        _ = try publish([submission.file], durable: true, allOrNone: false)
        return try drop(entry) ? submission.entry : nil
    }

    /// Returns the state and the name of an operation after its retry.
    static func retried(_ entry: Entry, _ now: Timestamp, _ notBefore: Timestamp?) -> Entry {
        let wait = notBefore.flatMap { $0 > now ? EntryName.Gate.notBefore($0) : nil }
        let wasAttempted =
            entry.state != .new && (entry.state != .quarantine || QueueState.home(of: entry.name) == .deferred)
            && wait == nil
        var name = entry.name
        name.attempts = 0
        name.interruptions = 0
        name.isHeld = false
        name.gate = wait ?? (wasAttempted ? .retryAt(now) : .open)
        return Entry(state: wasAttempted ? .deferred : .new, name: name.asWritten)
    }

    /// Row N or D → the same row, on hold until its release. Returns `nil` if the operation is no longer there.
    package func hold(_ entry: Entry) throws(SpoolError) -> Entry? {
        var result = entry
        result.name.isHeld = true
        return try replace(entry, by: result, "hold") ? result : nil
    }

    /// Row N or D → the same row, not on hold any more, and with all its attempts: an operator wants the operation
    /// sent.
    ///
    /// The operation is due now, unless it was never attempted and asked not to be sent before a time. Returns an
    /// operation unchanged if it is not on hold. Returns `nil` if the operation is no longer there.
    package func release(_ entry: Entry, now: Timestamp) throws(SpoolError) -> Entry? {
        guard entry.name.isHeld else { return try replace(entry, by: entry, "release") ? entry : nil }
        var name = entry.name
        name.isHeld = false
        name.attempts = 0
        name.interruptions = 0
        switch (entry.state, name.gate) {
        case (.deferred, _): name.gate = .retryAt(now)
        case (_, .retryAt): name.gate = .open
        case (_, .open), (_, .notBefore): break
        }
        let result = Entry(state: entry.state, name: name.asWritten)
        return try replace(entry, by: result, "release") ? result : nil
    }

    /// Any row but C → gone. Returns false if the operation is no longer there.
    package func drop(_ entry: Entry) throws(SpoolError) -> Bool {
        guard try dropByWayOfScratch(QueuePath(entry.path)) else { return false }
        if entry.state == .quarantine { removeReason(QuarantineItem(fileName: entry.name.description)) }
        try syncAfterMove(from: entry.state.path)
        return true
    }

    /// Row Q → gone. Returns false if the file is no longer there.
    package func drop(_ item: QuarantineItem) throws(SpoolError) -> Bool {
        if try status(item.path, "drop")?.kind == .directory {
            removeFiles(in: item.path, keepingLock: false)
            try attempt("drop", item.path) { () throws(Errno) in try system.removeDirectory(root, item.path.bytes) }
        } else {
            guard try dropByWayOfScratch(item.path) else { return false }
        }
        removeReason(item)
        try syncAfterMove(from: QueueState.quarantine.path)
        return true
    }

    /// Row X or K → gone, for files that came to their state before `limit`, if `mayGo` allows. Returns how many. Age
    /// never removes a waiting operation or a file in quarantine, so other states return 0.
    package func prune(
        _ state: QueueState, olderThan limit: Timestamp, where mayGo: (_ path: String) -> Bool = { _ in true }
    ) throws(SpoolError) -> Int {
        switch state {
        case .new, .deferred, .claimed, .quarantine: return 0
        case .failed, .delivered: break
        }
        var old: [QueuePath] = []
        for name in try names(in: state.path) {
            let path = QueuePath(in: state.path, name)
            if let status = try status(path, "look at"), status.kind == .regular, status.changedAt < limit,
                mayGo(path.description)
            {
                old.append(path)
            }
        }
        for path in old {
            try attempt("remove", path) { () throws(Errno) in
                do throws(Errno) { try system.unlink(root, path.bytes) } catch let error where error == .missing {}
            }
        }
        if !old.isEmpty { try syncDirectory(state.path) }
        return old.count
    }

    /// Drops a file through a scratch directory of its own, or within `withSharedSyncs` through the shared directory.
    private func dropByWayOfScratch(_ path: QueuePath) throws(SpoolError) -> Bool {
        if let sharedScratch {
            do throws(SpoolError) { return try drop(path, sharedScratch) } catch let error where error.isFullDisk {
                return try drop(path, nil)
            }
        }
        let scratch = try scratchUnlessFull()
        if deferredSyncs != nil { sharedScratch = scratch }
        defer { if sharedScratch == nil { scratch?.close() } }
        return try drop(path, scratch)
    }

    /// Returns `nil` if the disk is full: an operator drops operations then.
    private func scratchUnlessFull() throws(SpoolError) -> ScratchDirectory? {
        do throws(SpoolError) { return try ScratchDirectory(self) } catch let error where error.isFullDisk {
            return nil
        }
    }

    /// Any row → W → gone: the rename decides against a run. A file left by a failed unlink or a crash is swept.
    /// Without a scratch directory the unlink decides. Returns false if the file is no longer there.
    func drop(_ path: QueuePath, _ scratch: ScratchDirectory?) throws(SpoolError) -> Bool {
        try attempt("drop", path) { () throws(Errno) in
            do throws(Errno) {
                guard let scratch else {
                    try system.unlink(root, path.bytes)
                    return true
                }
                let temporary = scratch.nextPath()
                try move(path, temporary, isOwn: false)
                try? system.unlink(root, temporary.bytes)
                return true
            } catch let error where error == .missing {
                return false
            }
        }
    }

    /// Moves an operation to another row or name. Returns false if the operation is no longer there.
    private func replace(_ entry: Entry, by result: Entry, _ verb: String) throws(SpoolError) -> Bool {
        let path = QueuePath(entry.path)
        if result == entry { return try status(path, verb) != nil }
        return try moveIfThere(path, QueuePath(result.path), verb)
    }

    /// Moves a file that may be gone, under the names lock, then syncs.
    func moveIfThere(_ from: QueuePath, _ to: QueuePath, _ verb: String) throws(SpoolError) -> Bool {
        let isMoved = try withNamesLock { () throws(SpoolError) in
            try attempt(verb, from) { () throws(Errno) in
                do throws(Errno) {
                    try move(from, to, isOwn: false)
                    return true
                } catch let error where error == .missing {
                    return false
                }
            }
        }
        if isMoved { try syncAfterMove(from: from.parent, to: to.parent) }
        return isMoved
    }

    /// Syncs the target first: after a power cut a file is in two places rather than in none. Within `withSharedSyncs`
    /// postpones both.
    func syncAfterMove(from source: QueuePath, to target: QueuePath? = nil) throws(SpoolError) {
        if deferredSyncs != nil {
            if let target { deferredSyncs?.withAdditions.insert(target) }
            deferredSyncs?.withRemovals.insert(source)
            return
        }
        if let target { try syncDirectory(target) }
        if source != target { try syncDirectory(source) }
        AdmissionRecord.noteRemovals(in: self)
    }

    func removeReason(_ item: QuarantineItem) {
        try? system.unlink(root, item.reasonPath.bytes)
    }
}
