import CSystem
package import Policy

/// The end of a claim: its file leaves row C.
extension SpoolRun {
    /// Row C → gone, D, N, X, K or Q, durable after `sync`. Appends `record` to the file first, if the file stays.
    ///
    /// A superseded operation, or an operation delivered in a sequence, must be synced before the newer operation is
    /// sent. Otherwise a power cut after the newer delivery could bring the old operation back alone, and its value
    /// would be the last.
    ///
    /// A delivery needs the receipt that covers the claim, which has its record in the file. A failed operation of
    /// `send` stays in row C.
    ///
    /// After an error the run still has the claim, except after `lostLock` and `notRemovedAfterDelivery`. After the
    /// latter the file stays at the error's path, as if the run had died, and its mark says that it was delivered: the
    /// next recovery removes the file, and no run sends it.
    package func settle(
        _ claim: Claim, _ disposition: Disposition, record: AttemptRecord?, receipt: Receipt? = nil, now: Timestamp
    ) throws(SpoolError) -> Settled {
        try confirm()
        var name = claim.nameAfter
        let settled: Settled
        switch disposition {
        case .delivered(let keep):
            do throws(SpoolError) {
                settled = try finish(delivery(of: claim, by: receipt), keep: keep, loss: receipt?.losses[name])
            } catch {
                leave(claim)
                throw error
            }
        case .deferred(let until, let countsAttempt):
            append(record, to: claim, upTo: Self.mostOfRecords)
            name = claim.nameAfter.deferred(until: until, countsAttempt: countsAttempt)
            settled = try place(claim, Entry(state: .deferred, name: name), "defer", now)
        case .held:
            append(record, to: claim)
            name = claim.nameAfter
            name.interruptions = 0
            name.isHeld = true
            settled = try place(claim, Entry(state: claim.from, name: name.asWritten), "hold", now)
        // A superseded operation leaves by `supersede`, with its evidence.
        case .putBack, .superseded:
            append(record, to: claim)
            settled = try place(claim, Entry(state: claim.from, name: claim.nameAfter), "put back", now)
        case .failed(let countsAttempt):
            append(record, to: claim)
            settled = try fail(claim, claim.nameAfter.failed(countsAttempt: countsAttempt), now)
        case .quarantined(let reason):
            settled = .quarantined(try quarantine(claim.path, name, reason: reason, now))
        }
        forget(claim, isBack: disposition == .putBack)
        return settled
    }

    /// Moves a claim to its row. A file that has the target's name already is the same operation, or shares its name.
    private func place(
        _ claim: Claim, _ entry: Entry, _ verb: String, _ now: Timestamp
    ) throws(SpoolError) -> Settled {
        try place(claim.path, entry, verb, now)
    }

    func place(
        _ path: QueuePath, _ entry: Entry, _ verb: String, _ now: Timestamp
    ) throws(SpoolError) -> Settled {
        let target = QueuePath(entry.path)
        let isTaken = try queue.attempt(verb, path) { () throws(Errno) in
            do throws(Errno) {
                try queue.move(path, target)
                return false
            } catch let error where error == .exists {
                return true
            }
        }
        if isTaken { return try resolve(path, against: entry, now) }
        noteAddition(in: target.parent)
        noteRemoval(in: path.parent)
        return .moved(entry)
    }

    /// Resolves a conflict of two files for one name. The same operation twice (a file system that reordered) becomes
    /// one; a different operation goes into quarantine.
    private func resolve(_ path: QueuePath, against entry: Entry, _ now: Timestamp) throws(SpoolError) -> Settled {
        if try queue.removeGeneration(path, named: entry.name, beside: entry) {
            noteRemoval(in: path.parent)
            return .moved(entry)
        }
        return .quarantined(
            try quarantine(path, nil, reason: "ids in conflict: another operation has the name '\(entry.name)'", now))
    }

    func quarantine(
        _ path: QueuePath, _ name: EntryName?, reason: String, _ now: Timestamp
    ) throws(SpoolError) -> QuarantineItem {
        return try queue.attempt("quarantine", path) { () throws(Errno) in
            try queue.quarantine(
                path, as: name, originalName: path.nameBytes, reason: reason,
                source: QueueState.claimed.rawValue, now)
        }
    }

    /// The length in bytes from which deferrals are no longer recorded: an operation attempted for ever must not grow
    /// too long for `read`, which allows twice as much.
    package static let mostOfRecords = longestRecords / 2

    /// Appends an attempt's line, unless the lines have this length. Returns an error instead of throwing it: a full
    /// disk must not keep the operation from its row. The next line ends a torn line. Without the line the name will
    /// say that the request may have arrived (`Claim.nameAfter`).
    @discardableResult
    func append(_ record: AttemptRecord?, to claim: Claim, upTo most: Int = .max) -> SpoolError? {
        guard let record else { return nil }
        var isAppended = false
        defer { if !isAppended, record.leavesDoubt { claim.noteUnknownEnd() } }
        do throws(Errno) {
            let flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK
            try SpoolDirectory.withDescriptor(queue.system, queue.root, claim.path, flags) {
                (descriptor) throws(Errno) in
                let size = try queue.system.status(descriptor).size
                if size > most, try lengthOfRecords(descriptor, size) > most { return }
                var last: [UInt8] = [0]
                _ = try queue.read(descriptor, into: &last, from: max(size - 1, 0))
                let isEnded = last[0] == UInt8(ascii: "\n")
                try queue.write(descriptor, (isEnded ? [] : [UInt8(ascii: "\n")]) + OperationFile.encode(record))
                // The answer is nowhere else, so it must be as durable as the following rename.
                if record.answer != nil { try queue.system.fsync(descriptor) }
                isAppended = true
            }
            return nil
        } catch {
            // The rename alone then says that there was an attempt.
            return SpoolError(error, "keep the answer in", QueuePath("delivered/\(claim.name)"))
        }
    }

    /// Returns the length of an open operation file behind its body; 0 if its header cannot be read.
    private func lengthOfRecords(_ descriptor: Int32, _ size: Int) throws(Errno) -> Int {
        var head = [UInt8](repeating: 0, count: OperationFile.headerLimit)
        let count = try queue.read(descriptor, into: &head, from: 0)
        guard let end = head.prefix(count).firstIndex(of: UInt8(ascii: "\n")),
            let (_, length) = try? OperationFile.decodeHeader(head, in: 0..<end, file: "")
        else { return 0 }
        return max(0, size - (end + 1) -| length)
    }
}

extension EntryName {
    /// Returns the name after a request that may have arrived, and whose end nobody knows.
    var withUnknownEnd: EntryName {
        var name = self
        name.unknowns = min(unknowns + 1, 9)
        return name
    }

    /// Returns the name of an operation that has failed.
    func failed(countsAttempt: Bool) -> EntryName {
        var name = self
        if countsAttempt { name.attempts = min(attempts + 1, 9999) }
        name.interruptions = 0
        name.isHeld = false
        name.gate = .open
        return name.asWritten
    }

    /// Returns the name of an operation after an attempt that deferred it.
    package func deferred(until due: Timestamp, countsAttempt: Bool) -> EntryName {
        var name = self
        if countsAttempt { name.attempts = min(attempts + 1, 9999) }
        name.interruptions = 0
        name.gate = .retryAt(due)
        return name.asWritten
    }
}
