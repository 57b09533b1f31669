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
            try queue.attempt("make", QueuePath(directory)) { () throws(Errno) in try queue.make([directory]) }
        }
        if missing.contains(where: { if case .notADirectory = $0 { true } else { false } }) { return }
        try queue.completeFormat()
    }

    /// Repairs what `damages` finds, as far as the repair needs no operator. Recovers dead runs as the next run would;
    /// without the rule of a configuration the next run does that. Afterwards `damages` says what is left. `finish` and
    /// `tell` are those of `SpoolRun.recover`; what a delivery supersedes goes before the call of `finish`.
    package func repair(
        by rule: ReplacementRule?, now: Timestamp, maximumInterruptions: Int = 5,
        finishing finish: (Claim, _ url: String?, _ began: Timestamp?) throws(SpoolError) -> Void = { _, _, _ in },
        telling tell: ([UntoldEnd]) throws(SpoolError) -> Bool = { _ in false }
    ) -> Recovery {
        var recovery = Recovery()
        func step(_ body: () throws(SpoolError) -> Void) {
            do throws(SpoolError) { try body() } catch { recovery.errors.append(error) }
        }
        step { () throws(SpoolError) in try setModes() }
        step { () throws(SpoolError) in
            guard let rule else { return }
            let run = try beginRun(now: now)
            func supersedeAndFinish(_ claim: Claim, _ url: String?, _ began: Timestamp?) throws(SpoolError) {
                let newer = run.successor(sent: claim)
                _ = try supersedeDeadLetters(by: newer, rule, patience: Self.namesPatience, at: now)
                try finish(claim, url, began)
            }
            recovery = try run.recover(
                now: now, maximumInterruptions: maximumInterruptions, finishing: supersedeAndFinish, telling: tell)
            try run.end()
        }
        step { () throws(SpoolError) in try withNamesLock { () throws(SpoolError) in try removeTwins() } }
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

    /// Row X → gone, for the earlier of two names or files of an operation. Recovery has removed those of rows N and D.
    private func removeTwins() throws(SpoolError) {
        for order in try generations() {
            guard let latest = order.last else { continue }
            for earlier in order.dropLast() {
                let path = QueuePath(earlier.path)
                var isGone = try removeSecondName(path, beside: QueuePath(latest.path))
                if !isGone { isGone = try removeGeneration(path, named: earlier.name, beside: latest) }
                if isGone { try syncDirectory(path.parent) }
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
