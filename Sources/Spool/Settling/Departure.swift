import CSystem
package import Policy

/// The one door out of the queue. A file leaves the directories of `QueueState` through `SpoolDirectory.depart`, with
/// the evidence for its departure. Only the observation that justifies a departure makes the evidence, and each value
/// is used once. The door leaves the ending of an operation in the log before its file goes.
///
/// | the file goes as | evidence | made by | held by |
/// |---|---|---|---|
/// | delivered | `Delivery` | the `Receipt` of an answer to a request that carried this very file, or the mark that a dead run left of it | type; that each claim of the request is marked before the first file call: `SpoolRun.receipt` |
/// | superseded | `Replacement` | `Successor`: the newer operation was opened and may be sent, on a route where it replaces the older one | type |
/// | dropped | `OperatorDecision` | an operator's command that has the names lock and has found the file, with the saved bytes if they were saved | type |
/// | evicted | `Eviction` | an admission that has the names lock, and counts no room with the operation at this moment | type |
/// | refused | `Refusal` | the answer that `send` has given to its submitter | type |
/// | second name | `SecondName` | the file has another name, which stays | type |
/// | past its retention | `RetentionEnd` | the search for old copies and dead letters, which has asked for the file's age | type |
/// | withdrawn | `Withdrawal` | an addition that has failed: it has named the file itself, and promises nothing | type |
/// | sent again | `Claim` | a claim, or the names lock and the file in row X or Q (`SpoolDirectory.retry`, `publish`) | law: `nothing leaves the queue beside its one door` |
/// | expired | a settlement of the claim (`Settlement.decide(onExpiryOf:)`), which is a move to row X | law, as above |
/// | gone on | the move to row X of what a sequence leaves behind (`Settling.release`), synced before its successor is sent (`SyncPace`) | law, as above |
///
/// A move between the six directories ends no operation. The law names each file that moves or removes files, and how
/// many calls it has.
package enum Departure: ~Copyable {
    case delivered(Delivery)
    case superseded(Replacement)
    case dropped(OperatorDecision)
    case evicted(Eviction)
    case refused(Refusal)
    case secondName(SecondName)
    case pastRetention(RetentionEnd)
    case withdrawn(Withdrawal)

    /// The files that leave.
    fileprivate var files: [DepartingFile] {
        switch self {
        case .delivered(let delivery): [delivery.file]
        case .superseded(let replacement): [replacement.file]
        case .dropped(let decision): [decision.file]
        case .evicted(let eviction): eviction.files
        case .refused(let refusal): [refusal.file]
        case .secondName(let name): [DepartingFile(path: name.path)]
        case .pastRetention(let end): [end.file]
        case .withdrawn(let withdrawal): [DepartingFile(path: withdrawal.path)]
        }
    }
}

/// A file that leaves, and what ends its operation; `nil` if the operation stays under another name.
final class DepartingFile {
    let path: QueuePath
    let ending: LogEvent?
    /// Only its run moves a claim: a missing file was removed by a call whose answer was lost (NFS). A claim that the
    /// system does not remove is tried once more.
    let isClaimed: Bool

    init(path: QueuePath, ending: LogEvent? = nil, isClaimed: Bool = false) {
        (self.path, self.ending, self.isClaimed) = (path, ending, isClaimed)
    }

    convenience init(_ claim: Claim, _ ending: LogEvent? = nil) {
        self.init(path: claim.path, ending: ending, isClaimed: true)
    }
}

extension SpoolDirectory {
    /// Any row → gone. Returns false if a file is no longer there.
    ///
    /// With a scratch directory the rename into it decides against a run (row W), and a file left by a failed unlink or
    /// a crash is swept. Without one the unlink decides. With `batch` commits the removal of all files first.
    func depart(
        _ verb: String, _ departure: consuming Departure, by scratch: ScratchDirectory? = nil,
        as batch: CommittedBatch? = nil
    ) throws(SpoolError) -> Bool {
        let files = departure.files
        noteEndings(files.compactMap(\.ending))
        var staying = files
        defer { takeBackEndings(staying.compactMap(\.ending)) }
        try batch?.commit([], insteadOf: files.map(\.path), durable: true)
        for file in files where try remove(file, verb, scratch) || file.isClaimed { staying.removeAll { $0 === file } }
        return staying.isEmpty
    }

