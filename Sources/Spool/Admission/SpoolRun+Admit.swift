import CSystem
package import Policy

/// Admission of foreign files, which other programs have put into `new/`.
extension SpoolRun {
    /// Upper bound on the files for a single call of `admitForeign`. Keeps memory and time independent of their number.
    package static let admissionSize = 10_000

    /// Row F → N or Q: reads the files in `new/` without a canonical name, and the files of another user, once each; no
    /// more than `admissionSize` of them.
    ///
    /// Claims a foreign file (F → C), replaces it in `claimed/` by a copy in an inode of drainq's own, since its
    /// submitter may still have the file open (C → C, one rename), and moves the copy to `new/` under its canonical
    /// name (C → N). There is one file and one name at any moment, so the file is neither lost nor published twice,
    /// whatever dies. The copy is synced before it replaces the file, and `claimed/<run>/` before the copy leaves it. A
    /// claim of a dead run comes back to `new/` under another name, the file or the copy (`returnForeign`), and is
    /// admitted like any foreign file: an id that another process has added meanwhile is there once.
    ///
    /// Reports errors of the system in `errors`; they put nothing into quarantine. No limit keeps a file from its name.
    ///
    /// Asks `now` for each batch anew, once no other process dates an operation: what another process has added since
    /// this process began is not from the future.
    ///
    /// Any user who may write to `new/` may submit. But only an owner that `knowsOwner` accepts may name a body file,
    /// which must be in one of the configuration's directories: another user could have a file sent without permission
    /// to read the file.
    package func admitForeign(
        now clock: @autoclosure () -> Timestamp, within control: inout AdmissionControl
    ) throws(SpoolError) -> Admission {
        try confirm()
        let now = clock()
        var admission = Admission()
        try syncRunDirectory()
        var rest: ArraySlice<[UInt8]>?
        var last = Timestamp(microseconds: -1)
        while rest?.isEmpty != true {
            // From the listing of a file, or its claim, to its name nobody else decides an order or adds an id. While
            // the lock is free another run may claim a listed file: the caller lists again (`hasMore`).
            try queue.withNamesLock { () throws(SpoolError) in
                var names: ArraySlice<[UInt8]>
                if let rest { names = rest } else { names = inOrder(try listed(&admission), now, &admission)[...] }
                admit(
                    readSome(of: &names, &admission, &last, now, control.rule.configuration), &admission,
                    within: &control, clock)
                rest = names
                // The lock is released only when ids and names are durable.
                try sync()
            }
        }
        return admission
    }

    /// Returns the names of the files for one call.
    private func listed(_ admission: inout Admission) throws(SpoolError) -> [[UInt8]] {
        var foreign = try queue.foreignNames(atMost: Self.admissionSize + 1)
        if foreign.count > Self.admissionSize {
            foreign.removeLast()
            admission.hasMore = true
        }
        return foreign
    }

    /// Claims and reads the next files, as many as share one admission.
    private func readSome(
        of rest: inout ArraySlice<[UInt8]>, _ admission: inout Admission, _ last: inout Timestamp, _ now: Timestamp,
        _ configuration: Configuration
    ) -> [ForeignFile] {
        var batch: [ForeignFile] = []
        var bytes = 0
        while batch.count < 1024, bytes <= 64 << 20, let name = rest.first {
            let at = now + .microseconds(rest.startIndex)
            rest.removeFirst()
            guard var file = read(name, &admission, at, configuration) else { continue }
            file.submission.follow(&last)
            batch.append(file)
            bytes += file.submission.operation.body.count
        }
        return batch
    }

    /// Returns the names of foreign files in the order in which the files were written, whatever the order of the
    /// directory. If the times are equal, as the times of files written within a few milliseconds may be, the names
    /// decide. If the system does not let this run look at a file, leaves the file to the next admission: nothing says
    /// when the file was written, and its name would put the file behind newer files.
    private func inOrder(_ names: [[UInt8]], _ now: Timestamp, _ admission: inout Admission) -> [[UInt8]] {
        var files: [(created: Timestamp, written: Int64, name: [UInt8])] = []
        for name in names {
            let path = QueuePath(in: QueueState.new.path, name)
            do throws(Errno) {
                let status = try queue.system.statusAt(queue.root, path.bytes)
                files.append((status.creation(at: now), status.modifiedNanoseconds, name))
            } catch {
                if error != .missing { admission.errors.append(SpoolError(error, "look at", path)) }
            }
        }
        let sorted = files.sorted {
            if ($0.created, $0.written) != ($1.created, $1.written) {
                return ($0.created, $0.written) < ($1.created, $1.written)
            }
            return $0.name.lexicographicallyPrecedes($1.name)
        }
        return sorted.map(\.name)
    }

