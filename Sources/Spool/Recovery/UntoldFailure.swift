package import Policy

/// An operation that a dead run has moved to `failed/`: neither the ledger nor the log nor the counters nor a hook may
/// know of it.
package struct UntoldFailure: Hashable, Sendable {
    package let entry: Entry
    /// The record of its last attempt; `nil` if there was no room for one, or if its file cannot be read.
    package let last: AttemptRecord?
    /// Whether the failure counts towards a storm of its destination.
    package let isOfStorm: Bool
}

extension SpoolDirectory {
    /// Returns the operations in row X that these marks say have failed. The caller has the names lock.
    func untoldFailures(by marks: [String: ClaimMarks.Meaning]) throws(SpoolError) -> [UntoldFailure] {
        var meanings: [OperationID: ClaimMarks.Meaning] = [:]
        for (text, meaning) in marks where meaning.isFailure {
            if let name = EntryName(text) { meanings[name.id] = meaning }
        }
        let found = try find(Array(meanings.keys)).values.filter { $0.state == .failed }
        return found.sorted { $0.name.createdAt < $1.name.createdAt }.map { entry in
            // try?: a dead letter that cannot be read has failed all the same.
            let last = try? lastAttempt(at: QueuePath(entry.path), entry.name)
            let isOfStorm = meanings[entry.name.id] != .failed(isOfStorm: false)
            return UntoldFailure(entry: entry, last: last, isOfStorm: isOfStorm)
        }
    }

    /// Returns the record of the last attempt of an operation; `nil` if there is none, or the file is no operation.
    func lastAttempt(at path: QueuePath, _ name: EntryName) throws(SpoolError) -> AttemptRecord? {
        guard case .operation(let stored)? = try read(path, name: name, limit: Self.readLimit) else { return nil }
        return stored.operation.attempts.last
    }
}
