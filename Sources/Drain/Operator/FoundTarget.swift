import Policy
package import Spool

/// The operation or file named by a target.
package enum FoundTarget {
    case operation(Entry)
    case quarantined(QuarantineItem)
}

extension SpoolDirectory {
    /// Returns the operations and files of these names. An id means a file in quarantine only if no operation has it,
    /// and the copy of a delivered operation only if no other one has it, unless `withCopies`.
    package func found(
        _ targets: [NamedTarget], withCopies: Bool = false
    ) throws(SpoolError) -> [NamedTarget: [FoundTarget]] {
        let wanted = Set(targets)
        var entries: [Entry] = []
        for state in QueueState.allCases where state != .quarantine {
            try forEachName(in: state) { name, run in
                guard wanted.contains(.id(name.id)) else { return }
                entries.append(Entry(state: state, name: EntryName(name), claimedBy: run))
            }
        }
        var found = Dictionary(grouping: try withRuns(entries)) { NamedTarget.id($0.name.id) }
            .mapValues { $0.map(FoundTarget.operation) }
        if !withCopies { found = found.mapValues(\.withoutEarlierCopies) }
        let missing = wanted.subtracting(found.keys)
        if missing.isEmpty { return found }
        for item in try quarantined() {
            for target in [NamedTarget.file(item.fileName), item.id.map { .id($0) }] {
                if let target, missing.contains(target) { found[target, default: []].append(.quarantined(item)) }
            }
        }
        return found
    }
}

extension [FoundTarget] {
    /// The targets of the undelivered operation; without such an operation, of the copy created last. An operation may
    /// be met in two states: it moves meanwhile.
    fileprivate var withoutEarlierCopies: Self {
        let current = filter { !$0.isDelivered }.compactMap(\.createdAt).max() ?? compactMap(\.createdAt).max()
        return filter { $0.createdAt == current }
    }
}

extension FoundTarget {
    fileprivate var isDelivered: Bool {
        if case .operation(let entry) = self { entry.state == .delivered } else { false }
    }

    fileprivate var createdAt: Timestamp? {
        if case .operation(let entry) = self { entry.name.createdAt } else { nil }
    }
}
