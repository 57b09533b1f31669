import CSystem
package import Policy

/// The operator's commands on operations. Each has the names lock, so of two commands one finds what the other has
/// made, and no other process gives a file another content. Each is a single rename, and the name is there or not: a
/// run that was faster wins, and the result says so. The caller has asked which command an operation of this state
/// takes (`OperatorAction.objection`): no command moves a claim, or an operation into a row not named by the command.
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

    /// Row X → W → N: retries a dead letter as an operation created now, so that it is the newest of its sequence. The
    /// two files change places as a committed batch: after a crash there is one of them, or the next process completes
    /// the change. Records its time of creation for the processes that add. Returns `nil` if the dead letter is no
    /// longer there, or no operation.
    package func retryAsNewest(
        _ entry: Entry, within control: inout AdmissionControl, now: Timestamp, notBefore: Timestamp? = nil
    ) throws(SpoolError) -> Entry? {
        try withNamesLock { () throws(SpoolError) in
            guard case .success(let old)? = try portable(entry) else { return nil }
            var renewed = Operation(header: old.header, body: old.body, attempts: old.attempts)
            let place = Entry(state: entry.state, name: renewed.nameWithoutRecords(entry.name))
            renewed.attempts = []
            renewed.header.edited?.attempts = 0
            var submission = Submission(
                renewed, as: Self.retried(place, now, notBefore).name, hasOwnID: true, at: now, isDated: false)
            submission.useSubmissionTime()
            var isDone = false
            defer { control.endBatch(isDone: isDone, in: self) }
            try control.beginBatch(self, [submission], allOrNone: true)
            let file = try control.takeBack(&submission, self)
            try control.recordBatch(in: self)
            _ = try publish([file], durable: true, allOrNone: true, insteadOf: QueuePath(entry.path))
            if !control.needsLock { AdmissionRecord.invalidate(in: self) }
            isDone = true
            try syncAfterMove(from: entry.state.path)
            return file.entry
        }
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

    /// Any row but C → gone, for an operation that stays under another name. Returns false if it is no longer there.
    package func drop(_ entry: Entry) throws(SpoolError) -> Bool { try drop(entry, having: nil, at: nil) == .done }

    /// Any row but C → gone. With `saved` drops the operation only if its file has these bytes. `now` is `nil` if the
    /// operation stays under another name.
    package func drop(_ entry: Entry, having saved: Fingerprint?, at now: Timestamp?) throws(SpoolError) -> Dropped {
        let ending = now.map { LogEvent.ending(.dropped, of: entry.name, at: $0) }
        let dropped = try dropByWayOfScratch(QueuePath(entry.path), saved, ending)
        guard dropped == .done else { return dropped }
        if entry.state == .quarantine { removeReason(QuarantineItem(fileName: entry.name.description)) }
        try syncAfterMove(from: entry.state.path)
        return .done
    }

    /// Row Q → gone. `now` is `nil` if the operation stays under another name. Returns false if the file is no longer
    /// there.
    package func drop(_ item: QuarantineItem, at now: Timestamp? = nil) throws(SpoolError) -> Bool {
        if try status(item.path, "drop")?.kind == .directory {
            removeFiles(in: item.path, keepingLock: false)
            try attempt("drop", item.path) { () throws(Errno) in try system.removeDirectory(root, item.path.bytes) }
        } else {
            let ending = item.name.flatMap { name in now.map { LogEvent.ending(.dropped, of: name, at: $0) } }
            guard try dropByWayOfScratch(item.path, nil, ending) == .done else { return false }
        }
        removeReason(item)
        try syncAfterMove(from: QueueState.quarantine.path)
        return true
    }

    /// Drops a file through a scratch directory of its own, or within `withSharedSyncs` through the shared directory.
    private func dropByWayOfScratch(
        _ path: QueuePath, _ saved: Fingerprint?, _ ending: LogEvent?
    ) throws(SpoolError) -> Dropped {
        try withNamesLock { () throws(SpoolError) in
            // Before the file goes, and so before the lock is free: no adder evicts an operation without need.
            AdmissionRecord.noteRemovals(in: self)
            if let sharedScratch {
                do throws(SpoolError) {
                    return try drop(path, having: saved, sharedScratch, ending: ending)
                } catch let error where error.isFullDisk {
                    return try drop(path, having: saved, nil, ending: ending)
                }
            }
            let scratch = try scratchUnlessFull()
            if deferredSyncs != nil { sharedScratch = scratch }
            defer { if sharedScratch == nil { scratch?.close() } }
            return try drop(path, having: saved, scratch, ending: ending)
        }
    }

    /// Returns `nil` if the disk is full: an operator drops operations then.
    private func scratchUnlessFull() throws(SpoolError) -> ScratchDirectory? {
        do throws(SpoolError) { return try ScratchDirectory(self) } catch let error where error.isFullDisk {
            return nil
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
