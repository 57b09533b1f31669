import CSystem
import Policy

/// The names that a claimed file has besides its claim: from an interrupted move, from a move in another process, or
/// from another run's claim.
extension SpoolRun {
    /// Finishes moves between link and unlink, interrupted or still going on: the claim is the name that stays,
    /// durably. Returns how many names the inode then has; `nil` if another run has a claim on the file, or has brought
    /// a name back meanwhile, or if the claim's own name has gone. Only a run itself, or its recovery, removes its
    /// claims: two runs with claims on a file would remove each other's.
    ///
    /// A process in the middle of such a move finds the name to be removed gone, as intended. A shared file system may
    /// for a while remember names after another host has removed them, so this function waits, for about 5 s at most.
    func removeOtherNames(of claim: Claim) throws(SpoolError) -> Int? {
        let path = claim.path
        let others = try queue.otherNames(of: path, claim.name.id)
        if others.contains(where: { $0.isClaim && $0.parent != directory.path }) { return nil }
        if !others.isEmpty { try queue.syncDirectory(directory.path) }
        for other in others {
            _ = try queue.removeSecondName(other, beside: path)
            noteRemoval(in: other.parent)
        }
        for attempt in 0..<9 where !queue.fileSystem.isLocal {
            if try queue.status(path, "look at")?.links ?? 0 < 2 { break }
            queue.system.sleep(.milliseconds(10 << attempt))
        }
        guard let links = try queue.status(path, "look at")?.links else { return nil }
        if links < 2 { return links }
        return try queue.otherNames(of: path, claim.name.id).isEmpty ? links : nil
    }

    /// Removes the name under which a dead run had a foreign file, if the file is still in `new/`, or drainq's copy of
    /// it, if the copy has its canonical name too: the run was between link and unlink, or could not unlink. Returns
    /// false for any other file.
    func removeAdmittingName(_ path: QueuePath) throws(SpoolError) -> Bool {
        guard let status = try queue.status(path, "look at"), status.kind == .regular, status.links > 1 else {
            return false
        }
        let copy = try queue.attempt("read", path) { () throws(Errno) -> Operation? in
            guard case .bytes(let bytes, let status) = try queue.content(path, limit: SpoolDirectory.readLimit) else {
                return nil
            }
            return try queue.copy(in: bytes, status)
        }
        let others =
            if let copy {
                try queue.otherNames(of: path, copy.header.id)
            } else {
                try queue.foreignPaths()
            }
        for other in others where try queue.removeSecondName(path, beside: other) { return true }
        return false
    }
}

extension SpoolDirectory {
    /// Row C of dead runs → gone, for the second names of a file that is about to leave its row: each run died, or the
    /// power went, between the link and the unlink of a move. Otherwise the recovery of the run would bring the file
    /// back. A live run removes its own.
    func removeNamesOfDeadRuns(of path: QueuePath) throws(SpoolError) {
        let name = path.nameBytes.withUnsafeBufferPointer { EntryName($0) }
        for other in try otherNames(of: path, name?.id) where other.isInRun {
            let run = other.parent
            let dead = try attempt("recover", run) { () throws(Errno) in
                try LockedDirectory.takeOver(run, name: run.name, self)
            }
            guard let dead else { continue }
            defer { dead.release() }
            if try removeSecondName(other, beside: path) { try syncDirectory(run) }
        }
    }

    /// Whether a foreign file has another name in the directory of a run: its move is interrupted, or still going on. A
    /// recovery finishes it.
    func isMoving(_ path: QueuePath) -> Bool {
        // try?: what cannot be looked at is a reason to refuse the file.
        (try? otherNames(of: path, nil).contains(where: \.isInRun)) ?? false
    }

    /// Returns the other paths in the queue that lead to the file of an operation; without an id those that are no
    /// canonical names.
    func otherNames(of path: QueuePath, _ id: OperationID?) throws(SpoolError) -> [QueuePath] {
        guard let status = try status(path, "look at"), status.kind == .regular, status.links > 1 else {
            return []
        }
        var others: [QueuePath] = []
        for other in try candidates(for: id) where other != path {
            if try self.status(other, "look at")?.isSameFile(as: status) == true { others.append(other) }
        }
        return others
    }

    /// Returns the paths in `new/` whose names are not canonical.
    fileprivate func foreignPaths() throws(SpoolError) -> [QueuePath] {
        let new = QueueState.new.path
        return try names(in: new).filter { $0.withUnsafeBufferPointer { EntryName($0) } == nil }
            .map { QueuePath(in: new, $0) }
    }

    /// Returns the possible paths of an operation's file: in each state, with each run, and with each writer, whose
    /// names say nothing.
    private func candidates(for id: OperationID?) throws(SpoolError) -> [QueuePath] {
        var paths: [QueuePath] = []
        for state in QueueState.allCases {
            try forEachEntry(in: state) { if $0.name.id == id { paths.append(QueuePath($0.path)) } }
        }
        // A copy that is about to get its canonical name has a different name in the directory of its run.
        let claimed = QueueState.claimed.path
        for run in try names(in: claimed).map({ QueuePath(in: claimed, $0) }) {
            for directory in [run, ScratchDirectory.path(in: run)] {
                paths += try namesUnlessEnded(in: directory).filter {
                    directory != run || SpoolRun.isAdmittingName($0)
                }
                .map { QueuePath(in: directory, $0) }
            }
        }
        let tmp = QueuePath("tmp")
        for writer in try names(in: tmp).map({ QueuePath(in: tmp, $0) })
        where try status(writer, "look at")?.kind == .directory {
            // try?: an ending writer removes its directory, and this user cannot look into another user's.
            paths += ((try? names(in: writer)) ?? []).map { QueuePath(in: writer, $0) }
        }
        return paths
    }
}

extension QueuePath {
    /// Whether the path is that of a file in the directory of a state.
    var isInState: Bool { QueueState.unclaimed.contains { $0.path == parent } }

    /// Whether the path is that of a file in the directory of a run.
    fileprivate var isInRun: Bool { parent.parent == QueueState.claimed.path }

    /// Whether the path is that of a claimed operation.
    fileprivate var isClaim: Bool {
        isInRun && nameBytes.withUnsafeBufferPointer({ EntryName($0) }) != nil
    }
}