    /// A foreign file that has been claimed and read.
    private struct ForeignFile {
        var originalName: [UInt8]
        var claim: QueuePath
        var submission: Submission
    }

    private static let admittingPrefix = "admitting-"

    func newAdmittingName() -> String {
        var generator = queue.system.generator
        return Self.admittingPrefix + OperationID.random(using: &generator).description
    }

    static func isAdmittingName(_ name: some Collection<UInt8>) -> Bool {
        name.starts(with: admittingPrefix.utf8)
    }

    /// Claims and reads a file. Returns `nil` if the file went elsewhere; the admission says where.
    private func read(
        _ name: [UInt8], _ admission: inout Admission, _ now: Timestamp, _ configuration: Configuration
    ) -> ForeignFile? {
        let from = QueuePath(in: QueueState.new.path, name)
        let claim = QueuePath(in: directory.path, newAdmittingName().utf8)
        do throws(SpoolError) {
            let isThere = try queue.attempt("claim", from) { () throws(Errno) in
                do throws(Errno) {
                    try queue.system.rename(queue.root, from.bytes, queue.root, claim.bytes)
                    return true
                } catch {
                    if try queue.exists(claim) { return true }
                    if error == .missing { return false }
                    throw error
                }
            }
            guard isThere else {
                admission.hasMore = true
                return nil
            }
            noteRemoval(in: QueueState.new.path)
        } catch {
            if error.kind != .permission || !setAside(from, name, &admission, now) { admission.errors.append(error) }
            return nil
        }
        do throws(Errno) {
            if let canonical = name.withUnsafeBufferPointer({ EntryName($0) }) {
                let status = try queue.system.statusAt(queue.root, claim.bytes)
                if try queue.knowsOwner(of: status) {
                    // The file is drainq's own: the listing could not look at the file.
                    putBack(claim, name, &admission)
                } else {
                    let reason = Self.strangers(status.owner)
                    try quarantine(claim, canonical, foreign: name, reason, &admission, now)
                }
                return nil
            }
            let limit = configuration.limits.operationBytes +| OperationFile.headerLimit
            let content = try readable(claim, limit)
            let reason: String
            switch content {
            case .missing: return nil
            case .notAFile(let why): reason = why
            case .tooLong(let size): reason = "it is too long: \(size) bytes, \(limit) are allowed"
            case .bytes(_, let status) where status.links > 1 && queue.isMoving(claim):
                putBack(claim, name, &admission)
                return nil
            case .bytes(let bytes, let status):
                let file = QueuePath.escaped(name)
                let roots = configuration.bodyFileRoots
                let mayBeCopy = Self.isAdmittingName(name)
                switch try queue.foreignOperation(in: bytes, status, file: file, now, roots, mayBeCopy: mayBeCopy) {
                case .success(let submission):
                    return ForeignFile(originalName: name, claim: claim, submission: submission)
                case .failure(let error): reason = error.detail
                }
            }
            try quarantine(claim, nil, foreign: name, reason, &admission, now)
        } catch {
            admission.errors.append(SpoolError(error, "read", from))
            putBack(claim, name, &admission)
        }
        return nil
    }

    /// Returns the content of a foreign file. A mode or a lease of another user that prevents the read is a defect of
    /// the file.
    private func readable(_ claim: QueuePath, _ limit: Int) throws(Errno) -> SpoolDirectory.Content {
        do throws(Errno) {
            return try queue.content(claim, limit: limit)
        } catch let error where error == .forbidden || error == .wouldBlock {
            let status = try queue.system.statusAt(queue.root, claim.bytes)
            if try queue.knowsOwner(of: status) { throw error }
            return .notAFile(reason: "it belongs to user \(status.owner) and cannot be read: \(error)")
        }
    }

