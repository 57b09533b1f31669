import CSystem
package import Policy

extension SpoolDirectory {
    /// Makes and locks the directory for claims. So the queue is known to be writable before anything is sent. Throws
    /// `untrusted` if other users could meddle, and `newerFormat` if a newer drainq has changed the format.
    ///
    /// `now` is `nil` for a `send`, which other runs do not count as a run.
    package func beginRun(now: Timestamp?) throws(SpoolError) -> SpoolRun {
        try checkTrust()
        let claimed = QueueState.claimed.path
        let run = try attempt("begin a run in", claimed) { () throws(Errno) in
            let directory: LockedDirectory
            do throws(Errno) {
                directory = try LockedDirectory.make(in: claimed, at: now ?? Timestamp(microseconds: 0), self)
            } catch let full where full.isFullDisk {
                guard let run = try takeOverDeadRun(hasSubmitter: now == nil) else { throw full }
                return run
            }
            do throws(Errno) {
                guard try directory.excludes else { throw .noLocks }
            } catch {
                directory.remove()
                throw error
            }
            return SpoolRun(queue: self, directory: directory, hasSubmitter: now == nil)
        }
        do throws(SpoolError) {
            try checkFormat()
        } catch {
            if run.inherited.isEmpty { run.directory.remove() }
            throw error
        }
        return run
    }

    /// Returns a run in the directory of a dead one, with its files and its marks, because a full disk has no room for
    /// another directory. A run that dies, or that cannot tell of a failure, leaves no spare directory. Returns `nil`
    /// if there is none of this boot. A run that was taken for dead never goes on in another's directory: on a shared
    /// file system nothing is taken over (`LockedDirectory.remove`).
    private func takeOverDeadRun(hasSubmitter: Bool) throws(Errno) -> SpoolRun? {
        guard fileSystem.isLocal else { return nil }
        var names: [[UInt8]] = []
        try system.list(root, QueueState.claimed.path.bytes) { name in
            names.append(Array(name))
            return true
        }
        for bytes in names {
            let name = QueuePath.escaped(bytes)
            let path = QueuePath(in: QueueState.claimed.path, bytes)
            // try?: what cannot be taken over waits for a run with a directory of its own.
            guard let dead = try? LockedDirectory.takeOver(path, name: name, self) else { continue }
            // try?: likewise what cannot be read.
            if let marks = try? ClaimMarks.read(of: name, dead.lockPath, self) {
                return SpoolRun(queue: self, directory: dead, hasSubmitter: hasSubmitter, inheriting: marks)
            }
        }
        return nil
    }
}
