package import Policy
package import Spool

/// The operations that a command chooses by what they are. A property that is empty or `nil` does not restrict.
package struct OperationFilter {
    package var states: Set<ShownState>
    package var types: Set<TypeName> = []
    package var destinations: Set<Digest> = []
    package var keyDigest: Digest?
    package var since: Timestamp?
    package var before: Timestamp?
    /// The answers to compare with the last attempt, which is in the file and not in its name.
    package var answers: [AnswerPattern] = []

    package init(states: Set<ShownState>) { self.states = states }

    /// Whether the name of the operation passes the filter.
    package func includes(_ entry: Entry, _ known: KnownDestinations) -> Bool {
        let name = entry.name
        if !types.isEmpty, !types.contains(name.type) { return false }
        if let keyDigest, name.keyDigest != keyDigest { return false }
        if let since, name.createdAt < since { return false }
        if let before, name.createdAt >= before { return false }
        let destination = known.table.destination(of: name)
        if !destinations.isEmpty, !destinations.contains(destination.digest) { return false }
        return states.contains(ShownState(of: entry, isHeldWithOthers: known.holds(name)))
    }

    /// Whether the filter must also see the attempts in the file.
    package var needsContent: Bool { !answers.isEmpty }

    package func includes(_ attempts: [AttemptRecord]) -> Bool {
        if answers.isEmpty { return true }
        guard let last = attempts.last else { return false }
        return answers.contains { $0.matches(Cause(last)) }
    }

    /// Whether the file passes the filter. Its time and type may be known; its key, destination and answers are not.
    package func includes(_ item: QuarantineItem) -> Bool {
        if !states.contains(.quarantined) || !destinations.isEmpty || keyDigest != nil || needsContent { return false }
        if !types.isEmpty, !(item.type.map(types.contains) ?? false) { return false }
        guard let time = item.name?.createdAt ?? item.at else { return since == nil && before == nil }
        return time >= since ?? time && before.map { time < $0 } ?? true
    }
}

extension [Entry] {
    var oldestFirst: [Entry] {
        // Indices are sorted faster than entries.
        let order = indices.sorted {
            let (one, other) = (self[$0].name.createdAt, self[$1].name.createdAt)
            return one != other ? one < other : self[$0].name.id < self[$1].name.id
        }
        return order.map { self[$0] }
    }
}

extension SpoolDirectory {
    /// Returns the operations that pass the filter, oldest first, without files in quarantine, which are no operations.
    /// `unread` is the number of files in `new/` that no run has read yet, if the filter looks there. `read` has the
    /// content of the files that the filter has asked for.
    package func entries(
        _ filter: OperationFilter, _ known: KnownDestinations
    ) throws(SpoolError) -> (entries: [Entry], unread: Int, read: [Entry: Fingerprint]) {
        var (found, unread) = try listed(by: filter, known)
        var read: [Entry: Fingerprint] = [:]
        if filter.needsContent {
            for entry in found {
                // A file that is gone, or that cannot be read, has had no answer.
                guard case .success(let operation)? = try portable(entry), filter.includes(operation.attempts) else {
                    continue
                }
                read[entry] = operation.fingerprint
            }
            found = Array(read.keys)
        }
        return (found.oldestFirst, unread, read)
    }

    /// Returns the operations whose names pass the filter, and the number of files in `new/` without a name. A run may
    /// move an operation meanwhile: claims are listed first and last, and an operation is where it was seen last.
    func listed(
        by filter: OperationFilter, _ known: KnownDestinations
    ) throws(SpoolError) -> (entries: [Entry], unread: Int) {
        let states = Set(filter.states.flatMap(\.queueStates))
        var (found, failed): ([Entry], [Entry]) = ([], [])
        var (unread, hasClaims) = (0, false)
        for state in QueueState.standing + [.failed, .delivered] where states.contains(state) {
            let others = try forEachEntry(in: state) { entry in
                if state == .failed { return failed.append(entry) }
                guard filter.includes(entry, known) else { return }
                hasClaims = hasClaims || state == .claimed
                found.append(entry)
            }
            if state == .new { unread = others }
        }
        found += try withRuns(failed).filter { filter.includes($0, known) }
        guard hasClaims else { return (found, unread) }
        let waiting = found.filter { QueueState.waiting.contains($0.state) }
        let last = Dictionary(waiting.map { ($0.name.id, $0) }, uniquingKeysWith: { $1 })
        return (found.filter { !QueueState.waiting.contains($0.state) } + last.values, unread)
    }

    /// Returns the attempts of an operation; none if its file is gone or unreadable.
    package func attempts(of entry: Entry) throws(SpoolError) -> [AttemptRecord] {
        guard case .operation(let stored) = try read(entry) else { return [] }
        return stored.operation.attempts
    }
}
