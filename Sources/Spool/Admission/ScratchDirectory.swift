import CSystem
import Policy

/// A writer's own directory under `tmp/`, row W. Nothing in it is promised: a run sweeps it when the writer is dead.
final class ScratchDirectory {
    private let queue: SpoolDirectory
    private let directory: LockedDirectory
    private var count = 0

    init(_ queue: SpoolDirectory, now: Timestamp = Timestamp(microseconds: 0)) throws(SpoolError) {
        self.queue = queue
        do throws(Errno) {
            directory = try LockedDirectory.make(in: QueuePath("tmp"), at: now, queue)
        } catch {
            throw SpoolError(error, "write to", QueuePath("tmp"))
        }
        do throws(SpoolError) {
            try queue.checkFormat()
        } catch {
            directory.remove()
            throw error
        }
    }

    var path: QueuePath { directory.path }

    /// Returns a path that no file has yet. The name is long because ext4 compares a new name with all names in the
    /// same block of a directory, and a block has room for fewer long names.
    func nextPath() -> QueuePath {
        count += 1
        var name = [UInt8](repeating: UInt8(ascii: "0"), count: 64)
        let number = Array(String(count).utf8)
        name.replaceSubrange(64 - number.count..<64, with: number)
        return QueuePath(in: directory.path, name)
    }

    /// Removes the directory and the files that are left in it.
    func close() {
        queue.removeFiles(in: directory.path, keepingLock: true)
        directory.remove()
    }

    /// Unlocks the directory, and leaves its committed batch to the next run.
    func leave() {
        directory.release()
    }
}

extension SpoolDirectory {
    /// How long a file stays that another program makes in `tmp/`, without a lock to judge it by: 36 hours.
    static let foreignTemporaryAge: Duration = .seconds(36 * 3600)

    /// Row W → gone, for files of dead writers; first completes the batches that those have committed. A file that
    /// cannot be removed waits for the next run.
    func sweepTemporaries(now: Timestamp) throws(SpoolError) {
        let tmp = QueuePath("tmp")
        try completeCommittedBatches()
        for path in try names(in: tmp).map({ QueuePath(in: tmp, $0) }) {
            guard let status = try status(path, "look at") else { continue }
            let isOld = now - status.modifiedAt > Self.foreignTemporaryAge
            if status.kind == .directory {
                // Its owner could put a link to another directory in its place meanwhile, so it is not emptied.
                guard try attempt("look at", path, { () throws(Errno) in try knowsOwner(of: status) }) else {
                    if isOld { try? system.removeDirectory(root, path.bytes) }
                    continue
                }
                let name = String(path.description.dropFirst("tmp/".count))
                let lock = QueuePath(in: path, "lock".utf8)
                let hasLock = try self.status(lock, "look at") != nil
                guard hasLock || isOld || LockedDirectory.isName(name) else { continue }
                guard let dead = try? LockedDirectory.takeOver(path, name: name, self),
                    try self.status(CommittedBatch.path(in: path), "look at") == nil
                else { continue }
                removeFiles(in: path, keepingLock: true)
                dead.remove()
            } else if isOld {
                try? system.unlink(root, path.bytes)
            }
        }
    }

    /// Removes every file in a directory that has few names, but not the directory. Files that cannot be removed stay.
    func removeFiles(in directory: QueuePath, keepingLock: Bool) {
        var left = (try? names(in: directory, all: true)) ?? []
        var count = 0
        while let name = left.popLast() {
            if keepingLock, name.elementsEqual("lock".utf8) { continue }
            let path = QueuePath(in: directory, name)
            guard (try? system.statusAt(root, path.bytes).kind) == .directory else {
                try? system.unlink(root, path.bytes)
                continue
            }
            // Its files move up to this directory, so neither depth nor length of a path limits what can be removed.
            for inner in (try? names(in: path, all: true)) ?? [] {
                count += 1
                let name = Array("inner-\(system.random())-\(count)".utf8)
                let from = QueuePath(in: path, inner)
                if (try? system.rename(root, from.bytes, QueuePath(in: directory, name).bytes)) != nil {
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
