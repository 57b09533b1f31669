package import Policy

/// The reader of values: which operations of the queue replace others. Runs, admission and operators' commands ask it,
/// and the decision is `ReplacementRule`. A caller's cache may propose an operation, but a value goes only after a
/// newer one was opened (`Successor`).
extension SpoolDirectory {
    /// Returns the operations in row N, D or C that replace these, if they come back. Opens an operation that waits: a
    /// file that no run sends replaces nothing. The caller has the names lock.
    package func newer(
        than names: [EntryName], by rule: ReplacementRule
    ) throws(SpoolError) -> [EntryName: OperationID] {
        let groups = Set(names.compactMap(rule.group))
        if groups.isEmpty { return [:] }
        var values: [SequenceKey: [Entry]] = [:]
        try forEachValue(in: QueueState.standing, of: rule) { entry, group in
            guard groups.contains(group), entry.state == .claimed || rule.mayReplace(entry.name) else { return }
            values[group, default: []].append(entry)
        }
        let newest = values.compactMapValues { values in
            values.sorted { $0.name.isOlder(than: $1.name) }.last { !isUnfit($0, by: rule) }?.name
        }
        var newer: [EntryName: OperationID] = [:]
        for name in names {
            guard let value = rule.group(of: name).flatMap({ newest[$0] }), name.isOlder(than: value) else { continue }
            newer[name] = value.id
        }
        return newer
    }

    /// Whether no run sends a waiting file. A file that has gone meanwhile is in flight.
    private func isUnfit(_ entry: Entry, by rule: ReplacementRule) -> Bool {
        if entry.state == .claimed { return false }
        // try?: what cannot be read may be a value.
        switch (try? readAsRun(entry)).flatMap(\.self) {
        case .notAnOperation: return true
        case .operation(let stored): return !mayBeSent(stored.operation, by: rule)
        case .newerFormat, nil: return false
        }
    }

    /// Whether a run may send an opened operation: it has not expired, and its body file is as it was.
    func mayBeSent(_ operation: Operation, by rule: ReplacementRule) -> Bool {
        if rule.hasExpired(operation) { return false }
        guard let file = operation.bodyFile else { return true }
        if case .success = current(file, roots: rule.bodyFileRoots) { return true }
        return false
    }

    /// Returns the values in rows X and Q that a sent operation replaces; in rows N and D, too, if they may be there.
    /// The caller has the names lock.
    func superseded(by newer: Successor, _ rule: ReplacementRule) throws(SpoolError) -> [Entry] {
        var older: [Entry] = []
        let waiting = rule.mayLeaveOlder(newer.name) ? [QueueState.new, .deferred] : []
        try forEachValue(in: [.failed, .quarantine] + waiting, of: rule) { entry, _ in
            if newer.replaces(entry.name, by: rule) { older.append(entry) }
        }
        return older
    }

    /// Streams the operations that others of their group may replace, as `forEachName` does.
    package func forEachValue(
        in states: [QueueState], of rule: ReplacementRule, _ body: (Entry, SequenceKey) -> Void
    ) throws(SpoolError) {
        for state in states {
            try forEachName(in: state) { name, _ in
                guard name.keyDigest != nil, case let name = EntryName(name), let group = rule.group(of: name) else {
                    return
                }
                body(Entry(state: state, name: name), group)
            }
        }
    }

    /// Returns when names in the directories of these states last changed, in nanoseconds.
    package func changes(of states: [QueueState]) throws(SpoolError) -> [Int64] {
        try states.map { (state) throws(SpoolError) in try status(state.path, "look at")?.modifiedNanoseconds ?? 0 }
    }
}

extension EntryName {
    func isOlder(than other: EntryName) -> Bool { (createdAt, id) < (other.createdAt, other.id) }
}
