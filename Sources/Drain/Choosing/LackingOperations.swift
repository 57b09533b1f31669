import Policy
import Spool

/// The operations of a listing that wait for a value of an answer to another one (`keep`), and those that may leave it.
struct LackingOperations {
    private(set) var operations: [(candidate: Candidate, mark: UInt64, kind: OperationKinds.Kind)] = []
    /// The operations that may leave values, by key.
    private var servers: [Digest: Servers] = [:]
    /// Whether the chain of any of them is not its key: only its file has the name of its chain.
    private var hasHiddenChain = false

    private struct Servers {
        /// The number of those that wait for no other operation.
        var unordered = 0
        /// The creation of the oldest operation that stands in a line; a newer server goes after it.
        var oldestInLine: Timestamp?
    }

    var isEmpty: Bool { operations.isEmpty }

    /// Notes an operation that waits or is in flight.
    mutating func note(_ name: ListedName, _ kind: OperationKinds.Kind) {
        guard kind.leavesValues else { return }
        guard kind.route.chain == nil else {
            hasHiddenChain = true
            return
        }
        guard let key = name.keyDigest else { return }
        if kind.isInLineOfKey {
            let oldest = servers[key]?.oldestInLine ?? name.createdAt
            servers[key, default: Servers()].oldestInLine = min(oldest, name.createdAt)
        } else {
            servers[key, default: Servers()].unordered += 1
        }
    }

    /// Adds an operation that waits for a value. It leaves none before it has got one.
    mutating func append(_ candidate: Candidate, _ mark: UInt64, _ kind: OperationKinds.Kind) {
        operations.append((candidate, mark, kind))
        if kind.leavesValues, kind.route.chain == nil, !kind.isInLineOfKey,
            let key = candidate.entry.name.keyDigest
        {
            servers[key]?.unordered -= 1
        }
    }

    /// Whether another operation may leave a value for this one. A server behind this operation in its line does not.
    func mayBeServed(_ name: EntryName, _ kind: OperationKinds.Kind) -> Bool {
        if hasHiddenChain { return true }
        if kind.route.chain != nil { return servers.values.contains { $0.unordered > 0 || $0.oldestInLine != nil } }
        guard let key = name.keyDigest, let servers = servers[key] else { return false }
        if servers.unordered > 0 { return true }
        return servers.oldestInLine.map { !kind.isInLineOfKey || $0 < name.createdAt } ?? false
    }
}
