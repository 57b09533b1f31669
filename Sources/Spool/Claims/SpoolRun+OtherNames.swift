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
        let others = try otherNames(of: path, claim.name.id)
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
        return try otherNames(of: path, claim.name.id).isEmpty ? links : nil
    }

    /// Removes the name under which a dead run had drainq's copy of a foreign file, if the copy has its canonical name
    /// too: the run was between link and unlink, or could not unlink. Returns false for any other file.
    func removeNameOfCopy(_ path: QueuePath) throws(SpoolError) -> Bool {
        guard let status = try queue.status(path, "look at"), status.kind == .regular, status.links > 1 else {
            return false
        }
        let copy = try queue.attempt("read", path) { () throws(Errno) -> Operation? in
            guard case .bytes(let bytes, let status) = try queue.content(path, limit: SpoolDirectory.readLimit) else {
                return nil
            }
            return try queue.copy(in: bytes, status)
        }
        guard let copy else { return false }
        for other in try otherNames(of: path, copy.header.id) {
            if try queue.removeSecondName(path, beside: other) { return true }
        }
        return false
    }

    /// Returns the other paths in the queue that lead to the file of an operation.
    func otherNames(of path: QueuePath, _ id: OperationID) throws(SpoolError) -> [QueuePath] {
        guard let status = try queue.status(path, "look at"), status.kind == .regular, status.links > 1 else {
            return []
        }
        var others: [QueuePath] = []
        for other in try candidates(for: id) where other != path {
            if try queue.status(other, "look at")?.isSameFile(as: status) == true { others.append(other) }
        }
        return others
    }

    /// Returns the possible paths of an operation's file: in each state, with each run, and with each writer, whose
    /// names say nothing.
    private func candidates(for id: OperationID) throws(SpoolError) -> [QueuePath] {
        var paths: [QueuePath] = []
        for state in QueueState.allCases {
            try queue.forEachEntry(in: state) { if $0.name.id == id { paths.append(QueuePath($0.path)) } }
        }
        // A copy that is about to get its canonical name has a different name in the directory of its run.
        let claimed = QueueState.claimed.path
        for run in try queue.names(in: claimed).map({ QueuePath(in: claimed, $0) }) {
            for directory in [run, ScratchDirectory.path(in: run)] {
                paths += try queue.namesUnlessEnded(in: directory).filter {
                    directory != run || Self.isAdmittingName($0)
                }
                .map { QueuePath(in: directory, $0) }
            }
        }
        let tmp = QueuePath("tmp")
        for writer in try queue.names(in: tmp).map({ QueuePath(in: tmp, $0) })
        where try queue.status(writer, "look at")?.kind == .directory {
            // try?: an ending writer removes its directory, and this user cannot look into another user's.
            paths += ((try? queue.names(in: writer)) ?? []).map { QueuePath(in: writer, $0) }
        }
        return paths
    }
}

extension QueuePath {
    /// Whether the path is that of a file in the directory of a state.
    var isInState: Bool { QueueState.unclaimed.contains { $0.path == parent } }

    /// Whether the path is that of a claimed operation.
    fileprivate var isClaim: Bool {
        parent.parent == QueueState.claimed.path && nameBytes.withUnsafeBufferPointer({ EntryName($0) }) != nil
    }
}
