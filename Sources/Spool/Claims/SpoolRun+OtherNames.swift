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
        let others = try otherNames(of: claim)
        if others.contains(where: { $0.isClaim && $0.parent != directory.path }) { return nil }
        if !others.isEmpty { try queue.syncDirectory(directory.path) }
        for other in others {
            try queue.attempt("remove", other) { () throws(Errno) in
                do throws(Errno) { try queue.system.unlink(queue.root, other.bytes) } catch let error
                    where error == .missing
                {}
            }
            noteRemoval(in: other.parent)
        }
        for attempt in 0..<9 where !queue.fileSystem.isLocal {
            if try queue.status(path, "look at")?.links ?? 0 < 2 { break }
            queue.system.sleep(.milliseconds(10 << attempt))
        }
        guard let links = try queue.status(path, "look at")?.links else { return nil }
        if links < 2 { return links }
        return try otherNames(of: claim).isEmpty ? links : nil
    }

    /// Returns the other paths in the queue that lead to a claim's file.
    private func otherNames(of claim: Claim) throws(SpoolError) -> [QueuePath] {
        guard let status = try queue.status(claim.path, "look at") else { return [] }
        var others: [QueuePath] = []
        for other in try candidates(for: claim.name.id) where other != claim.path {
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
            // An ending writer removes its directory.
            paths += try queue.namesUnlessEnded(in: writer).map { QueuePath(in: writer, $0) }
        }
        return paths
    }
}

extension QueuePath {
    /// Whether the path is that of a claimed operation.
    fileprivate var isClaim: Bool {
        parent.parent == QueueState.claimed.path && nameBytes.withUnsafeBufferPointer({ EntryName($0) }) != nil
    }
}
