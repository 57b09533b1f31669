import CSystem
package import Policy

/// What a person does with operations. Each is one rename of a name that is there or not: a run that was faster wins,
/// and the answer says so.
extension SpoolDirectory {
    /// Does what a person asks for many operations, and makes all of it durable when `body` has returned: a directory is
    /// synced once, and not for each of them, and the names lock is kept from one to the next. An error that is thrown
    /// means that none of it is promised.
    package func together(_ body: () -> Void) throws(SpoolError) {
        postponed = ([], [])
        body()
        giveNamesBack()
        sharedScratch?.close()
        sharedScratch = nil
        let (gained, lost) = postponed ?? ([], [])
        postponed = nil
        for directory in Array(gained) + lost.subtracting(gained) { try syncDirectory(directory) }
    }

    /// Row X, D, N or K → D or N: tried again with all its attempts, as soon as a run comes.
    ///
    /// What has been attempted goes to `deferred/`, due now, so that its name tells it from what never was; the rest to
    /// `new/`. A hold of its own ends. `nil` if it is no longer there, or is being attempted.
    ///
    /// With a `notBefore` that is still to come it goes to `new/` and waits for that, however far away: a due time would
    /// count as past where it is further away than the schedule could have set it.
    package func retry(_ entry: Entry, now: Timestamp, notBefore: Timestamp? = nil) throws(SpoolError) -> Entry? {
        guard entry.state != .claimed else { return nil }
        let result = Self.retried(entry, now, notBefore)
        guard try replace(entry, by: result, "retry") else { return nil }
        if entry.state == .quarantine { removeReason(QuarantineItem(fileName: entry.name.description)) }
        return result
    }

    /// Where an operation is, and under which name, once it has been retried.
    static func retried(_ entry: Entry, _ now: Timestamp, _ notBefore: Timestamp?) -> Entry {
        let wait = notBefore.flatMap { $0 > now ? EntryName.Gate.notBefore($0) : nil }
        let wasAttempted =
            entry.state != .new && (entry.state != .quarantine || QueueState.home(of: entry.name) == .deferred)
            && wait == nil
        var name = entry.name
        name.attempts = 0
        name.interruptions = 0
        name.isHeld = false
        name.gate = wait ?? (wasAttempted ? .due(now) : .open)
        return Entry(state: wasAttempted ? .deferred : .new, name: name.asWritten)
    }

    /// Row N or D → the same row, held by itself until it is released. `nil` if it is no longer there, is being
    /// attempted, or does not wait at all.
    package func hold(_ entry: Entry) throws(SpoolError) -> Entry? {
        guard entry.state == .new || entry.state == .deferred else { return nil }
        var result = entry
        result.name.isHeld = true
        return try replace(entry, by: result, "hold") ? result : nil
    }

    /// Row N or D → the same row, not held any more, and with all its attempts: a person says that it is to be sent.
    ///
    /// It is due now, unless it was never attempted and asked itself not to be sent before a time. What is not held
    /// comes back as it is; `nil` if it is no longer there, is being attempted, or does not wait at all.
    package func release(_ entry: Entry, now: Timestamp) throws(SpoolError) -> Entry? {
        guard entry.state == .new || entry.state == .deferred else { return nil }
        guard entry.name.isHeld else { return try replace(entry, by: entry, "release") ? entry : nil }
        var name = entry.name
        name.isHeld = false
        name.attempts = 0
        name.interruptions = 0
        switch (entry.state, name.gate) {
        case (.deferred, _): name.gate = .due(now)
        case (_, .due): name.gate = .open
        case (_, .open), (_, .notBefore): break
        }
        let result = Entry(state: entry.state, name: name.asWritten)
        return try replace(entry, by: result, "release") ? result : nil
    }

    /// Any row but C → gone. False if it is no longer there, or is being attempted.
    package func drop(_ entry: Entry) throws(SpoolError) -> Bool {
        guard entry.state != .claimed else { return false }
        guard try dropByWayOfScratch(QueuePath(entry.path)) else { return false }
        if entry.state == .quarantine { removeReason(QuarantineItem(fileName: entry.name.description)) }
        try syncAfterMove(from: entry.state.path)
        return true
    }

    /// Row Q → gone.
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

    /// Row X, K or Q → gone, for files that came to their state before `limit`. Returns how many; what still waits is
    /// never removed by age, so for other states it is none.
    package func prune(_ state: QueueState, olderThan limit: Timestamp) throws(SpoolError) -> Int {
        switch state {
        case .new, .deferred, .claimed: return 0
        case .failed, .quarantine, .delivered: break
        }
        var old: [QueuePath] = []
        for name in try names(in: state.path) {
            let path = QueuePath(in: state.path, name)
            if let status = try status(path, "look at"), status.kind == .regular, status.changedAt < limit {
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

    /// Drops by way of a scratch directory of its own, or within `together` of the one for all.
    private func dropByWayOfScratch(_ path: QueuePath) throws(SpoolError) -> Bool {
        if let sharedScratch {
            do throws(SpoolError) { return try drop(path, sharedScratch) } catch let error where error.isFullDisk {
                return try drop(path, nil)
            }
        }
        let scratch = try scratchUnlessFull()
        if postponed != nil { sharedScratch = scratch }
        defer { if sharedScratch == nil { scratch?.close() } }
        return try drop(path, scratch)
    }

    /// `nil` where the disk is full: dropping is what a person does then.
    private func scratchUnlessFull() throws(SpoolError) -> ScratchDirectory? {
        do throws(SpoolError) { return try ScratchDirectory(self) } catch let error where error.isFullDisk {
            return nil
        }
    }

    /// By way of row W: the rename decides against a run; what cannot be unlinked then, or after a crash, is swept.
    /// Without a scratch the unlink decides.
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

    /// Gives an operation another row or name, if it is still there.
    private func replace(_ entry: Entry, by result: Entry, _ verb: String) throws(SpoolError) -> Bool {
        let path = QueuePath(entry.path)
        if result == entry { return try status(path, verb) != nil }
        return try moveIfThere(path, QueuePath(result.path), verb)
    }

    /// Moves a file that may be gone, under the names lock; the sync comes after it.
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

    /// The target first, so that after a power cut there is a file in two places rather than in none.
    func syncAfterMove(from source: QueuePath, to target: QueuePath? = nil) throws(SpoolError) {
        if postponed != nil {
            if let target { postponed?.gained.insert(target) }
            postponed?.lost.insert(source)
            return
        }
        if let target { try syncDirectory(target) }
        if source != target { try syncDirectory(source) }
    }

    func removeReason(_ item: QuarantineItem) {
        try? system.unlink(root, item.reasonPath.bytes)
    }
}