    private func remove(
        _ file: DepartingFile, _ verb: String, _ scratch: ScratchDirectory?
    ) throws(SpoolError) -> Bool {
        do throws(SpoolError) { return try remove(file.path, verb, scratch) } catch {
            if !file.isClaimed { throw error }
            return try remove(file.path, verb, scratch)
        }
    }

    private func remove(
        _ path: QueuePath, _ verb: String, _ scratch: ScratchDirectory?
    ) throws(SpoolError) -> Bool {
        try attempt(verb, path) { () throws(Errno) in
            do throws(Errno) {
                guard let scratch else {
                    let place = openDirectories.place(of: path)
                    try system.unlink(place.directory, place.name.bytes)
                    return true
                }
                let temporary = scratch.nextPath()
                do throws(Errno) { try move(path, temporary, isOwn: false) } catch {
                    // Only this process has the target's path.
                    guard error != .missing, try exists(temporary) else { throw error }
                }
                try? system.unlink(root, temporary.bytes)
                return true
            } catch let error where error == .missing {
                return false
            }
        }
    }
}

// MARK: - Superseded

/// A newer operation that has been opened and may be sent, or was sent by this process.
package struct Successor: Hashable, Sendable {
    package let name: EntryName
    /// Whether the operation is being sent, or was: its `notBefore` keeps no older operation from going any more.
    private let isSent: Bool

    fileprivate init(name: EntryName, isSent: Bool) { (self.name, self.isSent) = (name, isSent) }

    /// Whether this operation replaces an older one, by the rule of its route.
    func replaces(_ older: EntryName, by rule: ReplacementRule) -> Bool {
        rule.replaces(name, older, isSent: isSent)
    }

    /// Returns the event of an older operation that this one replaces; `nil` if it does not.
    fileprivate func ending(of older: EntryName, by rule: ReplacementRule, at now: Timestamp) -> LogEvent? {
        guard replaces(older, by: rule) else { return nil }
        return .ending(.superseded, of: older, cause: name.id.description, at: now)
    }
}

/// The evidence that a newer operation replaces an older one.
package struct Replacement: ~Copyable {
    fileprivate let file: DepartingFile

    fileprivate init(of file: DepartingFile) { self.file = file }
}

extension SpoolDirectory {
    /// Opens an operation. Returns `nil` if the operation is no longer there, or if a run would not send it: its file
    /// is none, it has expired, or its body file is not there.
    package func successor(_ newer: Entry, _ rule: ReplacementRule) throws(SpoolError) -> Successor? {
        guard case .operation(let stored) = try readAsRun(newer), mayBeSent(stored.operation, by: rule) else {
            return nil
        }
        return Successor(name: newer.name, isSent: false)
    }

    /// Finds and opens an operation that waits. An operation in flight replaces nothing: its server may refuse it, and
    /// then `send` keeps nothing of it. Returns `nil` also if the file cannot be read: the run that attempts it reports
    /// the error.
    package func successor(named name: EntryName, _ rule: ReplacementRule) -> Successor? {
        do throws(SpoolError) {
            if let waiting = try successor(Entry(state: .home(of: name), name: name), rule) { return waiting }
            guard let moved = try find([name.id])[name.id], moved.state == .new || moved.state == .deferred else {
                return nil
            }
            return try successor(moved, rule)
        } catch {
            return nil
        }
    }

    /// Row N, D, X, Q → gone: removes an older value. Returns false if the value is no longer there, if `newer` does
    /// not replace it, if it is no regular file, or if the file is another user's, who gave it its name. The caller has
    /// the names lock, and syncs.
    func supersede(
        _ older: Entry, by newer: Successor, _ rule: ReplacementRule, _ scratch: ScratchDirectory?, at now: Timestamp
    ) throws(SpoolError) -> Bool {
        let path = QueuePath(older.path)
        guard let ending = newer.ending(of: older.name, by: rule, at: now), let status = try status(path, "look at"),
            status.kind == .regular,
            try attempt(
                "look at", path,
                { () throws(Errno) in
                    if older.name.isInput { true } else { try knowsOwner(of: status) }
                })
        else { return false }
        try removeNamesOfDeadRuns(of: path)
        let file = DepartingFile(path: path, ending: ending)
        return try depart("remove", .superseded(Replacement(of: file)), by: scratch)
    }

