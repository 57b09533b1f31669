package import Policy

/// Enqueueing: row W → N.
extension SpoolDirectory {
    /// From this many operations on, the file system is synced once instead of each file.
    static let groupSize = 16

    /// Takes operations in. When it returns, what it calls accepted survives a power cut, if `durable`.
    ///
    /// The caller gives times of creation that increase strictly. `givenIDs` are those a person chose: only they are
    /// looked for in the queue, once for the batch, in every state but `delivered`. With `allOrNone` one rejected
    /// operation keeps out the others. A thrown error means that none of the batch is promised, and that what could be
    /// taken back has been.
    package func accept(
        _ operations: [Operation], limits: Limits, durable: Bool = true, givenIDs: Set<OperationID> = [],
        allOrNone: Bool = false
    ) throws(SpoolError) -> Accepted {
        var admittance = try Admittance(self, limits, ids: givenIDs)
        var results: [Acceptance] = []
        var files: [(index: Int, name: EntryName, bytes: [UInt8])] = []
        var seen: Set<OperationID> = []
        for (index, operation) in operations.enumerated() {
            let id = operation.header.id
            if let state = admittance.found[id] ?? (seen.insert(id).inserted ? nil : .new) {
                results.append(.duplicate(of: state))
                continue
            }
            let bytes = OperationFile.encode(operation)
            if let limit = try admittance.admit(size: bytes.count, body: operation.body.count) {
                results.append(.rejected(limit))
                continue
            }
            let name = EntryName(naming: operation.header)
            files.append((index, name, bytes))
            results.append(.accepted(name))
        }
        let rejects = results.contains { if case .rejected = $0 { true } else { false } }
        if allOrNone, rejects {
            for file in files { results[file.index] = .notAttempted }
            return Accepted(results: results, dropped: [])
        }
        if files.isEmpty { return Accepted(results: results, dropped: []) }
        let dropped = try publish(files.map { ($0.name, $0.bytes) }, durable: durable, dropping: admittance.victims) {
            index in
            results[files[index].index] = .duplicate(of: .new)
        }
        return Accepted(results: results, dropped: dropped)
    }

    /// Writes all, makes the data durable, drops the victims, renames all, makes the names durable. On an error what
    /// has been renamed is taken back, as far as no run was faster, and nothing stays in `tmp/`.
    func publish(
        _ files: [(name: EntryName, bytes: [UInt8])], durable: Bool, dropping victims: [Entry] = [],
        exists: (Int) -> Void
    ) throws(SpoolError) -> [Entry] {
        let workshop = try Workshop(self)
        defer { workshop.close() }
        let new = QueueState.new.path
        let grouped = files.count >= Self.groupSize
        var temporaries: [QueuePath] = []
        for file in files {
            let temporary = workshop.nextPath()
            try attempt("accept into", new) { () throws(Errno) in
                try createFile(temporary, file.bytes, durable: durable && !grouped)
            }
            temporaries.append(temporary)
        }
        // `root` was opened before the files were written: an error in writing any of them back is seen here.
        if durable, grouped { try attempt("sync", new) { () throws(Errno) in try system.syncfs(root) } }

        var dropped: [Entry] = []
        for victim in victims where try drop(QueuePath(victim.path), workshop) { dropped.append(victim) }
        for state in Set(dropped.map(\.state)) { try syncDirectory(state.path) }

        var published: [QueuePath] = []
        do throws(Errno) {
            for (index, file) in files.enumerated() {
                let path = QueuePath(.new, file.name)
                do throws(Errno) {
                    try move(temporaries[index], path)
                    published.append(path)
                } catch let error where error == .exists {
                    exists(index)
                }
            }
            if durable { try sync(new) }
        } catch {
            for path in published { try? system.unlink(root, path.bytes) }
            throw SpoolError(error, "accept into", new)
        }
        return dropped
    }
}
