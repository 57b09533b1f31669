package import Policy
package import Spool

/// Operations that wait for a value which no operation of the queue can leave any more.
package struct Unserved: Hashable, Sendable {
    package var count = 0
    /// The name of the value, and the first operation that waits for it.
    package var name: String
    package var first: OperationID
    /// The failed operation that would have left the value; `nil` if there is none in the queue.
    package var failed: OperationID?
    /// The operation that would leave the value, but stands behind these in their sequence; `nil` if there is none.
    package var behind: OperationID?
    /// The creation of the oldest operation.
    fileprivate var oldest: Timestamp

    init(_ name: String, of first: EntryName) {
        (self.name, self.first, oldest) = (name, first.id, first.createdAt)
    }
}

/// The values that operations wait for, by chain and name.
struct KeptLacks {
    /// A value that operations lack. `line`: the sequence in which others of the chain wait for these operations.
    struct Lack: Hashable {
        let name: String
        let line: SequenceKey?
    }

    private(set) var values: [Digest: [Lack: Unserved]] = [:]

    /// Upper bound on the chains judged.
    private static let most = 10_000

    mutating func note(_ lack: Lack, of chain: Digest, for entry: EntryName) {
        if values[chain] == nil, values.count >= Self.most { return }
        var unserved = values[chain]?[lack] ?? Unserved(lack.name, of: entry)
        unserved.count += 1
        unserved.oldest = min(unserved.oldest, entry.createdAt)
        values[chain, default: [:]][lack] = unserved
    }

    /// Takes an operation that can leave these values of a chain, of each chain if its own is unknown. `line`: the
    /// sequence in which it waits.
    mutating func serve(
        _ names: Set<String>, of chain: KeptLookup.Chain, by name: EntryName, in line: SequenceKey?, hasFailed: Bool
    ) {
        let chains: [Digest] =
            switch chain {
            case .none: []
            case .of(let digest): [digest]
            case .unknown: Array(values.keys)
            }
        for chain in chains {
            for (lack, unserved) in values[chain] ?? [:] where names.contains(lack.name) {
                if hasFailed {
                    values[chain]?[lack]?.failed = name.id
                } else if let line, lack.line == line, unserved.oldest < name.createdAt {
                    // What stands behind an operation in its line cannot leave the value.
                    values[chain]?[lack]?.behind = name.id
                } else {
                    values[chain]?[lack] = nil
                }
            }
        }
    }

    /// The values that nothing can leave; `nil` if there are none.
    var unserved: Unserved? {
        let all = values.values.flatMap(\.values)
        var first = all.min { $0.first.description < $1.first.description }
        first?.count = all.reduce(0) { $0 + $1.count }
        return first
    }
}

extension QueueView {
    private mutating func lack(_ name: String, of entry: Entry) -> KeptLacks.Lack {
        KeptLacks.Lack(name: name, line: line(of: entry.name))
    }

    /// Returns the sequence in which an operation whose key is its chain waits for older ones; `nil` if it does not.
    private mutating func line(of name: EntryName) -> SequenceKey? {
        let kind = kinds.kind(of: name)
        return kind.isInLineOfKey ? kind.order.sequence(of: name, to: kind.destination) : nil
    }

    /// Notes that an operation waits for a value.
    mutating func note(_ name: String, of entry: Entry, in lacks: inout KeptLacks) {
        guard case .of(let chain) = chain(of: entry) else { return }
        lacks.note(lack(name, of: entry), of: chain, for: entry.name)
    }

    /// Whether an operation waits for one of the values left in `lacks`.
    mutating func isUnserved(_ name: String, of entry: Entry, in lacks: KeptLacks) -> Bool {
        if lacks.values.isEmpty { return false }
        guard case .of(let chain) = chain(of: entry) else { return false }
        return lacks.values[chain]?[lack(name, of: entry)] != nil
    }

    /// Takes the values away that an operation in these states may still leave. An operation that waits for a value
    /// itself leaves none of that name, and an operation without a chain leaves none at all.
    ///
    /// What waits is listed once more for values that are left then: a run may claim an operation and defer it between
    /// the listings of its two directories.
    mutating func serve(
        _ lacks: inout KeptLacks, from states: [QueueState] = QueueState.standing + [.failed]
    ) throws(SpoolError) {
        let spool = spool
        for state in QueueState.standing + states where !lacks.values.isEmpty {
            try spool.forEachEntry(in: state) { entry in
                let kind = kinds.kind(of: entry.name)
                let left = Set(kind.route.keep.keys).subtracting(kind.keptNames)
                if left.isEmpty { return }
                lacks.serve(
                    left, of: chain(of: entry), by: entry.name, in: line(of: entry.name), hasFailed: state == .failed)
            }
        }
    }

    /// Returns what is known of the value that an operation waits for, if no operation can leave it; `nil` if one can.
    package mutating func unserved(_ lack: String, of entry: Entry) throws(SpoolError) -> Unserved? {
        var lacks = KeptLacks()
        note(lack, of: entry, in: &lacks)
        try serve(&lacks)
        return lacks.unserved
    }
}
