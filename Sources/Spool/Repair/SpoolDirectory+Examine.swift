import CSystem
package import Policy

/// The search for damage by `check`. The search changes nothing. A process with its lock is alive, not damage.
extension SpoolDirectory {
    /// How long a reason may be there without its file, since the reason is written first.
    private static let reasonAge: Duration = .seconds(3600)

    /// Opens a queue to look at it. Directories named by `missingDirectories` count as empty.
    package convenience init(
        examining path: String, without damages: [Damage], system real: SystemCalls = .real
    ) throws(SpoolError) {
        let absent = Set(damages.compactMap(\.directory))
        var system = real
        system.list = { (directory, path, body) throws(Errno) in
            if !absent.contains(String(cString: path)) { try real.list(directory, path, body) }
        }
        system.listAll = { (directory, path, body) throws(Errno) in
            if !absent.contains(String(cString: path)) { try real.listAll(directory, path, body) }
        }
        try self.init(unfinished: path, system: system)
        if damages.isEmpty { try checkFormat() }
    }

    /// Returns all damage of a queue that can be opened, in the order of its repair.
    package func damages(now: Timestamp) throws(SpoolError) -> [Damage] {
        var damages = try damagedModes()
        damages += try leftovers(now: now)
        damages += try deadRuns()
        damages += try twins()
        damages += try unreadableStates().map { .unreadableState($0.description) }
        damages += try orphanedReasons(now: now).map { .orphanedReason($0.description) }
        return damages
    }

    /// Returns the directories of the layout that are missing or something else, and whether the version of the format
    /// cannot be read, of a queue that may therefore not open. Throws `noSuchQueue`, or `notAQueue` if fewer than two
    /// directories are there, or `newerFormat`.
    package static func missingDirectories(
        at path: String, system: SystemCalls = .real
    ) throws(SpoolError) -> [Damage] {
        try SpoolDirectory(unfinished: path, system: system).missingDirectories()
    }

    private func missingDirectories() throws(SpoolError) -> [Damage] {
        var missing: [Damage] = []
        for directory in Self.directories {
            do throws(Errno) {
                let kind = try system.statusAt(root, directory).kind
                if kind != .directory { missing.append(.notADirectory(directory, kind)) }
            } catch let error where error == .missing {
                missing.append(.missingDirectory(directory))
            } catch {
                throw SpoolError(error, "look at", QueuePath(directory))
            }
        }
        if Self.directories.count - missing.count < 2 {
            throw SpoolError(kind: .notAQueue, verb: "open", path: path, code: ENOTDIR)
        }
        if try isFormatDamaged { missing.append(.unreadableState(Self.formatPath.description)) }
        return missing
    }

    // MARK: - Modes

    /// Returns the directories and files with wrong modes. An owner who lets others write to `new/` wants foreign files
    /// there: then `new/`, `tmp/` and the queue itself may have such modes. So may a directory whose setgid bit gives
    /// it to a group. Both must be trusted (`distrust`). Everything else is for the owner alone.
    func damagedModes() throws(SpoolError) -> [Damage] {
        var damages: [Damage] = []
        let isDropPlace = try (status(QueueState.new.path, "look at")?.permissions ?? 0) & 0o022 != 0
        for directory in ["."] + Self.directories + [Self.keys.description, SlotLocks.directory.description] {
            guard let status = try status(QueuePath(directory), "look at"), status.kind == .directory else { continue }
            let isOpen = isDropPlace && [".", "new", "tmp"].contains(directory) || status.setsGroup
            let isRight =
                isOpen && status.distrust(as: directory) == nil
                ? status.permissions & 0o700 == 0o700 : status.permissions == 0o700
            if !isRight { damages.append(.directoryMode(directory, is: status.permissions)) }
        }
        for directory in Self.directoriesOfFiles {
            let count = try filesWithWrongModes(in: directory).count
            if count > 0 { damages.append(.fileModes(in: directory, count: count)) }
        }
        return damages
    }

    static let directoriesOfFiles =
        QueueState.unclaimed.map(\.rawValue) + ["state", keys.description, SlotLocks.directory.description]

    /// Returns drainq's files whose mode is not 0600. Foreign files do not count, nor do they in quarantine: they are
    /// copied before they are used.
    func filesWithWrongModes(in directory: String) throws(SpoolError) -> [QueuePath] {
        var wrong: [QueuePath] = []
        for name in try namesIfThere(in: QueuePath(directory)) {
            if ["new", "quarantine"].contains(directory), name.withUnsafeBufferPointer({ EntryName($0) }) == nil {
                continue
            }
            let path = QueuePath(in: QueuePath(directory), name)
            guard let status = try status(path, "look at"), status.kind == .regular, status.permissions != 0o600 else {
                continue
            }
            if try attempt("look at", path, { () throws(Errno) in try knowsOwner(of: status) }) { wrong.append(path) }
        }
        return wrong
    }

    // MARK: - What the dead left

    private func leftovers(now: Timestamp) throws(SpoolError) -> [Damage] {
        let tmp = QueuePath("tmp")
        var damages: [Damage] = []
        // try?: another user's directory, into which this user cannot look, is not for this user to sweep.
        for name in try names(in: tmp) where (try? isLeftover(name, now: now)) ?? false {
            damages.append(.leftover(QueuePath(in: tmp, name).description))
        }
        return damages
    }

