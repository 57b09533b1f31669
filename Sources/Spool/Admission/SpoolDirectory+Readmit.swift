import CSystem
package import Policy

/// The result of `retry` for a file in quarantine.
package enum Readmission: Hashable, Sendable {
    /// The operation waits again, or its file is in `new/` for the next run. With the operations that were removed to
    /// make room.
    case admitted(Accepted)
    /// Why the file stays in quarantine. Nothing has changed.
    case refused(String)
    /// The file is no longer there.
    case gone
}

/// Readmission from quarantine: an operation goes to `new/` or `deferred/`, any other file to `new/` as a foreign file,
/// by the same admission as from any other source. Row Q → N, D or F (rows: `SpoolDirectory`).
extension SpoolDirectory {
    /// Takes a file out of quarantine: as an operation if it has the name of one, else into `new/` to be read again
    /// like a foreign file. With `isDryRun` changes nothing.
    ///
    /// Operations that `dropOldest` evicts for it go once it is in. If it throws, the file may be in either place.
    package func readmit(
        _ item: QuarantineItem, within control: inout AdmissionControl, now: Timestamp, notBefore: Timestamp? = nil,
        isDryRun: Bool = false
    ) throws(SpoolError) -> Readmission {
        guard let name = item.name else {
            return try readmitForeign(item, within: &control, now, isDryRun)
        }
        let stored: StoredOperation
        switch try read(item.path, name: name, limit: Self.readLimit) {
        case nil: return .gone
        case .notAnOperation(let reason): return .refused(reason)
        case .newerFormat(let version): return .refused("it has format \(version), newer than this drainq reads")
        case .operation(let operation): stored = operation
        }
        let entry = Entry(state: .quarantine, name: name)
        let result = Self.retried(entry, now, notBefore)
        let submission = Submission(
            stored.operation, as: result.name, hasOwnID: true, at: now, isDated: true)
        return try admitIfAllowed(submission, of: item, within: &control, displaces: !isDryRun) {
            file throws(SpoolError) in
            if isDryRun { return true }
            if file.entry.name.createdAt == name.createdAt {
                return try retry(entry, now: now, notBefore: notBefore) != nil
            }
            // Admission has changed its time of creation: a copy with another header enters, then the file is removed.
            _ = try publish([file], durable: true, allOrNone: false)
            return try drop(entry)
        }
    }

    private func readmitForeign(
        _ item: QuarantineItem, within control: inout AdmissionControl, _ now: Timestamp, _ isDryRun: Bool
    ) throws(SpoolError) -> Readmission {
        let configuration = control.rule.configuration
        let limit = configuration.limits.operationBytes +| OperationFile.headerLimit
        let submission: Submission
        switch try attempt("read", item.path, { () throws(Errno) in try content(item.path, limit: limit) }) {
        case .missing: return .gone
        case .notAFile(let reason): return .refused(reason)
        case .tooLong(let size): return .refused("it is too long: \(size) bytes")
        case .bytes(let bytes, let status):
            let read = try attempt("read", item.path) { () throws(Errno) in
                try foreignOperation(in: bytes, status, file: item.fileName, now, configuration.bodyFileRoots)
            }
            switch read {
            case .success(let found): submission = found
            case .failure(let error): return .refused(error.detail)
            }
        }
        // The next run makes room for it.
        var discardedControl = control
        return try admitIfAllowed(submission, of: item, within: &discardedControl, displaces: false) {
            _ throws(SpoolError) in
            if isDryRun { return true }
            guard try moveIfThere(item.path, QueuePath("new/\(item.fileName)"), "retry") else { return false }
            removeReason(item)
            return true
        }
    }

    /// Calls `admit` if the submission may enter. `admit` returns false if the file is gone.
    private func admitIfAllowed(
        _ submission: Submission, of item: QuarantineItem, within control: inout AdmissionControl,
        displaces: Bool, _ admit: (IncomingFile) throws(SpoolError) -> Bool
    ) throws(SpoolError) -> Readmission {
        let id = submission.header.id
        return try withIDs(submission.hasOwnID ? [id] : []) { found throws(SpoolError) in
            if let other = found[id], other.state != .quarantine || other.name != item.name {
                return .refused(
                    "ids in conflict: an operation with the id '\(id)' is in the queue already (\(other.state.rawValue))"
                )
            }
            var isDone = false
            defer { control.endBatch(isDone: isDone) }
            try control.beginBatch(self, [submission], allOrNone: false)
            var submission = submission
            switch try control.admit(&submission, number: 0, self) {
            case .failure(let refusal): return .refused(refusal.description)
            case .success(let file):
                guard try admit(file) else { return .gone }
                var accepted = Accepted(results: [.accepted(file.entry.name)])
                isDone = displaces && remove(control.victims, &accepted)
                return .admitted(accepted)
            }
        }
    }
}
