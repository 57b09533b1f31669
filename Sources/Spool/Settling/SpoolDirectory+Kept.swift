import CSystem
package import Policy

/// The files of `state/keys/`: what answers have left for later operations of a key, a file for each key.
///
/// Each file is replaced in one step under the lock of `state/`, and durably. A run keeps an
/// answer's values before it removes the operation. So a crash at any point leaves either the values, or the operation:
/// a run sends the operation again and keeps its answer anew.
extension SpoolDirectory {
    static let keys = QueuePath("state/keys")
    /// The most keys with values and without an operation in the queue.
    package static let mostDoneKeys = 10_000

    /// How long `keep` waits for another writer. The operation is delivered: without a kept value the operation would
    /// be sent again.
    private static let keepPatience: Duration = .seconds(30)
    /// The most files removed under one lock: another run's `keep` waits no longer.
    private static let removedUnderOneLock = 100

    private static func file(of key: Digest) -> String { "keys/\(key).json" }

    /// Returns the keys with values. Reads only names.
    package func keptKeys() throws(SpoolError) -> Set<Digest> {
        Set(try namesIfThere(in: Self.keys).compactMap(Self.key(ofFile:)))
    }

    /// Returns the values of a key. Throws `damaged` or `newerFormat` for an unreadable file.
    package func keptValues(of key: Digest) throws(SpoolError) -> [String: KeptValue] {
        try keptFile(of: key)?.values.mapValues(\.value) ?? [:]
    }

    /// Keeps a delivery's values for its key, durably, beside the values of other operations. Returns the names without
    /// a value now although the answer should have left a value.
    ///
    /// Forgets another operation's value if this answer has none in its place. Keeps a value that this operation left
    /// itself: the operation was delivered before, and sent again after a crash. Does not write values that are there.
    /// With `isLate` changes no value that a newer operation has left. `now` is the time of the answer. Replaces an
    /// unreadable file.
    package func keep(
        _ kept: KeptValues, of operation: Age, for key: String, at now: Timestamp, isLate: Bool = false
    ) throws(SpoolError) -> Set<String> {
        let lock = try lockState(patience: Self.keepPatience)
        defer { lock.release() }
        let digest = Digest(of: key)
        let before = try replaceableFile(of: digest) ?? KeptFile(key: key)
        var after = before
        func isOpen(_ name: String) -> Bool {
            !isLate || before.values[name]?.isNewer(than: operation, answeredAt: now) != true
        }
        for (name, value) in kept.values
        where isOpen(name) && before.values[name].map({ !$0.isOf(operation) || $0.value != value }) ?? true {
            after.values[name] = KeptFile.Value(
                value: value, from: operation.id, createdAt: operation.createdAt, at: now)
        }
        for name in kept.unkept.keys where isOpen(name) && after.values[name]?.isOf(operation) != true {
            after.values[name] = nil
        }
        if after != before {
            try makeKeysDirectory()
            try replaceState(Self.file(of: digest), after.encoded, durable: true)
        }
        return Set(kept.unkept.keys.filter { after.values[$0] == nil })
    }

    /// Proves that this number of values could be kept now, whatever they are: writes a file as large as their record
    /// and their file together, and removes the file. Throws the obstacle.
    package func proveRoomToKeep(values: Int) throws(SpoolError) {
        // Each byte of a value may take two, and each value has a name, an operation and two times.
        let size = 2 * (4096 + values * 3 * KeptValue.longest)
        let lock = try lockState()
        defer { lock.release() }
        try makeKeysDirectory()
        let proof = QueuePath("state/keys/.room")
        try attempt("write", proof) { () throws(Errno) in
            func remove() throws(Errno) {
                do throws(Errno) { try system.unlink(root, proof.bytes) } catch let error where error == .missing {}
            }
            try remove()
            do throws(Errno) {
                try createFile(proof, [UInt8](repeating: 0, count: size), durable: false)
            } catch {
                // try?: the first error is thrown.
                try? remove()
                throw error
            }
            try remove()
        }
    }

