package import Policy

/// A run's hold on the queue: its directory under `claimed/`, locked while the process lives. Used from one thread.
///
/// If it goes away without `end()`, the next run recovers what it held.
package final class SpoolRun {
    let queue: SpoolDirectory
    let directory: LockedDirectory
    /// What is claimed and not settled.
    var held: Set<Claim> = []
    /// Directories that have names `flush` must make durable; those that gained come first.
    var gained: Set<QueuePath> = []
    var lost: Set<QueuePath> = []

    /// Its directory's name under `claimed/`.
    package var name: String { directory.name }

    init(queue: SpoolDirectory, directory: LockedDirectory) {
        self.queue = queue
        self.directory = directory
    }

    // MARK: - Claims

    /// Row N, D → C. `nil` if a rival was faster.
    ///
    /// Only this run has the target's path, so whatever the call says: if the target is there, the claim is won.
    package func claim(_ entry: Entry) throws(SpoolError) -> Claim? {
        let claim = Claim(name: entry.name, from: entry.state)
        guard entry.state == .new || entry.state == .deferred, !held.contains(where: { $0.name == claim.name })
        else { return nil }
        let (from, to) = (QueuePath(entry.path), path(of: claim))
        let won = try queue.attempt("claim", from) { () throws(Errno) in
            do throws(Errno) {
                try queue.system.rename(queue.root, from.bytes, to.bytes)
                return true
            } catch {
                if try queue.exists(to) { return true }
                if error == .missing { return false }
                throw error
            }
        }
        guard won else { return nil }
        held.insert(claim)
        lost.insert(entry.state.path)
        return claim
    }

    /// What a claim asks for. A file that can be no operation is a result, for `settle` to put into quarantine; an
    /// error of the system is thrown, and the claim is to be put back.
    ///
    /// A stranger's file is none, whatever it holds: its canonical name says things that the queue believes unread, and
    /// its owner can rewrite it while it is being attempted. Strangers use names that are not canonical, and are copied.
    package func read(_ claim: Claim, limits: Limits) throws(SpoolError) -> StoredFile {
        let path = path(of: claim)
        // Attempts are bounded in number and length, and do not count against the operation.
        let limit = limits.operationBytes + OperationFile.headerLimit + (8 << 20)
        guard let file = try queue.read(path, name: claim.name, limit: limit) else {
            throw SpoolError(.missing, "read", path)
        }
        guard case .operation(let stored) = file else { return file }
        if stored.operation.body.count > limits.operationBytes {
            return .notAnOperation(
                reason:
                    "it is too long: a body of \(stored.operation.body.count) bytes, \(limits.operationBytes) are allowed"
            )
        }
        let isKnown = try queue.attempt("read", path) { () throws(Errno) in try queue.knowsOwner(of: stored.status) }
        guard isKnown else {
            return .notAnOperation(reason: Self.strangers(stored.status.owner))
        }
        // More than one name of its inode is a move that was interrupted, or somebody else's link.
        if stored.status.links > 1, try removeOtherNames(of: claim) > 1 {
            return .notAnOperation(reason: "it has another name outside the queue's reach (a hard link)")
        }
        return file
    }

    /// Makes what was settled since the last call durable: targets' directories first, then sources'. Window W1 closes
    /// here. A sync that failed is not believed when it is repeated: the error stands.
    package func flush() throws(SpoolError) {
        let order = Array(gained) + lost.subtracting(gained)
        gained = []
        lost = []
        var first: SpoolError?
        for directory in order {
            do throws(SpoolError) { try queue.syncDirectory(directory) } catch { first = first ?? error }
        }
        if let first { throw first }
    }

    /// Puts back what is still claimed, makes all durable, and gives up the hold. What cannot be put back is left to the
    /// next run; the first error of that is thrown when the rest has been done.
    package func end() throws(SpoolError) {
        var first: SpoolError?
        func note(_ body: () throws(SpoolError) -> Void) {
            do throws(SpoolError) { try body() } catch { first = first ?? error }
        }
        for claim in held { note { () throws(SpoolError) in try putBack(claim) } }
        note { () throws(SpoolError) in try flush() }
        directory.remove()
        directory.release()
        if let first { throw first }
    }

    // MARK: - Parts

    func path(of claim: Claim) -> QueuePath {
        QueuePath(in: directory.path, claim.name.description.utf8)
    }

    /// Row C → the row it came from, under the name it had.
    func putBack(_ claim: Claim) throws(SpoolError) {
        _ = try settle(claim, .putBack, record: nil, now: claim.name.createdAt)
    }

    /// Finishes moves that were interrupted between link and unlink: the claim is the name that stays. Returns how many
    /// names the inode has then.
    private func removeOtherNames(of claim: Claim) throws(SpoolError) -> Int {
        let path = path(of: claim)
        guard let status = try queue.status(path, "look at") else { return 0 }
        var others: [QueuePath] = []
        for state in [QueueState.new, .deferred, .failed, .quarantine, .delivered] {
            try queue.forEachEntry(in: state) { if $0.name.id == claim.name.id { others.append(QueuePath($0.path)) } }
        }
        for other in others where try queue.status(other, "look at")?.isSameFile(as: status) == true {
            try queue.attempt("remove", other) { () throws(Errno) in try queue.system.unlink(queue.root, other.bytes) }
            lost.insert(other.parent)
        }
        return try queue.status(path, "look at")?.links ?? 0
    }
}

extension SpoolDirectory {
    /// Takes the hold that claims need, which also proves that the queue can be written before anything is sent.
    /// Throws `untrusted` where others could meddle.
    package func beginRun(now: Timestamp) throws(SpoolError) -> SpoolRun {
        try checkTrust()
        let claimed = QueueState.claimed.path
        return try attempt("begin a run in", claimed) { () throws(Errno) in
            let directory = try LockedDirectory.make(in: claimed, at: now, self)
            do throws(Errno) {
                try sync(claimed)
            } catch {
                directory.remove()
                throw error
            }
            return SpoolRun(queue: self, directory: directory)
        }
    }
}

/// The exclusive right to attempt one operation.
package struct Claim: Hashable, Sendable {
    package let name: EntryName
    /// `new` or `deferred`.
    package let from: QueueState
}

/// Where a settled operation is now.
package enum Settled: Hashable, Sendable {
    /// Delivered, and not kept.
    case gone
    case moved(Entry)
    case quarantined(QuarantineItem)
}
