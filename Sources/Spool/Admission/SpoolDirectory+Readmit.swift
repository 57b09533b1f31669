import CSystem
package import Policy

/// The result of `retry` for a file in quarantine.
package enum Readmission: Hashable, Sendable {
    /// The operation waits again, or its file is in `new/` for the next run.
    case admitted
    /// Why the file stays in quarantine. Nothing has changed.
    case refused(String)
    /// A newer value of its key is in the queue. Nothing has changed.
    case superseded(by: OperationID)
    /// A run would fail the operation unsent. Nothing has changed. `isOwn`: by its own time, which no retry moves.
    case expired(isOwn: Bool)
    /// The file is no longer there.
    case gone
}

/// Readmission from quarantine: an operation goes to `new/` or `deferred/`. Input of a command and foreign files are
/// read again as they were read (`Reading`), by the same admission as from any other source. Row Q → N or D; of input
/// W → any row of `accept`, then Q → gone (rows: `SpoolDirectory`).
extension SpoolDirectory {
    /// The files, and bytes of them, that share a search for their ids and the syncs.
    private static let readmissionSize = 1_000
    private static let readmissionBytes = 16 << 20

    /// Takes files out of quarantine: as an operation if a file has an operation's name, else by the question that was
    /// asked of its bytes. Leaves a file whose question is not known, or whose answer is still no operation. With
    /// `isDryRun` changes nothing.
    ///
    /// `notBefore` returns the due time of an operation, by the number of files admitted before it. Operations that
    /// values in the queue replace stay in quarantine, unless they come back `asNewest`, created now. Calls `report`
    /// with each result and its due time, once the result is durable. Returns the operations removed to make room; they
    /// go once the others are in. After an error the files without a report may be in either place.
    package func readmit(
        _ items: [QuarantineItem], within control: inout AdmissionControl, now: Timestamp, asNewest: Bool = false,
        isDryRun: Bool = false, notBefore: (_ admitted: Int) -> Timestamp? = { _ in nil },
        report: (QuarantineItem, Readmission, Timestamp?) -> Void
    ) throws(SpoolError) -> Accepted {
        var accepted = Accepted(results: [])
        var admitted = 0
        var rest = items[...]
        while !rest.isEmpty {
            var batch: [ReadItem] = []
            var bytes = 0
            while let item = rest.first, batch.count < Self.readmissionSize, bytes < Self.readmissionBytes {
                batch.append(ReadItem(item: item, content: content(of: item, within: control, now)))
                bytes += batch.last?.submission?.operation.body.count ?? 0
                rest.removeFirst()
            }
            let submissions = batch.compactMap(\.submission)
            let ids = submissions.filter(\.hasOwnID).map(\.header.id)
            try withNamesLock { () throws(SpoolError) in
                try withIDs(ids) { found throws(SpoolError) in
                    var isDone = false
                    defer { control.endBatch(isDone: isDone, in: self) }
                    try control.beginBatch(self, submissions, allOrNone: false)
                    if !asNewest { try refuse(&batch, ReplacementRule(control.rule.configuration, at: now)) }
                    try decide(on: &batch, found, within: &control, now, asNewest) { notBefore(admitted + $0) }
                    if !isDryRun { try control.recordBatch(in: self) }
                    let isComplete = isDryRun ? false : try move(&batch, now)
                    admitted += batch.count { $0.result == .admitted }
                    // If a file has gone meanwhile, the room made for the file is not needed.
                    if isComplete { isDone = removeVictims(within: &control, &accepted) }
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
        /// The file as it enters the queue; `nil` for a file that stays.
        var incoming: IncomingFile?

        init(item: QuarantineItem, content: Content) {
            self.item = item
            self.content = content
        }

        var submission: Submission? { if case .submission(let submission) = content { submission } else { nil } }

        var result: Readmission { if case .none(let result) = content { result } else { .admitted } }
    }

    /// Reads a file in quarantine. An error of the system is a reason to leave this file alone.
    private func content(
        of item: QuarantineItem, within control: AdmissionControl, _ now: Timestamp
    ) -> ReadItem.Content {
        do throws(SpoolError) {
            if let name = item.name, item.isOperation { return try ownContent(of: item, name, now) }
            return try inputContent(of: item, control.rule, now)
        } catch {
            return .none(.refused(error.description))
        }
    }

    /// Reads a file with an operation's name, as a run reads a claim.
    private func ownContent(
        of item: QuarantineItem, _ name: EntryName, _ now: Timestamp
    ) throws(SpoolError) -> ReadItem.Content {
        switch try read(item.path, name: name, limit: Self.readLimit) {
        case nil: return .none(.gone)
        case .notAnOperation(let reason): return .none(.refused(reason))
        case .newerFormat(let version):
            return .none(.refused("it has format \(version), newer than this drainq reads"))
        case .operation(let stored):
            let isKnown = try attempt("read", item.path) { () throws(Errno) in try knowsOwner(of: stored.status) }
            if !isKnown { return .none(.refused(SpoolRun.strangers(stored.status.owner))) }
            if stored.status.links > 1 {
                return .none(.refused("it has \(stored.status.links) names (hard links)"))
            }
            return .submission(Self.retried(stored.operation, name, now, nil))
        }
    }

    private static func retried(
        _ operation: Operation, _ name: EntryName, _ now: Timestamp, _ due: Timestamp?
    ) -> Submission {
        let result = retried(Entry(state: .quarantine, name: name), now, due)
        return Submission(operation, as: result.name, hasOwnID: true, at: now, isDated: true)
    }

    private func inputContent(
        of item: QuarantineItem, _ rule: AdmissionRule, _ now: Timestamp
    ) throws(SpoolError) -> ReadItem.Content {
        guard let reading = item.reading else {
            return .none(.refused("it is not known how its bytes were to be read"))
        }
        if reading.form == .replacement { return .none(.refused("it was to replace an operation")) }
        let configuration = rule.configuration
        let limit = configuration.limits.operationBytes +| OperationFile.headerLimit
        // A line of an export has its body as base64, and its history.
        let most = reading.form == .export ? Self.readLimit : limit
        switch try attempt("read", item.path, { () throws(Errno) in try content(item.path, limit: most) }) {
        case .missing: return .none(.gone)
        case .notAFile(let reason): return .none(.refused(reason))
        case .tooLong(let size): return .none(.refused("it is too long: \(size) bytes"))
        case .bytes(let bytes, let status):
            let (file, roots) = (item.fileName, configuration.bodyFileRoots)
            let read: Result<Submission, OperationFileError>
            if reading.form == .foreign {
                read = try attempt("read", item.path) { () throws(Errno) in
                    try foreignOperation(in: bytes, status, file: file, now, roots, reading: reading)
                }
            } else {
                read = Result { () throws(OperationFileError) in
                    try submission(of: bytes, reading, file: file, now) { bodyFile(at: $0, roots: roots) }
                }
            }
            switch read {
            case .success(var submission):
                rule.setKey(of: &submission)
                return .submission(submission)
            case .failure(let error): return .none(.refused(error.detail))
            }
        }
    }

    /// Refuses the operations that newer values in the queue replace.
    private func refuse(_ batch: inout [ReadItem], _ rule: ReplacementRule) throws(SpoolError) {
        let newer = try newer(than: batch.compactMap(\.submission?.entry.name), by: rule)
        for index in batch.indices {
            guard let name = batch[index].submission?.entry.name, let id = newer[name] else { continue }
            batch[index].content = .none(.superseded(by: id))
        }
    }

    /// Decides which files may enter. `due` returns the due time of an operation, by the number admitted before it.
    private func decide(
        on batch: inout [ReadItem], _ found: [OperationID: Entry], within control: inout AdmissionControl,
        _ now: Timestamp, _ asNewest: Bool, due: (Int) -> Timestamp?
    ) throws(SpoolError) {
        var admitted = 0
        // The same line may be there twice.
        var readmitted: Set<OperationID> = []
        for index in batch.indices {
            guard case .submission(var submission) = batch[index].content else { continue }
            let (item, id) = (batch[index].item, submission.header.id)
            if submission.hasOwnID, let other = found[id], other.state != .quarantine || other.name != item.name {
                let reason = "an operation with the id '\(id)' is in the queue already (\(other.state.rawValue))"
                batch[index].content = .none(.refused("ids in conflict: \(reason)"))
                continue
            }
            if readmitted.contains(id) {
                let reason = "an operation with the id '\(id)' has just come back"
                batch[index].content = .none(.refused("ids in conflict: \(reason)"))
                continue
            }
            batch[index].due = due(admitted)
            if let name = item.name, item.isOperation {
                submission = Self.retried(submission.operation, name, now, batch[index].due)
            } else if let due = batch[index].due {
                submission.wait(until: due)
            }
            if asNewest { submission.useSubmissionTime() }
            let route = control.rule.configuration.route(of: submission.header.type)
            if QueueState.waiting.contains(submission.entry.state),
                Settlement.decide(onExpiryOf: submission.operation, route: route, now: now) != nil
            {
                let isOwn = submission.header.expiresAt.map { $0 <= now } ?? false
                batch[index].content = .none(.expired(isOwn: isOwn))
                continue
            }
            switch try control.admit(&submission, isCandidate: true, self) {
            case .failure(let refusal): batch[index].content = .none(.refused(refusal.description))
            case .success(let file):
                batch[index].incoming = file
                readmitted.insert(id)
                admitted += 1
            }
        }
    }

    /// Moves the admitted files. Returns whether every file was still there. After an error reports nothing: some files
    /// have moved.
    private func move(_ batch: inout [ReadItem], _ now: Timestamp) throws(SpoolError) -> Bool {
        var isComplete = true
        var work = Result<Void, SpoolError>.success(())
        try withSharedSyncs {
            work = Result { () throws(SpoolError) in
                for (index, read) in batch.enumerated() where read.result == .admitted {
                    if try move(read, now) { continue }
                    batch[index].content = .none(.gone)
                    isComplete = false
                }
            }
        }
        try work.get()
        return isComplete
    }

    /// Row Q → N or D. Returns false if the file is no longer there. The caller has the names lock, so nobody drops it
    /// now.
    private func move(_ read: ReadItem, _ now: Timestamp) throws(SpoolError) -> Bool {
        let item = read.item
        guard try status(item.path, "retry") != nil else { return false }
        guard let file = read.incoming else { return false }
        if let name = item.name, item.isOperation, file.entry.name.createdAt == name.createdAt {
            return try retry(Entry(state: .quarantine, name: name), now: now, notBefore: read.due) != nil
        }
        // Bytes that were no operation, or whose time of creation admission has changed: the file takes their place.
        _ = try publish([file], durable: true, allOrNone: true, insteadOf: item.path)
        removeReason(item)
        try syncAfterMove(from: item.path.parent)
        return true
    }
}