    /// Removes the values of keys without an operation in the queue: values kept before `limit`, if `mayGo` allows, and
    /// the oldest beyond `most` keys. Returns how many files it removed.
    ///
    /// The key of a foreign file is unknown until a run admits it. While a foreign file waits in `new/`, values stay
    /// longer by the time since the file was written: a value from then is still there when the file is admitted. Such
    /// a file does not raise `most`. While a run admits files, or more files wait than a single admission takes, no
    /// value is removed.
    ///
    /// On a route with a `chain` the operation's file says what the operation needs. So these files are read before
    /// anything is removed; while such an operation is in flight, or moves, no value is removed.
    ///
    /// Another process may move an operation while the directories are listed. So the order of the listings shows an
    /// operation that moves on at least once, and they are listed once more.
    @discardableResult
    package func pruneKept(
        olderThan limit: Timestamp, at now: Timestamp, atMost most: Int = SpoolDirectory.mostDoneKeys,
        by configuration: Configuration = Configuration(), where mayGo: (_ path: String) -> Bool = { _ in true }
    ) throws(SpoolError) -> Int {
        var done = try keptKeys()
        if done.isEmpty { return 0 }
        guard let waited = try longestForeignWait(at: now) else { return 0 }
        let limit = limit - waited
        var chained: [OperationID: Entry] = [:]
        let hasChains = configuration.hasChains
        func note(_ name: ListedName, _ state: QueueState) {
            if let key = name.keyDigest { done.remove(key) }
            guard hasChains, case let name = EntryName(name), configuration.route(of: name.type).chain != nil
            else { return }
            chained[name.id] = Entry(state: state, name: name)
        }
        try withNamesLock { () throws(SpoolError) in
            try forEachStandingName(note)
            for state in [QueueState.quarantine, .failed, .new, .deferred] {
                try forEachName(in: state) { name, _ in note(name, state) }
            }
        }
        if done.isEmpty { return 0 }
        var files: [(key: Digest, path: QueuePath, changed: Timestamp)] = []
        for key in done {
            let path = QueuePath("state/\(Self.file(of: key))")
            if let status = try status(path, "look at") { files.append((key, path, status.changedAt)) }
        }
        files.sort { $0.changed < $1.changed }
        let surplus = max(0, files.count - most)
        var old = Array(files.prefix(surplus))
        old += files.dropFirst(surplus).prefix { $0.changed < limit }.filter { mayGo($0.path.description) }
        if !old.isEmpty, hasChains {
            guard let needed = try chains(of: chained.values, configuration) else { return 0 }
            old.removeAll { needed.contains($0.key) }
        }
        var removed = 0
        for start in stride(from: 0, to: old.count, by: Self.removedUnderOneLock) {
            let lock = try lockState()
            defer { lock.release() }
            for (_, path, changed) in old.dropFirst(start).prefix(Self.removedUnderOneLock)
            where try status(path, "look at")?.changedAt == changed {
                try attempt("remove", path) { () throws(Errno) in
                    do throws(Errno) { try system.unlink(root, path.bytes) } catch let error where error == .missing {}
                }
                removed += 1
            }
        }
        if removed > 0 { try syncDirectory(Self.keys) }
        return removed
    }

    /// Returns the chains of these operations, from their files; `nil` if an operation is in flight or has moved.
    private func chains(
        of entries: some Collection<Entry>, _ configuration: Configuration
    ) throws(SpoolError) -> Set<Digest>? {
        var chains: Set<Digest> = []
        for entry in entries {
            guard entry.state != .claimed, let file = try read(entry) else { return nil }
            guard case .operation(let stored) = file else { continue }
            let route = configuration.route(of: entry.name.type)
            if let chain = route.chainDigest(of: stored.operation) { chains.insert(chain) }
        }
        return chains
    }

