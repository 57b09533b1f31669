package import Policy

/// An operation that a dead run has moved to `failed/`, or has delivered: neither the ledger nor the log nor the
/// counters nor a hook may know of it.
package struct UntoldEnd: Hashable, Sendable {
    /// In `failed/`; in `delivered/` if it was delivered, even if no copy is kept.
    package let entry: Entry
    /// The own url of a failed operation.
    package let url: String?
    /// The record of the last attempt of a failed operation; `nil` if there was no room for one, or if its file cannot
    /// be read.
    package let last: AttemptRecord?
    /// Whether the failure counts towards a storm of its destination.
    package let isOfStorm: Bool
}

extension SpoolDirectory {
    /// Returns the operations that these marks say were delivered, and those in row X that the marks say have failed.
    /// The caller has the names lock.
    func untoldEnds(by marks: [String: ClaimMarks.Meaning]) throws(SpoolError) -> [UntoldEnd] {
        var meanings: [Age: ClaimMarks.Meaning] = [:]
        var ends: [UntoldEnd] = []
        for (text, meaning) in marks {
            guard let name = EntryName(text) else { continue }
            switch meaning {
            case .begun: break
            case .delivered:
                let entry = Entry(state: .delivered, name: name)
                ends.append(UntoldEnd(entry: entry, url: nil, last: nil, isOfStorm: false))
            case .failed, .withheld: meanings[Age(name)] = meaning
            }
        }
        for entry in try find(meanings.keys.map(\.id)).values where entry.state == .failed {
            // Since the mark, the operation may have gone, and another one with its id may have failed.
            guard let meaning = meanings[Age(entry.name)] else { continue }
            // try?: a dead letter that cannot be read has failed all the same.
            let failed = try? operation(at: QueuePath(entry.path), entry.name)
            ends.append(
                UntoldEnd(
                    entry: entry, url: failed?.header.url, last: failed?.attempts.last,
                    isOfStorm: meaning != .failed(isOfStorm: false)))
        }
        return ends.sorted { $0.entry.name.createdAt < $1.entry.name.createdAt }
    }

    /// Returns the operation in a file; `nil` if there is none, or the file is no operation.
    func operation(at path: QueuePath, _ name: EntryName) throws(SpoolError) -> Operation? {
        guard case .operation(let stored)? = try read(path, name: name, limit: Self.readLimit) else { return nil }
        return stored.operation
    }
}
