import CSystem
import Policy

/// Writing and publishing of files: row W → the row of each file.
extension SpoolDirectory {
    /// The number of files from which on the file system is synced once instead of each file.
    static let groupSize = 16

    /// The files that `publish` could not place, by number.
    struct Unpublished {
        /// Files whose names were taken.
        var collisions: [Int] = []
        /// Files for the replacement of an operation that another process has claimed or moved. With `allOrNone` no
        /// file is placed then.
        var unreplaced: [Int] = []
    }

    /// Writes all files, makes the data durable, renames all, makes the names durable. On an error takes back the
    /// renamed files, as far as no run was faster, and leaves nothing in `tmp/`.
    ///
    /// A file that replaces an operation takes its place under its name. The process claims the operation as a run
    /// does: row N, D → C; renames the file over the claim, C → C; and puts the claim back, C → N, D. In row X no run
    /// moves files, so a single rename replaces the operation. After a crash the operation is there with its old or its
    /// new content.
    ///
    /// With `allOrNone` commits the batch before the first rename. After a crash, or an error when a file cannot be
    /// taken back, the next process that recovers or adds completes the batch.
    ///
    /// With `claimer` the files become claims of that run instead, and only their data are durable.
    ///
    /// With `old` the file at this path leaves the queue once the others are in, as part of the commitment. The caller
    /// has the names lock.
    func publish(
        _ files: [IncomingFile], durable: Bool, allOrNone: Bool, claimedBy claimer: SpoolRun? = nil,
        insteadOf old: QueuePath? = nil
    ) throws(SpoolError) -> Unpublished {
        guard files.contains(where: { $0.replaces != nil }) else {
            let scratch = try ScratchDirectory(self)
            return try publish(
                files, scratch, replacedBy: nil, claimedBy: claimer, durable: durable, allOrNone: allOrNone, old)
        }
        let run = try beginRun(now: Timestamp(microseconds: 0))
        try run.syncRunDirectory()
        let scratch = try ScratchDirectory(in: run)
        do throws(SpoolError) {
            return try publish(
                files, scratch, replacedBy: run, claimedBy: nil, durable: durable, allOrNone: allOrNone, nil)
        } catch {
            // A committed batch stays with its claims, as if the process had died: the next process completes it.
            if !scratch.isLeft { try withNamesLock { () throws(SpoolError) in try run.end() } }
            throw error
        }
    }

    private func publish(
        _ files: [IncomingFile], _ scratch: ScratchDirectory, replacedBy run: SpoolRun?,
        claimedBy claimer: SpoolRun?, durable: Bool, allOrNone: Bool, _ old: QueuePath?
    ) throws(SpoolError) -> Unpublished {
        let batch = allOrNone && files.count > 1 || old != nil ? CommittedBatch(in: scratch.path, self) : nil
        defer {
            if !scratch.isLeft {
                batch?.withdraw()
                scratch.close()
            }
        }
        let grouped = files.count >= Self.groupSize
        var moves: [CommittedBatch.Move] = []
        for file in files {
            let temporary = scratch.nextPath()
            try attempt("accept into", file.entry.state.path) { () throws(Errno) in
                try createFile(temporary, file.bytes, durable: durable && !grouped)
            }
            let target = claimer?.path(of: file.entry.name) ?? QueuePath(file.entry.path)
            moves.append(
                CommittedBatch.Move(from: temporary, to: target, replaces: file.replaces != nil))
        }
        // `root` was opened before the files were written, so syncfs reports an error in writing any of them back.
        if durable, grouped { try attempt("sync", QueuePath(".")) { () throws(Errno) in try system.syncfs(root) } }
        var unpublished = Unpublished()
        func enter() throws(SpoolError) {
            if let run { unpublished.unreplaced = try run.claim(files, &moves) }
            if !allOrNone || unpublished.unreplaced.isEmpty {
                try batch?.commit(moves, insteadOf: old.map { [$0] } ?? [], durable: durable)
                do throws(SpoolError) {
                    try place(moves, &unpublished, durable: durable && claimer == nil, isCommitted: batch != nil)
                } catch {
                    if batch != nil, !takeBack(moves) { scratch.leave() }
                    throw error
                }
                if let old {
                    do throws(SpoolError) { _ = try drop(old, having: nil, nil, ending: nil) } catch {
                        scratch.leave()
                        throw error
                    }
                }
                batch?.end(durable: durable)
            }
            scratch.close()
            try run?.end()
        }
        // No other process decides an order while an operation is out of its row.
        if run == nil { try enter() } else { try withNamesLock(enter) }
        return unpublished
    }

    /// Row W → the row of each file. On an error without a commitment removes the placed files again.
    private func place(
        _ moves: [CommittedBatch.Move], _ unpublished: inout Unpublished, durable: Bool, isCommitted: Bool
    ) throws(SpoolError) {
        let left = Set(unpublished.unreplaced)
        var published: [QueuePath] = []
        var target = QueueState.new.path
        do throws(Errno) {
            for (index, move) in moves.enumerated() where !left.contains(index) {
                target = move.to.parent
                do throws(Errno) {
                    try enter(move)
                    if !move.replaces { published.append(move.to) }
                } catch let error where error == .exists {
                    unpublished.collisions.append(index)
                }
            }
            if durable {
                for directory in Set(moves.map(\.to.parent)) {
                    target = directory
                    try sync(target)
                }
            }
        } catch {
            if !isCommitted {
                // try?: the first error is thrown, and the operation then stays without a promise.
                for path in published { _ = try? depart("remove", .withdrawn(Withdrawal(of: path))) }
            }
            throw SpoolError(error, "accept into", target)
        }
    }

    /// Row W → the row of a file.
    func enter(_ move: CommittedBatch.Move) throws(Errno) {
        if move.replaces { try replace(move.from, move.to) } else { try self.move(move.from, move.to) }
    }

    /// Row N, D, X, K → W. Returns false if a run has already claimed a file, if a file has replaced an operation, or
    /// if the system refuses: the commitment stands then. A broken-off move may have left a file in both places.
    private func takeBack(_ moves: [CommittedBatch.Move]) -> Bool {
        for move in moves.reversed() {
            do {
                if try exists(move.from) {
                    _ = try removeSecondName(move.to, beside: move.from)
                } else if move.replaces {
                    return false
                } else {
                    try self.move(move.to, move.from, isOwn: false)
                }
            } catch {
                return false
            }
        }
        return true
    }
}

/// The evidence that an addition has named a file that it does not promise: the addition has failed.
package struct Withdrawal: ~Copyable {
    let path: QueuePath

    fileprivate init(of path: QueuePath) { self.path = path }
}

extension SpoolRun {
    /// Row N, D → C for the operations that files replace: each claim becomes the target of its file. Returns the
    /// numbers of the files whose operations another process has claimed, moved or attempted: records only add bytes.
    fileprivate func claim(
        _ files: [IncomingFile], _ moves: inout [CommittedBatch.Move]
    ) throws(SpoolError) -> [Int] {
        var missing: [Int] = []
        for (index, file) in files.enumerated() where file.replaces != nil {
            switch file.entry.state {
            case .new, .deferred:
                guard let claim = try claim(file.entry),
                    try queue.status(claim.path, "look at")?.size == file.replaces
                else {
                    missing.append(index)
                    continue
                }
                moves[index].to = claim.path
            case .claimed, .failed, .quarantine, .delivered:
                if try queue.size(of: file.entry) != file.replaces { missing.append(index) }
            }
        }
        return missing
    }
}
