package import Policy
package import Spool

/// Operations of a destination that are due since before runs that came, and that none of these runs sent, or sent to
/// the end.
package struct Unsent: Hashable, Sendable {
    package private(set) var count = 0
    /// Since when runs have passed over the first of them.
    package private(set) var since: Timestamp
    package private(set) var first: OperationID
    /// Why, as the runs that put it back have told; `nil` if no run has taken it at all.
    package private(set) var reason: String?

    init(_ id: OperationID, since: Timestamp, reason: String?) {
        (first, self.since, self.reason, count) = (id, since, reason, 1)
    }

    /// Adds others.
    func joined(by other: Unsent?) -> Unsent {
        guard let other else { return self }
        var joined = (other.since, other.first.description) < (since, first.description) ? other : self
        joined.count = count + other.count
        return joined
    }

    /// The time without an attempt after which no run is for the operation, if its destination was served meanwhile.
    /// Runs for some types alone may come once a day.
    static let longestTurn = Duration.seconds(25 * 3600)
    /// The time in flight after which a run hangs, unless the route lets a request take as long.
    static let longestFlight = Duration.seconds(3600)
}

/// Operations that wait for a value which no operation of the queue can leave any more.
package struct Unserved: Hashable, Sendable {
    package var count = 0
    /// The name of the value, and the first operation that waits for it.
    package var name: String
    package var first: OperationID
    /// The failed operation that would have left the value; `nil` if there is none in the queue.
    package var failed: OperationID?
    /// The creation of the oldest that waits for the value in a line; `nil` if none does. What stands behind it there
    /// cannot leave the value.
    var oldestInLine: Timestamp?

    package init(_ name: String, of first: OperationID) { (self.name, self.first) = (name, first) }
}

/// The values that operations wait for, by chain and name.
struct KeptLacks {
    private(set) var values: [Digest: [String: Unserved]] = [:]

    /// Upper bound on the chains judged.
    private static let most = 10_000

    /// `isInLine`: other operations of its chain wait for the operation.
    mutating func note(_ name: String, of chain: Digest, for entry: EntryName, isInLine: Bool) {
        if values[chain] == nil, values.count >= Self.most { return }
        var unserved = values[chain]?[name] ?? Unserved(name, of: entry.id)
        unserved.count += 1
        if isInLine { unserved.oldestInLine = min(unserved.oldestInLine ?? entry.createdAt, entry.createdAt) }
        values[chain, default: [:]][name] = unserved
    }

    /// Takes an operation that can leave these values of a chain; `nil` if its chain is not known. `failed`: the
    /// operation, if it has failed. `since`: its creation, if it waits in a line.
    mutating func serve(_ names: Set<String>, of chain: Digest?, failed: OperationID?, inLineSince since: Timestamp?) {
        for chain in chain.map({ [$0] }) ?? Array(values.keys) where values[chain] != nil {
            for name in names {
                if let since, let oldest = values[chain]?[name]?.oldestInLine, oldest < since { continue }
                if let failed { values[chain]?[name]?.failed = failed } else { values[chain]?[name] = nil }
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
    /// Notes that an operation waits for a value.
    mutating func note(_ lack: String, of entry: Entry, in lacks: inout KeptLacks) {
        guard let chain = chain(of: entry) else { return }
        lacks.note(lack, of: chain, for: entry.name, isInLine: kinds.kind(of: entry.name).isInLineOfKey)
    }

    /// Takes the values away that an operation of the queue may still leave. An operation that waits for a value itself
    /// leaves none of that name.
    mutating func serve(_ lacks: inout KeptLacks) throws(SpoolError) {
        if lacks.values.isEmpty { return }
        let spool = spool
        for state in [QueueState.new, .deferred, .claimed, .failed] {
            try spool.forEachEntry(in: state) { entry in
                let kind = kinds.kind(of: entry.name)
                let left = Set(kind.route.keep.keys).subtracting(kind.keptNames)
                if left.isEmpty { return }
                let failed = state == .failed ? entry.name.id : nil
                let since = failed == nil && kind.isInLineOfKey ? entry.name.createdAt : nil
                lacks.serve(left, of: chain(of: entry), failed: failed, inLineSince: since)
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
