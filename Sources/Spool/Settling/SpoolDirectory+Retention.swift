package import Policy

/// The evidence that a copy or a dead letter has been kept for as long as its retention.
package struct RetentionEnd: ~Copyable {
    let file: DepartingFile

    fileprivate init(of file: DepartingFile) { self.file = file }
}

extension SpoolDirectory {
    /// Row X or K → gone, for files that came to their state before `limit`, if `mayGo` allows. Returns how many. Age
    /// never removes a waiting operation or a file in quarantine, so other states return 0. Throws the first error with
    /// a file once the other files are gone.
    @discardableResult
    package func prune(
        _ state: QueueState, olderThan limit: Timestamp, at now: Timestamp,
        where mayGo: (_ path: String) -> Bool = { _ in true }
    ) throws(SpoolError) -> Int {
        switch state {
        case .new, .deferred, .claimed, .quarantine: return 0
        case .failed, .delivered: break
        }
        var count = 0
        var first: SpoolError?
        for path in try names(in: state.path).map({ QueuePath(in: state.path, $0) }) {
            do throws(SpoolError) {
                guard try isOld(path, before: limit), mayGo(path.description) else { continue }
                if try state == .failed ? removeDeadLetter(path, olderThan: limit, at: now) : removeCopy(path) {
                    count += 1
                }
            } catch {
                first = first ?? error
                if error.isLocked { break }
            }
        }
        if count > 0 { try syncDirectory(state.path) }
        if let first { throw first }
        return count
    }

    /// Whether a regular file came to its state before `limit`.
    private func isOld(_ path: QueuePath, before limit: Timestamp) throws(SpoolError) -> Bool {
        guard let status = try status(path, "look at"), status.kind == .regular else { return false }
        return status.changedAt < limit
    }

    private func removeCopy(_ path: QueuePath) throws(SpoolError) -> Bool {
        try depart("remove", .pastRetention(RetentionEnd(of: DepartingFile(path: path))))
    }

    /// Looks again with the names lock: no operator's command brings the operation back meanwhile, so no later failure
    /// has the name, and its run takes back no withheld failure. Leaves a failure that is not certain.
    private func removeDeadLetter(
        _ path: QueuePath, olderThan limit: Timestamp, at now: Timestamp
    ) throws(SpoolError) -> Bool {
        try withNamesLock { () throws(SpoolError) in
            guard try isOld(path, before: limit), try isCertain(path) else { return false }
            let file = DepartingFile(path: path, ending: ending(of: path, at: now))
            return try depart("remove", .pastRetention(RetentionEnd(of: file)))
        }
    }

    /// Whether no run may take back the failure, or has still to tell of it. The file is there, so its mark would be
    /// there, too.
    private func isCertain(_ path: QueuePath) throws(SpoolError) -> Bool {
        guard let name = path.nameBytes.withUnsafeBufferPointer({ EntryName($0) }) else { return true }
        return try markedFailures(where: { $0.isFailure })[name.id] == nil
    }

    /// Returns how a dead letter ended; `nil` if its file has no name of an operation.
    private func ending(of path: QueuePath, at now: Timestamp) -> LogEvent? {
        guard let name = path.nameBytes.withUnsafeBufferPointer({ EntryName($0) }) else { return nil }
        var event = LogEvent.ending(.failed, of: name, at: now)
        // try?: what cannot be read goes all the same, without its cause.
        if case .operation(let stored)? = try? read(path, name: name, limit: Self.readLimit),
            let last = stored.operation.attempts.last
        {
            (event.cause, event.ruleCode) = (last.cause, last.ruleCode?.rawValue)
        }
        return event
    }
}