    private func admit(
        _ batch: [ForeignFile], _ admission: inout Admission, within control: inout AdmissionControl,
        _ clock: () -> Timestamp
    ) {
        if batch.isEmpty { return }
        let ids = batch.filter(\.submission.hasOwnID).map(\.submission.header.id)
        var copies: Set<QueuePath> = []
        do throws(SpoolError) {
            try admit(batch, try queue.find(ids), &admission, within: &control, &copies, clock)
        } catch {
            admission.errors.append(error)
            for file in batch where !copies.contains(file.claim) { putBack(file.claim, file.originalName, &admission) }
        }
    }

    /// Lets in the files that may enter. An error leaves claims: unchanged files, and copies for the next run to
    /// recover.
    private func admit(
        _ batch: [ForeignFile], _ found: [OperationID: Entry], _ admission: inout Admission,
        within control: inout AdmissionControl, _ copies: inout Set<QueuePath>, _ clock: () -> Timestamp
    ) throws(SpoolError) {
        var isDone = false
        defer { control.endBatch(isDone: isDone, in: queue) }
        try control.beginBatch(queue, batch.map(\.submission), allOrNone: false)
        let now = clock()
        var seen: Set<OperationID> = []
        var pending: [(ForeignFile, IncomingFile)] = []
        for file in batch {
            let id = file.submission.header.id
            if found[id] != nil || seen.contains(id) {
                conflict(file, &admission, now)
                continue
            }
            var submission = file.submission
            submission.at = now + .microseconds(pending.count)
            switch try control.name(&submission, queue) {
            case .success(let incoming):
                seen.insert(id)
                pending.append((file, incoming))
            case .failure(let refusal):
                quarantine(file, submission.inputName, refusal.description, &admission, now)
            }
        }
        try control.recordBatch(in: queue)
        if !pending.isEmpty { try replace(pending, &admission, &copies, now) }
        var accepted = Accepted(results: [])
        isDone = queue.removeVictims(within: &control, &accepted)
        admission.evicted += accepted.evicted
        admission.superseded += accepted.superseded
        admission.errors += accepted.errors
    }

    /// Row C → C → N: puts drainq's copy in the place of each file, then gives the copy its canonical name.
    private func replace(
        _ files: [(ForeignFile, IncomingFile)], _ admission: inout Admission, _ claimedCopies: inout Set<QueuePath>,
        _ now: Timestamp
    ) throws(SpoolError) {
        let scratch = try ScratchDirectory(queue)
        defer { scratch.close() }
        let isGrouped = files.count >= SpoolDirectory.groupSize
        var copies: [QueuePath] = []
        for (_, incoming) in files {
            let copy = scratch.nextPath()
            try queue.attempt("accept into", incoming.entry.state.path) { () throws(Errno) in
                try queue.createFile(copy, incoming.bytes, durable: !isGrouped)
            }
            copies.append(copy)
        }
        if isGrouped {
            try queue.attempt("sync", QueuePath(".")) { () throws(Errno) in try queue.system.syncfs(queue.root) }
        }
        for ((file, _), copy) in zip(files, copies) {
            try queue.attempt("accept", file.claim) { () throws(Errno) in try queue.replace(copy, file.claim) }
            claimedCopies.insert(file.claim)
        }
        try queue.syncDirectory(directory.path)
        for (file, incoming) in files {
            do throws(Errno) {
                try queue.move(file.claim, QueuePath(incoming.entry.path))
                noteAddition(in: incoming.entry.state.path)
                noteRemoval(in: directory.path)
                admission.admitted.append(incoming.entry)
                admission.named[file.originalName] = incoming.entry.name.id
            } catch let error where error == .exists {
                conflict(file, &admission, now)
            } catch {
                // The copy stays claimed: the next run brings the copy to its row.
                admission.errors.append(SpoolError(error, "accept into", incoming.entry.state.path))
            }
        }
    }

    /// Puts a file whose id is taken into quarantine. Its name has no id there: nothing of the queue's order lacks it.
    private func conflict(_ file: ForeignFile, _ admission: inout Admission, _ now: Timestamp) {
        let id = file.submission.header.id
        quarantine(
            file, nil, "ids in conflict: an operation with the id '\(id)' is in the queue already",
            &admission, now)
    }