    /// Decides as `sweepTemporaries` does.
    private func isLeftover(_ name: [UInt8], now: Timestamp) throws(SpoolError) -> Bool {
        let path = QueuePath(in: QueuePath("tmp"), name)
        guard let status = try status(path, "look at") else { return false }
        let isOld = now - status.modifiedAt > Self.foreignTemporaryAge
        guard status.kind == .directory else { return isOld }
        guard try attempt("look at", path, { () throws(Errno) in try knowsOwner(of: status) }) else { return false }
        let hasLock = try self.status(QueuePath(in: path, "lock".utf8), "look at") != nil
        let isOurs = LockedDirectory.isName(QueuePath.escaped(name))
        guard hasLock || isOld || isOurs else { return false }
        return try isAbandoned(path, QueuePath.escaped(name))
    }

    private func isAbandoned(_ path: QueuePath, _ name: String) throws(SpoolError) -> Bool {
        try attempt("look at", path) { () throws(Errno) in try LockedDirectory.isAbandoned(path, name: name, self) }
    }

    /// Returns the names of the runs and `send`s at the queue. What this user or this host cannot judge counts as
    /// alive.
    package func runs() throws(SpoolError) -> (alive: Set<String>, dead: Set<String>) {
        var runs = (alive: Set<String>(), dead: Set<String>())
        for run in try names(in: QueueState.claimed.path) {
            let name = QueuePath.escaped(run)
            guard LockedDirectory.isName(name) else { continue }
            // try?: see above.
            let isDead = (try? isAbandoned(QueuePath(in: QueueState.claimed.path, run), name)) ?? false
            if isDead { runs.dead.insert(name) } else { runs.alive.insert(name) }
        }
        return runs
    }

    private func deadRuns() throws(SpoolError) -> [Damage] {
        let claimed = QueueState.claimed.path
        var damages: [Damage] = []
        for run in try names(in: claimed) {
            let path = QueuePath(in: claimed, run)
            guard try status(path, "look at")?.kind == .directory, try isAbandoned(path, QueuePath.escaped(run)) else {
                continue
            }
            let claims = try names(in: path).count { !$0.elementsEqual("lock".utf8) }
            damages.append(.deadRun(QueuePath.escaped(run), claims: claims))
        }
        return damages
    }

    /// Returns the runs of other hosts that cannot be judged alive or dead, because the locks of this file system do
    /// not reach so far; none if they do.
    package func unjudgedRuns() throws(SpoolError) -> [String] {
        try names(in: QueueState.claimed.path).map { QueuePath.escaped($0) }
            .filter { LockedDirectory.isName($0) && !LockedDirectory.canJudge($0, self) }
    }

    // MARK: - Twins

    /// Returns the pairs of files of the same operation. A file that moves during the search is no pair: it has a
    /// single name.
    func twins() throws(SpoolError) -> [Damage] {
        var damages: [Damage] = []
        for order in try generations() {
            guard let latest = order.last, case .operation(let kept)? = try read(latest) else { continue }
            for earlier in order.dropLast() {
                guard case .operation(let stored)? = try read(earlier),
                    try status(QueuePath(latest.path), "look at") != nil
                else { continue }
                if stored.status.isSameFile(as: kept.status) {
                    if stored.status.links > 1 { damages.append(.interruptedMove(earlier.path, of: latest.path)) }
                } else if stored.operation.header == kept.operation.header,
                    stored.operation.body == kept.operation.body
                {
                    damages.append(.earlierGeneration(earlier.path, of: latest.path))
                } else {
                    damages.append(.conflict(earlier.path, of: latest.path))
                }
            }
        }
        return damages
    }

    // MARK: - Documents beside

    func unreadableStates() throws(SpoolError) -> [QueuePath] {
        var unreadable: [QueuePath] = []
        var paths: [QueuePath] = []
        for directory in [QueuePath("state"), Self.keys] {
            paths += try namesIfThere(in: directory).map { QueuePath(in: directory, $0) }
        }
        for path in paths where path.description.hasSuffix(".json") {
            let content = try attempt("read", path) { () throws(Errno) in try self.content(path, limit: 64 << 20) }
            switch content {
            case .missing: continue
            case .bytes(let bytes, _) where path.parent == Self.keys:
                do throws(KeptFile.Defect) { _ = try KeptFile(bytes) } catch .newer { continue } catch { break }
                continue
            case .bytes(let bytes, _): if (try? JSONDocument(bytes)) != nil { continue }
            case .notAFile, .tooLong: break
            }
            unreadable.append(path)
        }
        return unreadable
    }

    func orphanedReasons(now: Timestamp) throws(SpoolError) -> [QueuePath] {
        let names = Set(try names(in: QueueState.quarantine.path))
        var orphans: [QueuePath] = []
        for name in names where name.isReason {
            if names.contains(Array(name.dropLast(QuarantineItem.reasonSuffix.utf8.count))) { continue }
            let path = QueuePath(in: QueueState.quarantine.path, name)
            if let status = try status(path, "look at"), now - status.changedAt > Self.reasonAge {
                orphans.append(path)
            }
        }
        return orphans
    }
}

extension Damage {
    /// The directory of the layout that is damaged as a whole; `nil` for other damage.
    fileprivate var directory: String? {
        switch self {
        case .missingDirectory(let directory), .notADirectory(let directory, _): directory
        case .directoryMode, .fileModes, .leftover, .deadRun, .interruptedMove, .earlierGeneration, .conflict,
            .unreadableState, .orphanedReason:
            nil
        }
    }
}

extension [UInt8] {
    fileprivate var isReason: Bool {
        suffix(QuarantineItem.reasonSuffix.utf8.count).elementsEqual(QuarantineItem.reasonSuffix.utf8)
    }
}
