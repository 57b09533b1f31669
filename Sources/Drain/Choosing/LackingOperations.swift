import Policy
import Spool

/// The operations of a listing that wait for a value of an answer to another one (`keep`), and those that may leave it.
struct LackingOperations {
    private(set) var operations: [(candidate: Candidate, mark: UInt64, kind: OperationKinds.Kind)] = []
    /// The number of operations that may leave values, by key.
    private var servers: [Digest: Int] = [:]
    /// Whether the chain of any of them is not its key: only its file has the name of its chain.
    private var hasHiddenChain = false

    var isEmpty: Bool { operations.isEmpty }

    /// Notes an operation that waits or is in flight.
    mutating func note(_ name: ListedName, _ kind: OperationKinds.Kind) {
        guard kind.leavesValues else { return }
        let route = kind.route
        if route.chain != nil { hasHiddenChain = true }
        if route.chain == nil, let key = name.keyDigest { servers[key, default: 0] += 1 }
    }

    /// Adds an operation that waits for a value. It leaves none before it has got one.
    mutating func append(_ candidate: Candidate, _ mark: UInt64, _ kind: OperationKinds.Kind) {
        operations.append((candidate, mark, kind))
        if kind.leavesValues, kind.route.chain == nil, let key = candidate.entry.name.keyDigest {
            servers[key, default: 0] -= 1
        }
    }

    /// Whether another operation may leave a value for this one.
    func mayBeServed(_ name: EntryName, _ route: Route) -> Bool {
        if hasHiddenChain { return true }
        if route.chain != nil { return servers.values.contains { $0 > 0 } }
        return name.keyDigest.map { servers[$0] ?? 0 > 0 } ?? false
    }
}