    /// Row X, Q → gone, and row N, D if the newer value was sent before its time: removes the older values of a key
    /// whose newer value is delivered, durably, while the newer one is still claimed. After a crash in between the
    /// newer value is sent again, and they go then. Lists the directories under the names lock: no operator's command
    /// brings a value back meanwhile.
    package func supersedeDeadLetters(
        by newer: Successor, _ rule: ReplacementRule, patience: Duration, at now: Timestamp
    ) throws(SpoolError) -> [Entry] {
        try withNamesLock(patience: patience) { () throws(SpoolError) in
            var removed: [Entry] = []
            for entry in try superseded(by: newer, rule) where try supersede(entry, by: newer, rule, nil, at: now) {
                if entry.state == .quarantine { removeReason(QuarantineItem(fileName: entry.name.description)) }
                removed.append(entry)
            }
            for state in Set(removed.map(\.state)) { try syncDirectory(state.path) }
            return removed
        }
    }
}

extension SpoolRun {
    /// Returns a claimed operation as the successor of older ones: it was read before it was sent.
    package func successor(sent claim: Claim) -> Successor { Successor(name: claim.name, isSent: true) }

    /// Returns why a claimed file can be no operation: it is no regular file. Returns `nil` if it may be one.
    package func objection(to claim: Claim) throws(SpoolError) -> String? {
        try queue.status(claim.path, "look at")?.kind.reason
    }

    /// Row C → gone: removes a claimed value that a waiting one replaces, durable after `sync`. Opens the newer one
    /// under the names lock: no operator's command takes it away meanwhile. Returns false also while another process
    /// has the lock.
    package func supersede(
        _ claim: Claim, byWaiting newer: EntryName, _ rule: ReplacementRule, patience: Duration, at now: Timestamp
    ) throws(SpoolError) -> Bool {
        do throws(SpoolError) {
            return try queue.withNamesLock(patience: patience) { () throws(SpoolError) in
                guard let newer = queue.successor(named: newer, rule) else { return false }
                return try supersede(claim, by: newer, rule, at: now)
            }
        } catch let error where error.isLocked {
            return false
        }
    }

    /// Row C → gone: removes a claimed value that a newer one replaces, durable after `sync`, and first the names that
    /// an interrupted move has left. Returns false, and ends nothing, if the newer one does not replace the value, or
    /// if another run has a claim on the file, too: its recovery would bring the file back.
    package func supersede(
        _ claim: Claim, by newer: Successor, _ rule: ReplacementRule, at now: Timestamp
    ) throws(SpoolError) -> Bool {
        guard let ending = newer.ending(of: claim.name, by: rule, at: now) else { return false }
        try confirm()
        guard try removeOtherNames(of: claim) != nil else { return false }
        _ = try queue.depart("remove", .superseded(Replacement(of: DepartingFile(claim, ending))))
        noteRemoval(in: directory.path)
        forget(claim)
        return true
    }
}

// MARK: - Dropped

/// The evidence that an operator wants a file gone: a command has the names lock, so no other process gives the file
/// another content, and has found the file.
package struct OperatorDecision: ~Copyable {
    fileprivate let file: DepartingFile

    fileprivate init(on file: DepartingFile) { self.file = file }
}

extension SpoolDirectory {
    /// Any row but C → gone, as an operator decides. With `saved` drops the file only if it has these bytes. The caller
    /// has the names lock. `ending` is `nil` if the operation stays under another name.
    func drop(
        _ path: QueuePath, having saved: Fingerprint?, _ scratch: ScratchDirectory?, ending: LogEvent?
    ) throws(SpoolError) -> Dropped {
        if let saved {
            let found = try attempt("read", path) { () throws(Errno) in try content(path, limit: Self.readLimit) }
            switch found {
            case .missing: return .isGone
            case .bytes(let bytes, _) where Fingerprint(of: bytes) == saved: break
            case .bytes, .notAFile, .tooLong: return .hasChanged
            }
        }
        try removeNamesOfDeadRuns(of: path)
        let decision = OperatorDecision(on: DepartingFile(path: path, ending: ending))
        return try depart("drop", .dropped(decision), by: scratch) ? .done : .isGone
    }

    /// The result of an operator's drop.
    package enum Dropped: Hashable, Sendable {
        case done
        /// The file is no longer there.
        case isGone
        /// The file has other bytes than were saved: another operation has taken its place.
        case hasChanged
    }
}

// MARK: - Evicted

