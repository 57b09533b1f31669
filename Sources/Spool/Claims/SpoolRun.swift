import CSystem
package import Policy
import Synchronization

/// A run's hold on the queue: its directory under `claimed/`, locked while the process lives. Used from one thread, and
/// from its file workers while that one waits for them.
///
/// If it goes away without `end()`, the next run recovers what it held.
package final class SpoolRun {
    let queue: SpoolDirectory
    let directory: LockedDirectory
    /// Those who claim and read, and those who settle. A directory can be slow for one of the two.
    let takers = FileWorkers()
    let settlers = FileWorkers()

    /// What has changed in the directories.
    private struct Changes {
        /// The claims that are not settled yet.
        var claims: [EntryName: Claim] = [:]
        /// Directories that have names `flush` must make durable; those that gained come first.
        var gained: Set<QueuePath> = []
        var lost: Set<QueuePath> = []
    }

    private let changes = Mutex(Changes())

    /// `nil` while another run has it, or this one does not ask for it.
    private var sequenceLock: SequenceLock?

    // MARK: - Changes

    private func hasClaimed(_ name: EntryName) -> Bool { changes.withLock { $0.claims[name] != nil } }

    private func claimed(_ claim: Claim) { changes.withLock { $0.claims[claim.name] = claim } }

    /// Notes a claim whose file has left the run's directory, or stays there for the next run.
    func forget(_ claim: Claim) { changes.withLock { $0.claims[claim.name] = nil } }

    /// Notes a directory that has a new name, to be made durable by `flush`.
    func gained(_ directory: QueuePath) { changes.withLock { _ = $0.gained.insert(directory) } }

    /// Notes a directory that has a name less, to be made durable by `flush`.
    func lost(_ directory: QueuePath) { changes.withLock { _ = $0.lost.insert(directory) } }

    // MARK: - The lock

    private struct Confirmation {
        /// When its lock was last seen to be its own.
        var at: Duration
        var isLost = false
    }

    private let confirmation: Mutex<Confirmation>

    /// Whether its lock is known to be another one's: from then on nothing is touched any more.
    package var isLost: Bool { confirmation.withLock(\.isLost) }

    /// Its directory's name under `claimed/`.
    package var name: String { directory.name }

    init(queue: SpoolDirectory, directory: LockedDirectory) {
        self.queue = queue
        self.directory = directory
        confirmation = Mutex(Confirmation(at: queue.system.elapsed()))
    }

    /// Whether the directory's own name survives a power cut; `nil` where that has not been asked for yet.
    private let anchored = Mutex<Result<Void, SpoolError>?>(nil)

    /// Makes the directory's own name durable, as it must be before anything is moved into it: what claims does it, too,
    /// but then it is too late to say that nothing was attempted. A run that claims nothing syncs nothing. A sync that
    /// failed is not believed when it is repeated: the error stands.
    package func anchor() throws(SpoolError) {
        try anchored.withLock { (anchored) throws(SpoolError) in
            if anchored == nil {
                do throws(SpoolError) {
                    anchored = .success(try queue.syncDirectory(QueueState.claimed.path))
                } catch {
                    anchored = .failure(error)
                }
            }
            try anchored?.get()
        }
    }

    /// Looks, once a second, whether the lock is still this run's, before it does what only its owner may do. A run that
    /// was stopped, on a host that was cut off, finds here that it was taken for dead.
    func confirm() throws(SpoolError) {
        try confirmation.withLock { (last) throws(SpoolError) in
            let now = queue.system.elapsed()
            if !last.isLost, now - last.at < .seconds(1) { return }
            do throws(Errno) {
                guard !last.isLost, try directory.isHeld else { throw .stale }
                last.at = now
            } catch {
                last.isLost = true
                throw SpoolError(kind: .lostHold, verb: "keep", path: directory.path.description, code: error.code)
            }
        }
    }

    // MARK: - Order

    /// Whether this run has the sequence lock: it may decide an order, and claim what has one.
    package var hasOrder: Bool { sequenceLock != nil }

    /// Takes the sequence lock unless another run has it, then recovers dead runs: what they held is back in its row before
    /// the order is looked at. What was found stands in the result; `hasOrder` says whether the lock is this run's.
    package func takeOrder(now: Timestamp, maximumInterruptions: Int = 5) throws(SpoolError) -> Recovery {
        if sequenceLock == nil { sequenceLock = try queue.lockSequences() }
        return try recover(now: now, maximumInterruptions: maximumInterruptions)
    }

    /// Gives the sequence lock back. What was claimed under it has been settled and flushed before.
    package func giveOrderBack() {
        sequenceLock?.release()
        sequenceLock = nil
    }

    // MARK: - Claims

    /// Row N, D → C. `nil` if a rival was faster.
    ///
    /// Only this run has the target's path, so whatever the call says: if the target is there, the claim is won.
    package func claim(_ entry: Entry) throws(SpoolError) -> Claim? {
        guard entry.state == .new || entry.state == .deferred, !hasClaimed(entry.name) else { return nil }
        try confirm()
        try anchor()
        let home = entry.state.path
        let file = entry.name.description.utf8
        let (from, to) = (QueuePath(in: home, file), QueuePath(in: directory.path, file))
        let won = try queue.attempt("claim", from) { () throws(Errno) in
            do throws(Errno) {
                try queue.system.rename(queue.root, from.bytes, to.bytes)
                return true
            } catch {
                if try hasInDirectory(file) { return true }
                if error == .missing { return false }
                throw error
            }
        }
        guard won else { return nil }
        let claim = Claim(name: entry.name, from: entry.state, path: to)
        claimed(claim)
        lost(home)
        return claim
    }

    /// Whether a file of that name is in this run's directory.
    ///
    /// The names of a shared file system are listed: after a rename that has failed, ceph-fuse (16.2) answers a look at its
    /// target never.
    private func hasInDirectory(_ file: String.UTF8View) throws(Errno) -> Bool {
        if queue.fileSystem.isLocal { return try queue.exists(QueuePath(in: directory.path, file)) }
        var isThere = false
        try queue.system.list(queue.root, directory.path.bytes) { name in
            isThere = name.elementsEqual(file)
            return !isThere
        }
        return isThere
    }

    /// What a claim asks for. A file that can be no operation is a result, for `settle` to put into quarantine; an
    /// error of the system is thrown, and the claim is to be put back.
    ///
    /// A stranger's file is none, whatever it holds: its canonical name says things that the queue believes unread, and
    /// its owner can rewrite it while it is being attempted. Strangers use names that are not canonical, and are copied.
    ///
    /// `leavingBodies`: a body of more than `leftLength` bytes is left in the file, which stays open.
    package func read(
        _ claim: Claim, limits: Limits, leavingBodies: Bool = false
    ) throws(SpoolError) -> StoredFile {
        let path = claim.path
        // Attempts are bounded in number and length, and do not count against the operation.
        let limit = limits.operationBytes +| OperationFile.headerLimit +| (8 << 20)
        // A shared file system keeps a file that is removed while it is open as a hidden name, in a directory that cannot be
        // removed then.
        let left = leavingBodies && queue.fileSystem.isLocal ? Self.leftLength : .max
        guard let file = try queue.read(path, name: claim.name, limit: limit, left: left) else {
            throw SpoolError(.missing, "read", path)
        }
        guard case .operation(let stored) = file else { return file }
        if stored.operation.bodyLength > limits.operationBytes {
            return .notAnOperation(
                reason:
                    "it is too long: a body of \(stored.operation.bodyLength) bytes, \(limits.operationBytes) are allowed"
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

    /// The length from which on a file stays open and its body out of memory. A smaller one goes out with one call, together
    /// with its request's head.
    static let leftLength = 128 << 10

    /// Makes what was settled since the last call durable: targets' directories first, then the run's own, which is the
    /// source of what was settled and the target of what is still in flight, then those that claims came from. Window W1
    /// closes here. A sync that failed is not believed when it is repeated: the error stands.
    package func flush() throws(SpoolError) {
        if isLost { return }
        let (gained, lost) = changes.withLock { changes in
            defer { (changes.gained, changes.lost) = ([], []) }
            return (changes.gained, changes.lost)
        }
        if gained.isEmpty && lost.isEmpty { return }
        let order = Array(gained) + [directory.path] + lost.subtracting(gained).subtracting([directory.path])
        var first: SpoolError?
        for directory in order {
            do throws(SpoolError) { try queue.syncDirectory(directory) } catch { first = first ?? error }
        }
        if let first { throw first }
    }

    /// Puts back what is still claimed, makes all durable, and gives up its locks. What cannot be put back is left to the
    /// next run; the first error of that is thrown when the rest has been done.
    package func end() throws(SpoolError) {
        defer { giveOrderBack() }
        var first: SpoolError?
        func note(_ body: () throws(SpoolError) -> Void) {
            do throws(SpoolError) { try body() } catch { first = first ?? error }
        }
        note { () throws(SpoolError) in try confirm() }
        if isLost {
            directory.release()
            throw first!
        }
        for claim in changes.withLock(\.claims).values { note { () throws(SpoolError) in try putBack(claim) } }
        note { () throws(SpoolError) in try flush() }
        directory.remove()
        directory.release()
        if let first { throw first }
    }

    // MARK: - Parts

    /// Row C → the row it came from, under the name it had.
    func putBack(_ claim: Claim) throws(SpoolError) {
        _ = try settle(claim, .putBack, record: nil, now: claim.name.createdAt)
    }

    /// Finishes moves between link and unlink, interrupted or still under way: the claim is the name that stays, durably.
    /// Returns how many names the inode has then.
    ///
    /// Whoever is at such a move finds the name gone that it wants to remove, which is what it wanted. A shared file system
    /// may remember names for a while that another host has removed: it is given time.
    private func removeOtherNames(of claim: Claim) throws(SpoolError) -> Int {
        let path = claim.path
        guard let status = try queue.status(path, "look at") else { return 0 }
        var others: [QueuePath] = []
        for other in try candidates(for: claim.name.id) where other != path {
            if try queue.status(other, "look at")?.isSameFile(as: status) == true { others.append(other) }
        }
        if !others.isEmpty { try queue.syncDirectory(directory.path) }
        for other in others {
            try queue.attempt("remove", other) { () throws(Errno) in
                do throws(Errno) { try queue.system.unlink(queue.root, other.bytes) } catch let error
                    where error == .missing
                {}
            }
            lost(other.parent)
        }
        for attempt in 0..<9 where !queue.fileSystem.isLocal {
            if try queue.status(path, "look at")?.links ?? 0 < 2 { break }
            queue.system.sleep(.milliseconds(10 << attempt))
        }
        return try queue.status(path, "look at")?.links ?? 0
    }

    /// Paths that an operation's file may have: in each state, with each run, and with each writer, where names say nothing.
    private func candidates(for id: OperationID) throws(SpoolError) -> [QueuePath] {
        var paths: [QueuePath] = []
        for state in QueueState.allCases {
            try queue.forEachEntry(in: state) { if $0.name.id == id { paths.append(QueuePath($0.path)) } }
        }
        // What is just getting its canonical name has another one in the directory of the run that gives it.
        let claimed = QueueState.claimed.path
        for run in try queue.names(in: claimed).map({ QueuePath(in: claimed, $0) }) {
            guard let files = try? queue.names(in: run) else { continue }
            paths += files.filter { Self.isAdmittingName($0) }.map { QueuePath(in: run, $0) }
        }
        let tmp = QueuePath("tmp")
        for writer in try queue.names(in: tmp).map({ QueuePath(in: tmp, $0) })
        where try queue.status(writer, "look at")?.kind == .directory {
            // One that is just ending takes its directory with it.
            guard let files = try? queue.names(in: writer) else { continue }
            paths += files.map { QueuePath(in: writer, $0) }
        }
        return paths
    }
}

extension SpoolDirectory {
    /// Takes the hold that claims need, which also proves that the queue can be written before anything is sent.
    /// Throws `untrusted` where others could meddle, and `newerFormat` where a newer drainq has taken the queue over.
    package func beginRun(now: Timestamp) throws(SpoolError) -> SpoolRun {
        try checkTrust()
        let claimed = QueueState.claimed.path
        let run = try attempt("begin a run in", claimed) { () throws(Errno) in
            let directory = try LockedDirectory.make(in: claimed, at: now, self)
            do throws(Errno) {
                guard try directory.excludes else { throw .noLocks }
            } catch {
                directory.remove()
                throw error
            }
            return SpoolRun(queue: self, directory: directory)
        }
        do throws(SpoolError) {
            try checkFormat()
        } catch {
            run.directory.remove()
            throw error
        }
        return run
    }
}

/// The exclusive right to attempt one operation.
package final class Claim: Sendable {
    package let name: EntryName
    /// `new` or `deferred`.
    package let from: QueueState
    /// Where it is while it is claimed.
    let path: QueuePath

    init(name: EntryName, from: QueueState, path: QueuePath) {
        self.name = name
        self.from = from
        self.path = path
    }
}

/// Where a settled operation is now.
package enum Settled: Hashable, Sendable {
    /// Delivered, and not kept.
    case gone
    case moved(Entry)
    case quarantined(QuarantineItem)
}