    /// Returns the time since the oldest foreign file in `new/` was written, zero if there is none; `nil` if a run is
    /// admitting files, or if there are more than a single admission takes.
    private func longestForeignWait(at now: Timestamp) throws(SpoolError) -> Duration? {
        // Listed before and after `new/`: a run claims foreign files, and puts back files that find no room.
        if try isAdmitting() { return nil }
        let names = try foreignNames(atMost: SpoolRun.admissionSize + 1)
        if names.count > SpoolRun.admissionSize { return nil }
        var longest = Duration.zero
        for name in names {
            let status = try status(QueuePath(in: QueueState.new.path, name), "look at")
            if let status, status.kind == .regular { longest = max(longest, now - status.modifiedAt) }
        }
        return try isAdmitting() ? nil : longest
    }

    /// Whether a run has claimed foreign files and not admitted them yet.
    private func isAdmitting() throws(SpoolError) -> Bool {
        for run in try names(in: QueueState.claimed.path) {
            let claims = try namesUnlessEnded(in: QueuePath(in: QueueState.claimed.path, run))
            if claims.contains(where: { SpoolRun.isAdmittingName($0) }) { return true }
        }
        return false
    }

    /// Throws if values cannot be kept for a key, because a newer drainq wrote its file, or the system refuses access.
    package func checkKept(of key: Digest) throws(SpoolError) {
        do throws(SpoolError) { _ = try keptFile(of: key) } catch let error where error.kind == .damaged {}
    }

    /// Returns a key's file for replacement; `nil` if the file is damaged, or if something else is in its place.
    private func replaceableFile(of key: Digest) throws(SpoolError) -> KeptFile? {
        do throws(SpoolError) {
            return try keptFile(of: key)
        } catch {
            if case .notTheFile = error.kind { return nil }
            if error.kind == .damaged { return nil }
            throw error
        }
    }

    private func keptFile(of key: Digest) throws(SpoolError) -> KeptFile? {
        let path = QueuePath("state/\(Self.file(of: key))")
        guard let bytes = try readFile(path, limit: KeptFile.limit) else { return nil }
        do throws(KeptFile.Defect) {
            return try KeptFile(bytes)
        } catch {
            let kind: SpoolError.Kind =
                switch error {
                case .damaged: .damaged
                case .newer(let version): .newerFormat(version)
                }
            throw SpoolError(kind: kind, verb: "read", path: path.description, code: 0)
        }
    }

    /// Makes `state/keys/`. A queue without kept values lacks the directory.
    private func makeKeysDirectory() throws(SpoolError) {
        try attempt("make", Self.keys) { () throws(Errno) in
            if try exists(Self.keys) { return }
            do throws(Errno) {
                try system.makeDirectory(root, Self.keys.bytes, 0o700)
            } catch let error where error == .exists {}
            try sync(Self.keys.parent)
        }
    }

    /// Returns the names in a directory; none if the directory is missing.
    func namesIfThere(in directory: QueuePath) throws(SpoolError) -> [[UInt8]] {
        do throws(SpoolError) {
            return try names(in: directory)
        } catch let error where error.code == Errno.missing.code {
            return []
        }
    }

    /// Returns the names in the directory of another process; none if the process has ended, or if there is no
    /// directory.
    func namesUnlessEnded(in directory: QueuePath) throws(SpoolError) -> [[UInt8]] {
        do throws(SpoolError) {
            return try names(in: directory)
        } catch let error where error.code == Errno.missing.code || error.code == Errno.notADirectory.code {
            return []
        }
    }

    private static func key(ofFile name: [UInt8]) -> Digest? {
        let suffix = Array(".json".utf8)
        guard name.suffix(suffix.count).elementsEqual(suffix) else { return nil }
        return Digest(String(decoding: name.dropLast(suffix.count), as: UTF8.self))
    }
}