/// The evidence that waiting operations make room: an admission that has the names lock counts the queue with them, and
/// there is no room. The operations of a key that is one request go together.
package struct Eviction: ~Copyable {
    fileprivate let entries: [Entry]
    private let at: Timestamp
    fileprivate var files: [DepartingFile] = []

    fileprivate init(of entries: [Entry], at now: Timestamp) { (self.entries, at) = (entries, now) }

    fileprivate mutating func add(_ claim: Claim) {
        files.append(DepartingFile(claim, .ending(.evicted, of: claim.name, at: at)))
    }
}

extension AdmissionControl {
    /// Counts proposed operations out, and returns the evidence that they make room; `nil` if there is room by now.
    mutating func eviction(of victim: RemovalCandidates.Victim) -> Eviction? {
        countOut(victim) ? Eviction(of: victim.parts.map(\.entry), at: now) : nil
    }
}

extension SpoolRun {
    /// Row N, D → C → gone, for all operations of an eviction, or for none: puts them back if another run has one of
    /// them. Second names in row C of dead runs go first. Returns whether they are gone. Several leave as a committed
    /// batch: after a crash all of the claims come back, or the next process removes the rest. If the system refuses a
    /// removal, the rest comes back. The caller has the names lock.
    func evict(_ eviction: consuming Eviction) throws(SpoolError) -> Bool {
        var eviction = eviction
        var claims: [Claim] = []
        for entry in eviction.entries {
            try queue.removeNamesOfDeadRuns(of: QueuePath(entry.path))
            guard let claim = try claim(entry) else {
                for claim in claims { try putBack(claim) }
                return false
            }
            claims.append(claim)
            eviction.add(claim)
        }
        let scratch = claims.count > 1 ? try ScratchDirectory(in: self) : nil
        let batch = scratch.map { CommittedBatch(in: $0.path, queue) }
        defer {
            batch?.withdraw()
            scratch?.close()
        }
        _ = try queue.depart("drop", .evicted(eviction), as: batch)
        noteRemoval(in: directory.path)
        for claim in claims { forget(claim) }
        return true
    }
}

// MARK: - Refused

/// The evidence that `send` has told the submitter of a refused operation, which stays with the submitter.
package struct Refusal: ~Copyable {
    fileprivate let file: DepartingFile

    fileprivate init(of file: DepartingFile) { self.file = file }
}

extension SpoolRun {
    /// Row C → gone: removes the failed operation of `send`, durable after `sync`, and ends its mark. Its submitter has
    /// been told. If the process dies before, or after an error, recovery moves the operation to row X, and tells of
    /// it.
    package func refuse(_ claim: Claim, because cause: String?, at now: Timestamp) throws(SpoolError) {
        try confirm()
        let file = DepartingFile(claim, .ending(.failed, of: claim.name, cause: cause, at: now))
        _ = try queue.depart("remove", .refused(Refusal(of: file)))
        noteRemoval(in: directory.path)
        unmark(claim)
    }
}

// MARK: - Second names

/// The evidence that an operation has another file or name, which stays: an interrupted move, or a later generation,
/// whose history is at least as long.
package struct SecondName: ~Copyable {
    fileprivate let path: QueuePath

    fileprivate init(path: QueuePath) { self.path = path }
}

extension SpoolDirectory {
    /// Any row → gone, for one of two names of a file. Returns false if they are not two names of one file.
    func removeSecondName(_ path: QueuePath, beside staying: QueuePath) throws(SpoolError) -> Bool {
        guard path != staying, let status = try status(path, "look at"), status.links > 1,
            try self.status(staying, "look at")?.isSameFile(as: status) == true
        else { return false }
        return try depart("remove", .secondName(SecondName(path: path)))
    }

    /// Any row → gone, for one of two files of an operation, or one of two names of a file. Returns false if the other
    /// has another operation, or is not there. Neither file is another process's to move.
    func removeGeneration(
        _ path: QueuePath, named name: EntryName, beside staying: Entry
    ) throws(SpoolError) -> Bool {
        guard path != QueuePath(staying.path), case .operation(let kept)? = try read(staying),
            case .operation(let stored)? = try read(path, name: name, limit: Self.readLimit),
            stored.operation.header == kept.operation.header, stored.operation.body == kept.operation.body,
            // One file with one name has moved between the two reads.
            stored.status.links > 1 || !stored.status.isSameFile(as: kept.status)
        else { return false }
        return try depart("remove", .secondName(SecondName(path: path)))
    }
}
