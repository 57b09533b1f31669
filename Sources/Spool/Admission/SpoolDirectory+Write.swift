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
        /// Files that were to replace an operation which another process has claimed or moved.
        var unreplaced: [Int] = []
    }

    /// Writes all files, makes the data durable, renames all, makes the names durable. On an error takes back the files
    /// that it has renamed, as far as no run was faster, and leaves nothing in `tmp/`.
    ///
    /// With `allOrNone`, or if files replace others, commits the batch before the first rename. After a crash, or an
    /// error when a run has already claimed a part, the next process that recovers or adds completes the batch.
    ///
    /// With `run` the files become claims of that run instead, and only their data are durable.
    func publish(
        _ files: [IncomingFile], durable: Bool, allOrNone: Bool, claimedBy run: SpoolRun? = nil
    ) throws(SpoolError) -> Unpublished {
        let scratch = try ScratchDirectory(self)
        let replaces = files.contains { $0.replaced != nil }
        let batch = replaces || allOrNone && files.count > 1 ? CommittedBatch(in: scratch.path, self) : nil
        var isLeft = false
        defer {
            if !isLeft {
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
            let target = run?.path(of: file.entry.name) ?? QueuePath(file.entry.path)
            moves.append(
                CommittedBatch.Move(from: temporary, to: target, old: file.replaced.map { QueuePath($0.path) }))
        }
        try batch?.write(moves)
        // `root` was opened before the files were written, so syncfs reports an error in writing any of them back.
        if durable, grouped { try attempt("sync", QueuePath(".")) { () throws(Errno) in try system.syncfs(root) } }
        try batch?.commit(durable: durable, isSynced: grouped)
        var unpublished = Unpublished()
        func enter() throws(SpoolError) {
            do throws(SpoolError) {
                if let batch, replaces { unpublished.unreplaced = try takeOld(of: moves, batch, durable: durable) }
                try place(
                    moves, of: files, &unpublished, durable: durable && run == nil, isCommitted: batch != nil)
            } catch {
                if let batch, !takeBack(moves, batch) {
                    isLeft = true
                    scratch.leave()
                }
                throw error
            }
        }
        // No other process decides an order while an operation is in neither place.
        if replaces { try withNamesLock(enter) } else { try enter() }
        batch?.end(durable: durable)
        return unpublished
    }

    /// Row N, D, X, Q → W for the operations that files replace, durable before the files enter. Returns the numbers of
    /// the files whose operations are not there any more.
    private func takeOld(
        of moves: [CommittedBatch.Move], _ batch: CommittedBatch, durable: Bool
    ) throws(SpoolError) -> [Int] {
        var missing: [Int] = []
        var sources: Set<QueuePath> = []
        for (index, move) in moves.enumerated() {
            if try !batch.takeOld(of: move) { missing.append(index) }
            if let old = move.old { sources.insert(old.parent) }
        }
        if durable, let directory = moves.first?.from.parent {
            for directory in [directory] + Array(sources) { try syncDirectory(directory) }
        }
        return missing
    }

    /// Row W → the row of each file. On an error without a commitment removes the placed files again.
    private func place(
        _ moves: [CommittedBatch.Move], of files: [IncomingFile], _ unpublished: inout Unpublished, durable: Bool,
        isCommitted: Bool
    ) throws(SpoolError) {
        let left = Set(unpublished.unreplaced)
        var published: [QueuePath] = []
        var target = QueueState.new.path
        do throws(Errno) {
            for (index, move) in moves.enumerated() where !left.contains(index) {
                target = files[index].entry.state.path
                do throws(Errno) {
                    try self.move(move.from, move.to)
                    published.append(move.to)
                } catch let error where error == .exists {
                    unpublished.collisions.append(index)
                }
            }
            if durable {
                for directory in Set(files.map(\.entry.state)) {
                    target = directory.path
                    try sync(target)
                }
            }
        } catch {
            if !isCommitted { for path in published { try? system.unlink(root, path.bytes) } }
            throw SpoolError(error, "accept into", target)
        }
    }

    /// Row N, D, X, K → W, and the replaced operations back into their rows. Returns false if a run has already claimed
    /// a file, or the system refuses: the commitment stands then.
    private func takeBack(_ moves: [CommittedBatch.Move], _ batch: CommittedBatch) -> Bool {
        for move in moves.reversed() {
            do throws(Errno) {
                if try !exists(move.from) { try self.move(move.to, move.from, isOwn: false) }
            } catch {
                return false
            }
            if !batch.giveBack(move) { return false }
        }
        return true
    }
}
