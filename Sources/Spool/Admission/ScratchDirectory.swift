import CSystem
import Policy

/// A writer's own directory, row W: under `tmp/`, or hidden in a run's directory under `claimed/`. No file in the
/// directory is promised: a run sweeps the directory when the writer is dead.
final class ScratchDirectory {
    let path: QueuePath
    private let queue: SpoolDirectory
    /// `nil` if the directory is part of a run's.
    private let directory: LockedDirectory?
    private var count = 0
    /// Whether its committed batch is left to another process.
    private(set) var isLeft = false

    init(_ queue: SpoolDirectory, now: Timestamp = Timestamp(microseconds: 0)) throws(SpoolError) {
        self.queue = queue
        let directory = try queue.attempt("write to", QueuePath("tmp")) { () throws(Errno) in
            try LockedDirectory.make(in: QueuePath("tmp"), at: now, queue)
        }
        self.directory = directory
        path = directory.path
        do throws(SpoolError) {
            try queue.checkFormat()
        } catch {
            directory.remove()
            throw error
        }
    }

    /// Makes the directory for files that take the place of a run's claims, or for the commitment to remove claims: one
    /// lock covers both, so a commitment is completed before the claims go back.
    init(in run: SpoolRun) throws(SpoolError) {
        queue = run.queue
        directory = nil
        let path = Self.path(in: run.directory.path)
        self.path = path
        try queue.attempt("write to", path) { () throws(Errno) in
            try run.queue.system.makeDirectory(run.queue.root, path.bytes, 0o700)
        }
    }

    /// The path of the directory that is part of a run's. Listings skip its name.
    static func path(in run: QueuePath) -> QueuePath { QueuePath(in: run, ".entering".utf8) }

    /// Returns a path that no file has yet. The name is long because ext4 compares a new name with all names in the
    /// same block of a directory, and a block has room for fewer long names.
    func nextPath() -> QueuePath {
        count += 1
        var name = [UInt8](repeating: UInt8(ascii: "0"), count: 64)
        let number = Array(String(count).utf8)
        name.replaceSubrange(64 - number.count..<64, with: number)
        return QueuePath(in: path, name)
    }

    /// Removes the directory and its remaining files.
    func close() {
        queue.removeFiles(in: path, keepingLock: true)
        directory?.remove()
        if directory == nil { try? queue.system.removeDirectory(queue.root, path.bytes) }
    }

    /// Unlocks the directory, and leaves its committed batch to the next run. A run's directory is unlocked with the
    /// run.
    func leave() {
        isLeft = true
        directory?.release()
    }
}

extension SpoolDirectory {
    /// How long another program's file stays in `tmp/`, without a lock to judge the file by: 36 hours.
    static let foreignTemporaryAge: Duration = .seconds(36 * 3600)

    /// Row W → gone, for files of dead writers; first completes the committed batches of these writers. A file that
    /// cannot be removed, or not be looked at, waits for the next run: nothing of it was promised.
    func sweepTemporaries(now: Timestamp) throws(SpoolError) {
        let tmp = QueuePath("tmp")
        try completeCommittedBatches()
        // try?: see above.
        for name in try names(in: tmp) { try? sweep(QueuePath(in: tmp, name), QueuePath.escaped(name), now) }
    }

    private func sweep(_ path: QueuePath, _ name: String, _ now: Timestamp) throws(SpoolError) {
        guard let status = try status(path, "look at") else { return }
        let isOld = now - status.modifiedAt > Self.foreignTemporaryAge
        if status.kind == .directory {
            // Its owner could put a link to another directory in its place meanwhile, so this directory is not
            // emptied.
            guard try attempt("look at", path, { () throws(Errno) in try knowsOwner(of: status) }) else {
                if isOld { try? system.removeDirectory(root, path.bytes) }
                return
            }
            let hasLock = try self.status(QueuePath(in: path, "lock".utf8), "look at") != nil
            guard hasLock || isOld || LockedDirectory.isName(name) else { return }
            let dead = try attempt("sweep", path) { () throws(Errno) in
                try LockedDirectory.takeOver(path, name: name, self)
            }
            guard let dead, try self.status(CommittedBatch.path(in: path), "look at") == nil else { return }
            removeFiles(in: path, keepingLock: true)
            dead.remove()
        } else if isOld {
            try? system.unlink(root, path.bytes)
        }
    }

    /// Removes every file in a directory that has few names, but not the directory. Files that cannot be removed stay.
    func removeFiles(in directory: QueuePath, keepingLock: Bool) {
        // try?: what cannot be listed or moved stays for the next sweep; so here and below.
        var left = (try? names(in: directory, all: true)) ?? []
        var count = 0
        while let name = left.popLast() {
            if keepingLock, name.elementsEqual("lock".utf8) { continue }
            let path = QueuePath(in: directory, name)
            // try?: as above.
            guard (try? system.statusAt(root, path.bytes).kind) == .directory else {
                try? system.unlink(root, path.bytes)
                continue
            }
            // Its files move up to this directory, so neither depth nor length of a path limits what can be removed.
            // try?: as above.
            for inner in (try? names(in: path, all: true)) ?? [] {
                count += 1
                let name = Array("inner-\(system.random())-\(count)".utf8)
                let from = QueuePath(in: path, inner)
                // try?: as above.
                if (try? system.rename(root, from.bytes, root, QueuePath(in: directory, name).bytes)) != nil {
                    left.append(name)
                }
            }
            try? system.removeDirectory(root, path.bytes)
        }
    }

    /// Returns the names in a directory that is known to be small; with `all` also dot names.
    func names(in directory: QueuePath, all: Bool = false) throws(SpoolError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        try attempt("list", directory) { () throws(Errno) in
            try (all ? system.listAll : system.list)(root, directory.bytes) { name in
                names.append(Array(name))
                return true
            }
        }
        return names
    }
}
