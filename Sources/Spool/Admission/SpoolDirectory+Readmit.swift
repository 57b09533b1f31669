import CSystem
package import Policy

/// The result of `retry` for a file in quarantine.
package enum Readmission: Hashable, Sendable {
    /// The operation waits again, or its file is in `new/` for the next run.
    case admitted
    /// Why the file stays in quarantine. Nothing has changed.
    case refused(String)
    /// The file is no longer there.
    case gone
}

/// Readmission from quarantine: an operation goes to `new/` or `deferred/`, any other file to `new/` as a foreign file,
/// by the same admission as from any other source. Row Q → N, D or F (rows: `SpoolDirectory`).
extension SpoolDirectory {
    /// The files, and bytes of them, that share a search for their ids and the syncs.
    private static let readmissionSize = 1_000
    private static let readmissionBytes = 16 << 20

    /// Takes files out of quarantine: as an operation if a file has an operation's name, else into `new/` to be read
    /// again like a foreign file. With `isDryRun` changes nothing.
    ///
    /// `notBefore` returns the due time of an operation, by the number of files admitted before it. Calls `report` with
    /// each result and its due time, once the result is durable. Returns the operations removed to make room; they go
    /// once the others are in. After an error the files without a report may be in either place.
    package func readmit(
        _ items: [QuarantineItem], within control: inout AdmissionControl, now: Timestamp, isDryRun: Bool = false,
        notBefore: (_ admitted: Int) -> Timestamp? = { _ in nil },
        report: (QuarantineItem, Readmission, Timestamp?) -> Void
    ) throws(SpoolError) -> Accepted {
        var accepted = Accepted(results: [])
        var admitted = 0
        var rest = items[...]
        while !rest.isEmpty {
            var batch: [ReadItem] = []
            var bytes = 0
            while let item = rest.first, batch.count < Self.readmissionSize, bytes < Self.readmissionBytes {
                batch.append(ReadItem(item: item, content: try content(of: item, within: control, now)))
                bytes += batch.last?.submission?.operation.body.count ?? 0
                rest.removeFirst()
            }
            let submissions = batch.compactMap(\.submission)
            let ids = submissions.filter(\.hasOwnID).map(\.header.id)
            // The moves take the names lock, for which the holder of the admission lock needs the ids lock.
            try withIDsLock { () throws(SpoolError) in
                try withIDs(ids) { found throws(SpoolError) in
                    var isDone = false
                    defer { control.endBatch(isDone: isDone, in: self) }
                    try control.beginBatch(self, submissions, allOrNone: false)
                    try decide(on: &batch, found, within: &control, now) { notBefore(admitted + $0) }
                    if !isDryRun { try control.recordBatch(in: self) }
                    let isComplete = isDryRun ? false : try move(&batch, displaced: control.victims, now)
                    admitted += batch.count { $0.result == .admitted }
                    // If a file has gone meanwhile, the room made for the file is not needed.
                    if isComplete { isDone = remove(control.victims, &accepted) }
                }
            }
            for read in batch { report(read.item, read.result, read.due) }
        }
        return accepted
    }

    /// A file in quarantine whose content has been read, and then the decision on it.
    private struct ReadItem {
        enum Content {
            case submission(Submission)
            case none(Readmission)
        }

        let item: QuarantineItem
        var content: Content
        var due: Timestamp?
        /// The file as it enters the queue, with its number in the batch of the admission; `nil` for a foreign file.
        var incoming: (file: IncomingFile, number: Int)?

        init(item: QuarantineItem, content: Content) {
            self.item = item
            self.content = content
        }

        var submission: Submission? { if case .submission(let submission) = content { submission } else { nil } }

        var result: Readmission { if case .none(let result) = content { result } else { .admitted } }
    }

    private func content(
        of item: QuarantineItem, within control: AdmissionControl, _ now: Timestamp
    ) throws(SpoolError) -> ReadItem.Content {
        guard let name = item.name else { return try foreignContent(of: item, control.rule.configuration, now) }
        switch try read(item.path, name: name, limit: Self.readLimit) {
        case nil: return .none(.gone)
        case .notAnOperation(let reason): return .none(.refused(reason))
        case .newerFormat(let version):
            return .none(.refused("it has format \(version), newer than this drainq reads"))
        case .operation(let stored): return .submission(Self.retried(stored.operation, name, now, nil))
        }
    }

