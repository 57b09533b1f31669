import CSystem
package import Policy

/// The repairs by `check --repair`. A run or an operator could make each step: a rename, an unlink of a file that was
/// not promised, a mode. A crash in between leaves less damage than there was.
extension SpoolDirectory {
    /// Makes the directories that are missing, and writes the version of the format again. What is in the place of
    /// others, as `missingDirectories` says, stays.
    package static func makeDirectories(_ missing: [Damage], at path: String, system: SystemCalls = .real)
        throws(SpoolError)
    {
        let queue = try SpoolDirectory(unfinished: path, system: system)
        // Throws for a newer format before anything is made.
        _ = try queue.isFormatDamaged
        for case .missingDirectory(let directory) in missing {
            do throws(Errno) {
                try system.makeDirectory(queue.root, directory, 0o700)
                try withDescriptor(system, queue.root, QueuePath(directory), O_RDONLY | O_DIRECTORY | O_NOFOLLOW) {
                    (descriptor) throws(Errno) in try system.chmod(descriptor, 0o700)
                }
                try system.fsync(queue.root)
            } catch {
                throw SpoolError(error, "make", QueuePath(directory))
            }
        }
        if missing.contains(where: { if case .notADirectory = $0 { true } else { false } }) { return }
        try queue.completeFormat()
        try queue.checkLayout()
    }

    /// Repairs what `damages` finds, as far as the repair needs no operator. Recovers dead runs as the next run would.
    /// Afterwards `damages` says what is left.
    package func repair(now: Timestamp, maximumInterruptions: Int = 5) -> Recovery {
        var recovery = Recovery()
        func step(_ body: () throws(SpoolError) -> Void) {
            do throws(SpoolError) { try body() } catch { recovery.errors.append(error) }
        }
        step { () throws(SpoolError) in try setModes() }
        step { () throws(SpoolError) in
            let run = try beginRun(now: now)
            recovery = try run.recover(now: now, maximumInterruptions: maximumInterruptions)
            try run.end()
        }
        step { () throws(SpoolError) in try withNamesLock { () throws(SpoolError) in try removeTwins(now) } }
        step { () throws(SpoolError) in try moveUnreadableStatesAside() }
        step { () throws(SpoolError) in
            for path in try orphanedReasons(now: now) {
                try attempt("remove", path) { () throws(Errno) in try system.unlink(root, path.bytes) }
            }
        }
        return recovery
    }

    private func setModes() throws(SpoolError) {
        for case .directoryMode(let directory, _) in try damagedModes() {
            try setMode(0o700, of: QueuePath(directory), O_DIRECTORY)
        }
        for directory in Self.directoriesOfFiles {
            for path in try filesWithWrongModes(in: directory) { try setMode(0o600, of: path, O_NONBLOCK) }
        }
    }

    private func setMode(_ mode: UInt32, of path: QueuePath, _ flag: Int32) throws(SpoolError) {
        try attempt("set the mode of", path) { () throws(Errno) in
            do throws(Errno) {
                try Self.withDescriptor(system, root, path, O_RDONLY | O_NOFOLLOW | flag) {
                    (descriptor) throws(Errno) in try system.chmod(descriptor, mode)
                }
            } catch let error where error == .missing {
                // The file has been moved meanwhile: the next check finds it in its new place.
            }
        }
    }

    /// Row N, D or X → W → gone, for the earlier of two names of one operation.
    private func removeTwins(_ now: Timestamp) throws(SpoolError) {
        let scratch = try ScratchDirectory(self)
        defer { scratch.close() }
        for damage in try twins() {
            switch damage {
            case .interruptedMove(let earlier, let latest), .earlierGeneration(let earlier, let latest):
                let path = QueuePath(earlier)
                if try remove(path, keeping: QueuePath(latest), scratch, now) { try syncDirectory(path.parent) }
            case .missingDirectory, .notADirectory, .directoryMode, .fileModes, .leftover, .deadRun, .conflict,
                .unreadableState,
                .orphanedReason:
                continue
            }
        }
    }

    /// Removes one of two names, and never the last name: moves the file into the scratch directory, and back if the
    /// other name has gone meanwhile. Returns false if there is nothing to remove.
    ///
    /// After an error too it moves the file back. If that fails, the file goes to quarantine, since the scratch
    /// directory is swept.
    private func remove(
        _ earlier: QueuePath, keeping latest: QueuePath, _ scratch: ScratchDirectory, _ now: Timestamp
    ) throws(SpoolError) -> Bool {
        try attempt("drop", earlier) { () throws(Errno) in
            let temporary = scratch.nextPath()
            do throws(Errno) {
                try move(earlier, temporary, isOwn: false)
            } catch let error where error == .missing {
                return false
            }
            do throws(Errno) {
                if try exists(latest) {
                    try? system.unlink(root, temporary.bytes)
                    return true
                }
                try move(temporary, earlier)
                return false
            } catch {
                // try?: the first error is thrown, and the file must not stay in a directory that is swept.
                if (try? move(temporary, earlier)) == nil {
                    let reason = "a repair moved it away and could not move it back to '\(earlier.description)'"
                    let name = EntryName(earlier.name)
                    // try?: the first error is thrown.
                    _ = try? quarantine(
                        temporary, as: name, originalName: Array(earlier.name.utf8), reason: reason, source: "check",
                        now)
                }
                throw error
            }
        }
    }

    /// Renames `state/NAME` to `state/NAME.damaged`, under the lock of `state/`: no file moves while it is replaced.
    private func moveUnreadableStatesAside() throws(SpoolError) {
        if try unreadableStates().isEmpty { return }
        let lock = try lockState()
        defer { lock.release() }
        for path in try unreadableStates() {
            try moveAside(path)
        }
    }

    /// Renames a file of `state/` to `NAME.damaged`. The caller has the lock of `state/`.
    private func moveAside(_ path: QueuePath) throws(SpoolError) {
        try attempt("move aside", path) { () throws(Errno) in
            try system.rename(root, path.bytes, root, QueuePath("\(path.description).damaged").bytes)
            try sync(path.parent)
        }
    }

    /// Moves a file of `state/` aside if its content is still the same, so the file is met once.
    package func moveStateAside(_ name: String, having bytes: [UInt8]) throws(SpoolError) {
        let lock = try lockState()
        defer { lock.release() }
        if try readState(name) == bytes { try moveAside(QueuePath("state/\(name)")) }
    }

    // MARK: - Proofs

    /// The abilities that the file system has shown.
    package struct FileSystemProof: Hashable, Sendable {
        package var fileSystem: FileSystem
        /// Whether a lock keeps a second opener out. Otherwise no process can tell which run is alive.
        package var locks: Bool
        /// Whether a file can be renamed without replacing another one. Otherwise moves are link, sync and unlink.
        package var renamesWithoutReplacing: Bool
    }

    /// Tries locks and renames in a directory of its own under `tmp/`.
    package func prove(now: Timestamp) throws(SpoolError) -> FileSystemProof {
        let tmp = QueuePath("tmp")
        return try attempt("try locks and renames in", tmp) { () throws(Errno) in
            let directory = try LockedDirectory.make(in: tmp, at: now, self)
            defer {
                removeFiles(in: directory.path, keepingLock: true)
                directory.remove()
            }
            let excludes = try directory.excludes
            let paths = ["a", "b"].map { QueuePath(in: directory.path, $0.utf8) }
            try createFile(paths[0], [], durable: true)
            try move(paths[0], paths[1])
            return FileSystemProof(
                fileSystem: fileSystem, locks: excludes, renamesWithoutReplacing: renamesWithoutReplacing)
        }
    }
}