    private func quarantine(
        _ file: ForeignFile, _ name: EntryName?, _ reason: String, _ admission: inout Admission, _ now: Timestamp
    ) {
        do throws(Errno) {
            try quarantine(file.claim, name, foreign: file.originalName, reason, &admission, now)
        } catch {
            admission.errors.append(SpoolError(error, "quarantine", file.claim))
            putBack(file.claim, file.originalName, &admission)
        }
    }

    /// Row C → Q, durable with the next `sync`.
    private func quarantine(
        _ path: QueuePath, _ name: EntryName?, foreign original: some Collection<UInt8>, _ reason: String,
        _ admission: inout Admission, _ now: Timestamp
    ) throws(Errno) {
        var reading = Reading(.foreign)
        (reading.id, reading.createdAt) = (name?.id, name?.createdAt)
        admission.quarantined.append(
            try queue.quarantine(
                path, as: name, originalName: Array(original), reason: reason, source: "new",
                reading: name?.isInput ?? true ? reading : nil, isDurable: false, now))
        noteAddition(in: QueueState.quarantine.path)
        noteRemoval(in: path.parent)
    }

    /// Sets aside another user's directory or irregular file if the system does not let this user claim it: gives it a
    /// name in `new/` that listings skip. So the file is reported only once: an empty file in quarantine says where the
    /// file is. Returns false for any other file, or if the system refuses the rename too.
    private func setAside(
        _ path: QueuePath, _ name: [UInt8], _ admission: inout Admission, _ now: Timestamp
    ) -> Bool {
        let aside = QueuePath("new/.\(newAdmittingName())")
        let placeholder = QueuePath(in: directory.path, newAdmittingName().utf8)
        do throws(Errno) {
            let status = try queue.system.statusAt(queue.root, path.bytes)
            let isKnown = try queue.knowsOwner(of: status)
            guard status.kind != .regular, !isKnown else { return false }
            try queue.system.renameNoReplace(queue.root, path.bytes, aside.bytes)
            try queue.createFile(placeholder, [], durable: false)
            let reason =
                "it is \(status.kind.words) that only user \(status.owner) can move: it is '\(aside.description)' now"
            try quarantine(placeholder, nil, foreign: name, reason, &admission, now)
            return true
        } catch {
            return false
        }
    }

    /// Returns why another user's file is no operation although its name is canonical.
    static func strangers(_ owner: UInt32) -> String {
        "it belongs to user \(owner), not to the queue's owner, root or the user that runs drainq"
    }

    /// Row C → F, for a file not replaced by a copy. If the file cannot be put back, the next run recovers it.
    private func putBack(_ claim: QueuePath, _ name: [UInt8], _ admission: inout Admission) {
        do throws(Errno) {
            guard try queue.exists(claim) else { return }
            try queue.move(claim, QueuePath(in: QueueState.new.path, name))
            noteAddition(in: QueueState.new.path)
            noteRemoval(in: directory.path)
        } catch {
            admission.errors.append(SpoolError(error, "put back", claim))
        }
    }
}

/// The result of `admitForeign`.
package struct Admission: Hashable, Sendable {
    package var admitted: [Entry] = []
    /// The ids of the admitted files, by their names before.
    var named: [[UInt8]: OperationID] = [:]
    package var quarantined: [QuarantineItem] = []
    /// Whether there may be more files: more than a single call takes, or one that another run has claimed meanwhile.
    package var hasMore = false
    /// The operations that `dropOldest` evicted, also older ones of the admitted files.
    package var evicted: [Entry] = []
    /// The operations that made room because a newer operation of their key supersedes them.
    package var superseded: [SupersededEntry] = []
    /// The errors of reading and writing. Their files stay in `new/`, or claimed until the next run recovers them.
    package var errors: [SpoolError] = []

    package init() {}
}

extension OperationID {
    /// Returns a random UUID of version 4 (RFC 9562 §5.4).
    package static func random(using generator: inout some RandomNumberGenerator) -> OperationID {
        let high = generator.next() & ~0xF000 | 0x4000
        let low = generator.next() & ~(0b11 << 62) | 0b10 << 62
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append(UInt8(ascii: "-")) }
            let word = index < 16 ? high : low
            text.append(digits[Int(word >> UInt64(60 - index % 16 * 4) & 15)])
        }
        return OperationID(String(decoding: text, as: UTF8.self))!
    }
}