    private static func retried(
        _ operation: Operation, _ name: EntryName, _ now: Timestamp, _ due: Timestamp?
    ) -> Submission {
        let result = retried(Entry(state: .quarantine, name: name), now, due)
        return Submission(operation, as: result.name, hasOwnID: true, at: now, isDated: true)
    }

    private func foreignContent(
        of item: QuarantineItem, _ configuration: Configuration, _ now: Timestamp
    ) throws(SpoolError) -> ReadItem.Content {
        let limit = configuration.limits.operationBytes +| OperationFile.headerLimit
        switch try attempt("read", item.path, { () throws(Errno) in try content(item.path, limit: limit) }) {
        case .missing: return .none(.gone)
        case .notAFile(let reason): return .none(.refused(reason))
        case .tooLong(let size): return .none(.refused("it is too long: \(size) bytes"))
        case .bytes(let bytes, let status):
            let read = try attempt("read", item.path) { () throws(Errno) in
                try foreignOperation(in: bytes, status, file: item.fileName, now, configuration.bodyFileRoots)
            }
            switch read {
            case .success(let submission): return .submission(submission)
            case .failure(let error): return .none(.refused(error.detail))
            }
        }
    }

    /// Decides which files may enter. `due` returns the due time of an operation, by the number admitted before it.
    private func decide(
        on batch: inout [ReadItem], _ found: [OperationID: Entry], within control: inout AdmissionControl,
        _ now: Timestamp, due: (Int) -> Timestamp?
    ) throws(SpoolError) {
        // The next run makes room for the foreign files.
        var foreignControl = control
        var (operations, foreign) = (0, 0)
        for index in batch.indices {
            guard case .submission(var submission) = batch[index].content else { continue }
            let (item, id) = (batch[index].item, submission.header.id)
            if submission.hasOwnID, let other = found[id], other.state != .quarantine || other.name != item.name {
                let reason = "an operation with the id '\(id)' is in the queue already (\(other.state.rawValue))"
                batch[index].content = .none(.refused("ids in conflict: \(reason)"))
                continue
            }
            batch[index].due = due(operations + foreign)
            let admission: Result<IncomingFile, AdmissionRefusal>
            if let name = item.name {
                submission = Self.retried(submission.operation, name, now, batch[index].due)
                admission = try control.admit(&submission, number: operations, self)
            } else {
                admission = try foreignControl.admit(&submission, number: foreign, self)
            }
            switch admission {
            case .failure(let refusal): batch[index].content = .none(.refused(refusal.description))
            case .success(let file) where item.name != nil:
                batch[index].incoming = (file, operations)
                operations += 1
            case .success: foreign += 1
            }
        }
    }

    /// Moves the admitted files, and drops files displaced by later files of the batch. Returns whether every file was
    /// still there. After an error reports nothing: some files have moved.
    private func move(
        _ batch: inout [ReadItem], displaced victims: [RemovalCandidates.Victim], _ now: Timestamp
    ) throws(SpoolError) -> Bool {
        let displaced = Set(victims.compactMap(\.member))
        var isComplete = true
        var work = Result<Void, SpoolError>.success(())
        try withSharedSyncs {
            work = Result { () throws(SpoolError) in
                for (index, read) in batch.enumerated() where read.result == .admitted {
                    let isDisplaced = read.incoming.map { displaced.contains($0.number) } ?? false
                    if try move(read, isDisplaced: isDisplaced, now) { continue }
                    batch[index].content = .none(.gone)
                    isComplete = false
                }
            }
        }
        try work.get()
        return isComplete
    }

    /// Row Q → N, D or F; gone if it is displaced. Returns false if the file is no longer there.
    private func move(_ read: ReadItem, isDisplaced: Bool, _ now: Timestamp) throws(SpoolError) -> Bool {
        let item = read.item
        guard let name = item.name, let file = read.incoming?.file else {
            guard try moveIfThere(item.path, QueuePath("new/\(item.fileName)"), "retry") else { return false }
            removeReason(item)
            return true
        }
        let entry = Entry(state: .quarantine, name: name)
        if !isDisplaced {
            if file.entry.name.createdAt == name.createdAt {
                return try retry(entry, now: now, notBefore: read.due) != nil
            }
            // Admission has changed its time of creation: a copy with another header enters, then the file is removed.
            _ = try publish([file], durable: true, allOrNone: false)
        }
        return try drop(entry)
    }
}
