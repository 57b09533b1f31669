import CSystem
import Policy
import Synchronization

/// A run's directory under `claimed/`, locked while the process lives, and the claims in it. A single thread uses the
/// run, and so do its file workers while the thread waits for them.
///
/// If the run goes away without `end()`, the next run recovers its claims.
package final class SpoolRun {
    let queue: SpoolDirectory
    let directory: LockedDirectory
    /// Whether the run is that of a `send`, whose submitter learns how its operation ends.
    package let hasSubmitter: Bool
    /// The workers for claims and reads, and the workers for settling. A directory can be slow for only one of the two.
    let takers: FileWorkers
    let settlers: FileWorkers

    /// The changes in the directories since the last `sync`, and the open claims.
    private struct Changes {
        /// The claims not settled yet.
        var claims: [EntryName: Claim] = [:]
        /// The marked claims that are not open, for the next recovery of their files.
        var left: [EntryName: Claim] = [:]
        var marks = ClaimMarks()
        /// The marks of a dead run whose directory is this run's now; empty once its files have gone on.
        var inherited: [String: ClaimMarks.Mark] = [:]
        /// Whether the run leaves its directory, with its marks, when it ends.
        var leavesMarks = false
        /// Directories with changed names that `sync` must make durable. Directories with additions come first.
        var directoriesWithAdditions: Set<QueuePath> = []
        var directoriesWithRemovals: Set<QueuePath> = []

        /// The failures whose marks wait for a report of this run.
        var untold: [Claim] {
            left.values.filter { claim in
                if case .failed = claim.mark?.meaning { inherited[claim.fileName] == nil } else { false }
            }
        }
    }

    private let changes: Mutex<Changes>
    /// With the lock of a destination the run may decide the order of its operations, and claim them.
    package let sequences: SequenceLocks

    // MARK: - Changes

    package var hasOpenClaims: Bool { changes.withLock { !$0.claims.isEmpty } }

    func hasClaimed(_ name: EntryName) -> Bool { changes.withLock { $0.claims[name] != nil } }

    /// Notes a claim whose file is in the run's directory. No mark of an earlier file counts for the claim.
    func claimed(_ claim: Claim) {
        unmark(claim)
        changes.withLock { $0.claims[claim.name] = claim }
        claim.place.withLock { $0.isOpen = true }
    }

    /// Forgets a claim whose file has left the run's directory. `isBack`: the file has its row and its name again. The
    /// mark of a failure stays, until its report is written.
    func forget(_ claim: Claim, isBack: Bool = false) {
        switch claim.mark?.meaning {
        case .failed: leave(claim)
        case .withheld: close(claim)
        case .begun, .delivered, nil:
            close(claim)
            unmark(claim, isBack: isBack)
        }
    }

    /// Forgets a claim, with its mark for the next recovery.
    func leave(_ claim: Claim) {
        close(claim)
        changes.withLock { $0.left[claim.name] = claim }
    }

    private func close(_ claim: Claim) {
        changes.withLock { _ = $0.claims.removeValue(forKey: claim.name) }
        claim.place.withLock { $0.isOpen = false }
    }

    /// Returns the claim that was left with its mark under this name; `nil` if there is none.
    func leftClaim(_ name: EntryName) -> Claim? { changes.withLock { $0.left[name] } }

    /// Marks the file of a claim. Returns false if the system refuses.
    @discardableResult
    func mark(_ claim: Claim, _ meaning: ClaimMarks.Meaning) -> Bool {
        changes.withLock { changes in
            if !claim.isOpen { changes.left[claim.name] = claim }
            return changes.marks.mark(claim, meaning, in: directory, queue)
        }
    }

    /// Ends the mark of a file that has left the run's directory.
    func unmark(_ claim: Claim, isBack: Bool = true) {
        changes.withLock { changes in
            if !changes.left.isEmpty, let left = changes.left.removeValue(forKey: claim.name) {
                changes.marks.end(left, isBack: isBack, in: directory)
            }
            changes.marks.end(claim, isBack: isBack, in: directory)
        }
    }

    /// Whether marks of failures wait for a report of this run.
    package var hasUntold: Bool { changes.withLock { !$0.untold.isEmpty } }

    /// Whether the mark of this failure waits for its report.
    package func isUntold(_ claim: Claim) -> Bool { changes.withLock { $0.untold.contains { $0 === claim } } }

    /// Whether recovery would read one mark more.
    var canMarkMore: Bool { changes.withLock { $0.left.count < ClaimMarks.mostUntold } }

    /// Ends the marks of failures in row X: the ledgers of destinations and of reports have them.
    package func haveTold() {
        let told = changes.withLock { changes in
            changes.leavesMarks = false
            return changes.untold
        }
        // try?: what cannot be looked at may still be here.
        for claim in told where (try? queue.exists(claim.path)) == false { unmark(claim) }
    }

    /// The marks that a dead run has left in this run's directory, until `recover` has done what they say.
    var inherited: [String: ClaimMarks.Mark] {
        get { changes.withLock(\.inherited) }
        set { changes.withLock { $0.inherited = newValue } }
    }

    /// The failures could not be reported: their marks outlive the run, for the next recovery, if there was room for
    /// them.
    package func couldNotTell() { changes.withLock { $0.leavesMarks = $0.marks.hasBegun } }

    /// Notes a new name in a directory, for `sync` to make durable.
    func noteAddition(in directory: QueuePath) {
        changes.withLock { _ = $0.directoriesWithAdditions.insert(directory) }
    }

    /// Notes a removed name in a directory, for `sync` to make durable.
    func noteRemoval(in directory: QueuePath) { changes.withLock { _ = $0.directoriesWithRemovals.insert(directory) } }

    // MARK: - The lock

    private struct Confirmation {
        /// When the lock was last seen to be this run's.
        var at: Duration
        var hasLostLock = false
        var hasEnded = false
    }

    private let confirmation: Mutex<Confirmation>

    /// Whether the lock is known to be lost: from then on the run touches nothing any more.
    package var hasLostLock: Bool { confirmation.withLock(\.hasLostLock) }

    /// The name of its directory under `claimed/`.
    package var name: String { directory.name }

    /// Returns the path of an operation's file while this run has claimed the operation.
    func path(of name: EntryName) -> QueuePath { QueuePath(in: directory.path, name.description.utf8) }

    init(
        queue: SpoolDirectory, directory: LockedDirectory, hasSubmitter: Bool,
        inheriting inherited: [String: ClaimMarks.Mark]? = nil
    ) {
        self.queue = queue
        self.directory = directory
        self.hasSubmitter = hasSubmitter
        var changes = Changes()
        if let inherited { (changes.inherited, changes.marks) = (inherited, ClaimMarks(after: inherited)) }
        for (text, mark) in inherited ?? [:] {
            guard let name = EntryName(text) else { continue }
            let claim = Claim(name, from: .home(of: name), in: directory.path)
            claim.place.withLock { $0.mark = mark }
            changes.left[name] = claim
        }
        self.changes = Mutex(changes)
        sequences = SequenceLocks(in: queue)
        takers = FileWorkers(queue.system)
        settlers = FileWorkers(queue.system)
        confirmation = Mutex(Confirmation(at: queue.system.elapsed()))
    }

    /// Whether the directory's own name survives a power cut; `nil` before the first `syncRunDirectory`.
    private let directorySync = Mutex<Result<Void, SpoolError>?>(nil)

    /// Makes the directory's own name durable, as the name must be before anything is moved into the directory. `claim`
    /// does the same, but too late to report that nothing was attempted. A run without claims syncs nothing. After a
    /// sync has failed a later success proves nothing, so the error stands.
    package func syncRunDirectory() throws(SpoolError) {
        try directorySync.withLock { (directorySync) throws(SpoolError) in
            if directorySync == nil {
                do throws(SpoolError) {
                    directorySync = .success(try queue.syncDirectory(QueueState.claimed.path))
                    changes.withLock { _ = $0.marks.begin(in: directory, queue) }
                    keepDirectoriesOpen()
                } catch {
                    directorySync = .failure(error)
                }
            }
            try directorySync?.get()
        }
    }

    /// Keeps open the directories from which and to which this run claims, if the file system is shared.
    private func keepDirectoriesOpen() {
        if queue.fileSystem.isLocal { return }
        for path in [QueueState.new.path, QueueState.deferred.path, directory.path] { queue.openDirectories.keep(path) }
    }

    /// Checks, once a second, whether the lock is still this run's, before the run acts as the lock's holder. Throws
    /// `lostLock` if the lock is lost, or if the system cannot say: a stopped run, on a host that was cut off, learns
    /// here that it was taken for dead.
    func confirm() throws(SpoolError) {
        try confirmation.withLock { (last) throws(SpoolError) in
            let now = queue.system.elapsed()
            if last.hasEnded { throw SpoolError(.stale, "use", directory.path) }
            if !last.hasLostLock, now - last.at < .seconds(1) { return }
            do throws(Errno) {
                guard !last.hasLostLock, try directory.isHeld else { throw .stale }
                last.at = now
            } catch {
                last.hasLostLock = true
                throw SpoolError(kind: .lostLock, verb: "keep", path: directory.path.description, code: error.code)
            }
        }
    }

    // MARK: - Claims

    /// Claims an operation: row N, D → C. Returns `nil` if another run was faster.
    ///
    /// Only this run has the target's path. If the target is there, the claim is won, whatever the call returned.
    package func claim(_ entry: Entry) throws(SpoolError) -> Claim? {
        guard entry.state == .new || entry.state == .deferred, !hasClaimed(entry.name) else { return nil }
        try confirm()
        try syncRunDirectory()
        let claim = Claim(entry.name, from: entry.state, by: self)
        let home = entry.state.path
        let from = QueuePath(in: home, claim.fileName.utf8)
        let (source, target) = (queue.openDirectories.place(of: from), queue.openDirectories.place(of: claim.path))
        let won = try queue.attempt("claim", from) { () throws(Errno) in
            do throws(Errno) {
                try queue.system.rename(source.directory, source.name.bytes, target.directory, target.name.bytes)
                return true
            } catch {
                if try hasInDirectory(claim.path) { return true }
                if error == .missing { return false }
                throw error
            }
        }
        guard won else { return nil }
        claimed(claim)
        noteRemoval(in: home)
        return claim
    }

    /// Whether this run has a file of this name.
    ///
    /// Lists the names on a shared file system: after a failed rename ceph-fuse (16.2) never answers a stat of its
    /// target.
    private func hasInDirectory(_ path: QueuePath) throws(Errno) -> Bool {
        queue.fileSystem.isLocal ? try queue.exists(path) : try queue.lists(path)
    }

    /// Upper bound on the lines read behind a body, in bytes.
    static let longestRecords = 8 << 20

    /// Reads a claimed operation of any length: a lowered limit does not touch what was accepted. A file that can be no
    /// operation is a result, for `settle` to put into quarantine. An error of the system is thrown, and the caller
    /// puts the claim back.
    ///
    /// With `leavingBodies` the body of a file of more than `leftLength` bytes stays in the file, and the file stays
    /// open.
    ///
    /// Returns `nil` if another run has a claim on the file, under another name. The claim has then been given up.
    package func read(_ claim: Claim, leavingBodies: Bool = false) throws(SpoolError) -> StoredFile? {
        let path = claim.path
        // A shared file system keeps an open file under a hidden name after its removal, and then the directory cannot
        // be removed.
        let left = leavingBodies && queue.fileSystem.isLocal ? Self.leftLength : .max
        guard let file = try queue.read(path, name: claim.name, limit: SpoolDirectory.readLimit, left: left) else {
            throw SpoolError(.missing, "read", path)
        }
        guard case .operation(let stored) = file else { return file }
        var isOthers = false
        let objection = try queue.objection(to: stored.status, at: path) { () throws(SpoolError) in
            // A second name of its inode is an interrupted move, or a link from outside the queue.
            let links = try removeOtherNames(of: claim)
            isOthers = links == nil
            return links ?? 1
        }
        if isOthers {
            try giveUp(claim)
            return nil
        }
        if let objection { return .notAnOperation(reason: objection) }
        return file
    }

    /// Puts back a claim on a file that another run has claimed, too. The name of the claim may have gone meanwhile, by
    /// the other run's move or by a rename that a shared file system answered twice: then only the other run has the
    /// file.
    private func giveUp(_ claim: Claim) throws(SpoolError) {
        do throws(SpoolError) { try putBack(claim) } catch let error where error.code == Errno.missing.code {
            forget(claim)
        }
    }

    /// The length above which a file stays open and its body out of memory. A smaller body is sent with a single call,
    /// together with the head of its request.
    static let leftLength = 128 << 10

    /// Makes every move since the last call durable. Syncs the targets' directories first, then the run's own (the
    /// source of settled files and the target of claims), then the sources of claims. The repeat window closes here.
    /// Does not repeat a failed sync, because its success would prove nothing.
    ///
    /// Tells the processes that add of removals, unless one of them removes the operations itself and counts them.
    package func sync(countingRemovals isCounted: Bool = false) throws(SpoolError) {
        if hasLostLock { return }
        let (withAdditions, withRemovals) = changes.withLock { changes in
            defer { (changes.directoriesWithAdditions, changes.directoriesWithRemovals) = ([], []) }
            return (changes.directoriesWithAdditions, changes.directoriesWithRemovals)
        }
        if withAdditions.isEmpty && withRemovals.isEmpty { return }
        let rest = withRemovals.subtracting(withAdditions).subtracting([directory.path])
        let order = Array(withAdditions) + [directory.path] + rest
        // First: a process that counts does not outlive a power cut, and what has gone is room for it now.
        if !withRemovals.isEmpty, !isCounted { AdmissionRecord.noteRemovals(in: queue) }
        var first: SpoolError?
        for directory in order {
            do throws(SpoolError) { try syncDirectory(directory) } catch { first = first ?? error }
        }
        if let first { throw first }
    }

    /// Syncs a directory. If its process has ended and removed the directory, syncs the parent instead, so that no name
    /// of the removed directory comes back after a power cut.
    private func syncDirectory(_ path: QueuePath) throws(SpoolError) {
        do throws(SpoolError) { try queue.syncDirectory(path) } catch let error
            where error.code == Errno.missing.code && path != directory.path
        {
            try queue.syncDirectory(path.parent)
        }
    }

    /// Puts back what is still claimed, makes everything durable, and releases its locks. Leaves files that cannot be
    /// put back to the next run. Throws the first error once the rest has been done. A run that has ended touches
    /// nothing any more, and does not end again.
    package func end() throws(SpoolError) {
        if confirmation.withLock(\.hasEnded) { return }
        defer {
            sequences.release()
            confirmation.withLock { $0.hasEnded = true }
        }
        var first: SpoolError?
        func note(_ body: () throws(SpoolError) -> Void) {
            do throws(SpoolError) { try body() } catch { first = first ?? error }
        }
        note { () throws(SpoolError) in try confirm() }
        if hasLostLock {
            queue.openDirectories.close(directory.path)
            directory.release()
            throw first!
        }
        note { () throws(SpoolError) in try putBackOpen() }
        note { () throws(SpoolError) in try sync() }
        queue.openDirectories.close(directory.path)
        if !changes.withLock({ $0.leavesMarks || !$0.inherited.isEmpty }) { directory.remove() }
        directory.release()
        queue.keepReserve()
        if let first { throw first }
    }

    /// Row C → N, D: puts back every claim that is still open. Throws the first error once the rest has been done.
    package func putBackOpen() throws(SpoolError) {
        var first: SpoolError?
        for open in changes.withLock(\.claims).values {
            do throws(SpoolError) { try putBack(open) } catch { first = first ?? error }
        }
        if let first { throw first }
    }

    // MARK: - Parts

    /// Row C → the row and the name from before the claim.
    func putBack(_ claim: Claim) throws(SpoolError) {
        // The time is used only if another file has the name by now: then the operation goes to quarantine.
        _ = try settle(claim, .putBack, record: nil, now: claim.name.createdAt)
    }
}
