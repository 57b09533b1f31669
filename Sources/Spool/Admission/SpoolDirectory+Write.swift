import Policy

/// Row W → that of each file.
extension SpoolDirectory {
    /// From this many files on, the file system is synced once instead of each file.
    static let groupSize = 16

    /// Writes all, makes the data durable, renames all, makes the names durable. Returns the numbers of those whose names
    /// were taken. On an error what has been renamed is taken back, as far as no run was faster, and nothing stays in
    /// `tmp/`.
    ///
    /// With `allOrNone` the batch is committed before the first rename: after a crash the next process that recovers or
    /// adds completes it. Also where an error comes when a run has claimed a part already.
    func publish(_ files: [IncomingFile], durable: Bool, allOrNone: Bool) throws(SpoolError) -> [Int] {
        let workshop = try Workshop(self)
        let batch = allOrNone && files.count > 1 ? CommittedBatch(in: workshop.path, self) : nil
        var isLeft = false
        defer {
            if isLeft {
                workshop.leave()
            } else {
                batch?.withdraw()
                workshop.close()
            }
        }
        let grouped = files.count >= Self.groupSize
        var moves: [(from: QueuePath, to: QueuePath)] = []
        for file in files {
            let temporary = workshop.nextPath()
            try attempt("accept into", file.entry.state.path) { () throws(Errno) in
                try createFile(temporary, file.bytes, durable: durable && !grouped)
            }
            moves.append((temporary, QueuePath(file.entry.path)))
        }
        try batch?.write(moves)
        // `root` was opened before the files were written: an error in writing any of them back is seen here.
        if durable, grouped { try attempt("sync", QueuePath(".")) { () throws(Errno) in try system.syncfs(root) } }
        try batch?.commit(durable: durable, isSynced: grouped)

        var published: [(from: QueuePath, to: QueuePath)] = []
        var collisions: [Int] = []
        var target = QueueState.new.path
        do throws(Errno) {
            for (index, (from, to)) in moves.enumerated() {
                target = files[index].entry.state.path
                do throws(Errno) {
                    try move(from, to)
                    published.append((from, to))
                } catch let error where error == .exists {
                    collisions.append(index)
                }
            }
            if durable {
                for directory in Set(files.map(\.entry.state)) {
                    target = directory.path
                    try sync(target)
                }
            }
        } catch {
            if batch == nil {
                for (_, path) in published { try? system.unlink(root, path.bytes) }
            } else {
                isLeft = !takeBack(published)
            }
            throw SpoolError(error, "accept into", target)
        }
        batch?.end(durable: durable)
        return collisions
    }

    /// Row N, D, X, K → W. False where a run has one already, or where the system refuses.
    private func takeBack(_ moves: [(from: QueuePath, to: QueuePath)]) -> Bool {
        for (from, to) in moves.reversed() {
            do throws(Errno) { try move(to, from, isOwn: false) } catch { return false }
        }
        return true
    }
}
