import Policy

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A writer's own directory under `tmp/`: row W. What is still in it when the writer is gone was never promised.
final class Workshop {
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
    }

    /// A path that nothing has yet.
    func nextPath() -> QueuePath {
        count += 1
        return QueuePath(in: directory.path, String(count).utf8)
    }

    /// Removes the directory and what is left in it.
    func close() {
        queue.removeFiles(in: directory.path)
        directory.remove()
    }
}

extension SpoolDirectory {
    /// Foreign files in `tmp/` have no lock to ask: these are left alone for 36 hours.
    static let foreignTemporaryAge: Duration = .seconds(36 * 3600)

    /// Row W → gone, for writers that are dead. Failures wait for the next run.
    func sweepTemporaries(now: Timestamp) throws(SpoolError) {
        let tmp = QueuePath("tmp")
        for path in try names(in: tmp).map({ QueuePath(in: tmp, $0) }) {
            guard let status = try status(path, "look at") else { continue }
            if status.kind == .directory {
                let name = String(path.description.dropFirst("tmp/".count))
                guard let dead = try? LockedDirectory.takeOver(path, name: name, self) else { continue }
                removeFiles(in: path)
                dead.remove()
            } else if now - status.modifiedAt > Self.foreignTemporaryAge {
                try? system.unlink(root, path.bytes)
            }
        }
    }

    /// Everything but the lock. For directories that hold few names.
    func removeFiles(in directory: QueuePath) {
        for name in (try? names(in: directory)) ?? [] where !name.elementsEqual("lock".utf8) {
            try? system.unlink(root, QueuePath(in: directory, name).bytes)
        }
    }

    /// The names in a directory that is known to be small.
    func names(in directory: QueuePath) throws(SpoolError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        try attempt("list", directory) { () throws(Errno) in
            try system.list(root, directory.bytes) { name in
                names.append(Array(name))
                return true
            }
        }
        return names
    }
}
