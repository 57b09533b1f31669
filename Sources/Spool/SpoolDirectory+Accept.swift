package import Policy

/// Enqueueing: row W → N, and for what has been in a queue before (`SpoolDirectory+Restore`) D, X or K.
extension SpoolDirectory {
    /// From this many operations on, the file system is synced once instead of each file.
    static let groupSize = 16

    /// Takes operations in. When it returns, what it calls accepted survives a power cut, if `durable`.
    ///
    /// The caller gives times of creation that increase strictly. `givenIDs` are those a person chose: only they are
    /// looked for in the queue, once for the batch, in every state but `delivered`. With `allOrNone` one rejected
    /// operation keeps out the others. A thrown error means that none of the batch is promised, and that what could be
    /// taken back has been.
    ///
    /// Who gives more than one batch keeps an `Admittance` between them.
    package func accept(
        _ operations: [Operation], limits: Limits, durable: Bool = true, givenIDs: [OperationID] = [],
        allOrNone: Bool = false
    ) throws(SpoolError) -> Accepted {
        var admittance = Admittance(limits)
        return try accept(
            operations, within: &admittance, durable: durable, givenIDs: givenIDs, allOrNone: allOrNone)
    }

    /// Takes one batch of several in.
    ///
    /// Under `dropOldest` the older ones go when the newer ones are in: an error, or a crash, before that costs none of
    /// them. So the queue can be over its limits for a moment, and after a crash until the next `add`.
    package func accept(
        _ operations: [Operation], within admittance: inout Admittance, durable: Bool = true,
        givenIDs: [OperationID] = [], allOrNone: Bool = false
    ) throws(SpoolError) -> Accepted {
        let found = try find(givenIDs).mapValues(\.state)
        let files = operations.lazy.map { operation in
            IncomingFile(
                entry: Entry(state: .new, name: EntryName(naming: operation.header)),
                bytes: OperationFile.encode(operation), body: operation.body.count)
        }
        return try take(files, found, within: &admittance, durable: durable, allOrNone: allOrNone)
    }

    /// Row W → N or D: takes in an operation that was attempted before it came to the queue. Its name has the attempts and
    /// the time of the next one. `hasOwnID` says that a person chose its id.
    package func accept(
        _ operation: Operation, as name: EntryName, limits: Limits, hasOwnID: Bool
    ) throws(SpoolError) -> Accepted {
        var admittance = Admittance(limits)
        let found = try find(hasOwnID ? [operation.header.id] : []).mapValues(\.state)
        let file = IncomingFile(
            entry: Entry(state: .home(of: name), name: name.asWritten), bytes: OperationFile.encode(operation),
            body: operation.body.count)
        return try take([file], found, within: &admittance, durable: true, allOrNone: false)
    }

    /// Row W → that of each entry, but for those whose id is among `found`.
    func take(
        _ files: some Collection<IncomingFile>, _ found: [OperationID: QueueState],
        within admittance: inout Admittance, durable: Bool, allOrNone: Bool
    ) throws(SpoolError) -> Accepted {
        var isDone = false
        defer { admittance.endBatch(isDone: isDone) }
        try admittance.beginBatch(self)
        var results: [Acceptance] = []
        var taken: [(index: Int, file: IncomingFile)] = []
        var seen: [OperationID: QueueState] = [:]
        for (index, file) in files.enumerated() {
            let id = file.entry.name.id
            if let state = found[id] ?? seen.updateValue(file.entry.state, forKey: id) {
                results.append(.duplicate(of: state))
                continue
            }
            if let limit = try admittance.admit(self, file) {
                results.append(.rejected(limit))
                continue
            }
            taken.append((index, file))
            results.append(.accepted(file.entry.name))
        }
        let rejects = results.contains { if case .rejected = $0 { true } else { false } }
        if allOrNone, rejects {
            for (index, _) in taken { results[index] = .notAttempted }
            return Accepted(results: results)
        }
        var accepted = Accepted(results: results)
        if !taken.isEmpty {
            try publish(taken.map(\.file), durable: durable) { index in
                accepted.results[taken[index].index] = .duplicate(of: taken[index].file.entry.state)
            }
            drop(admittance.victims, &accepted)
        }
        isDone = accepted.dropped.count == admittance.victims.count
        return accepted
    }

    /// Writes all, makes the data durable, renames all, makes the names durable. On an error what has been renamed is
    /// taken back, as far as no run was faster, and nothing stays in `tmp/`.
    func publish(_ files: [IncomingFile], durable: Bool, exists: (Int) -> Void) throws(SpoolError) {
        let workshop = try Workshop(self)
        defer { workshop.close() }
        let grouped = files.count >= Self.groupSize
        var temporaries: [QueuePath] = []
        for file in files {
            let temporary = workshop.nextPath()
            try attempt("accept into", file.entry.state.path) { () throws(Errno) in
                try createFile(temporary, file.bytes, durable: durable && !grouped)
            }
            temporaries.append(temporary)
        }
        // `root` was opened before the files were written: an error in writing any of them back is seen here.
        if durable, grouped { try attempt("sync", QueuePath(".")) { () throws(Errno) in try system.syncfs(root) } }

        var published: [QueuePath] = []
        var target = QueueState.new.path
        do throws(Errno) {
            for (index, file) in files.enumerated() {
                target = file.entry.state.path
                let path = QueuePath(file.entry.path)
                do throws(Errno) {
                    try move(temporaries[index], path)
                    published.append(path)
                } catch let error where error == .exists {
                    exists(index)
                }
            }
            guard durable else { return }
            for directory in Set(files.map(\.entry.state)) {
                target = directory.path
                try sync(target)
            }
        } catch {
            for path in published { try? system.unlink(root, path.bytes) }
            throw SpoolError(error, "accept into", target)
        }
    }

    /// Row N, D → gone, for what the newer ones have taken the place of. An error leaves the rest: they have been
    /// accepted, and the next `add` finds the queue over its limits.
    private func drop(_ victims: [Entry], _ accepted: inout Accepted) {
        if victims.isEmpty { return }
        do throws(SpoolError) {
            let workshop = try Workshop(self)
            defer { workshop.close() }
            for victim in victims where try drop(QueuePath(victim.path), workshop) { accepted.dropped.append(victim) }
            for state in Set(accepted.dropped.map(\.state)) { try syncDirectory(state.path) }
        } catch {
            accepted.errors.append(error)
        }
    }
}

/// A file that is to be taken in, and where.
struct IncomingFile {
    var entry: Entry
    var bytes: [UInt8]
    /// How many of the bytes are the operation's body.
    var body: Int
    /// How many are records of attempts.
    var history = 0
}
