import Policy
import Spool

/// The names of the values kept for each chain, for one pass. Reads the file of a chain at most once; the next pass
/// reads it again, because other runs keep values too.
final class KeptLookup {
    enum Chain {
        case none
        case of(Digest)
        /// The operation's file cannot be read, or is one too many.
        case unknown

        init(_ digest: Digest?) { self = digest.map(Chain.of) ?? .none }
    }

    private let spool: SpoolDirectory
    private var keys: Set<Digest>?
    private var names: [Digest: Set<String>] = [:]
    /// The chains of operations whose names do not have them.
    private var chains: [OperationID: Chain] = [:]
    /// Upper bound on the files opened by a pass for their chains.
    private static let mostRead = 10_000
    /// The errors met: an operation whose values cannot be read waits as if it lacked them.
    private(set) var errors: [SpoolError] = []

    init(_ spool: SpoolDirectory) {
        self.spool = spool
    }

    /// Returns the first of these names without a value kept for the key; `nil` if all have a value. An unreadable file
    /// counts as empty, and `errors` has the reason.
    func lack(of wanted: Set<String>, for key: Digest) -> String? {
        wanted.subtracting(names(of: key)).min()
    }

    /// Returns the chain of a waiting operation: the digest in its name, or if the route has a `chain`, the chain of
    /// its file.
    func chain(of name: some SequencedName, _ route: Route) -> Chain {
        if route.chain == nil { return Chain(name.keyDigest) }
        let name = name.entryName
        if let known = chains[name.id] { return known }
        guard chains.count < Self.mostRead else { return .unknown }
        var chain = Chain.unknown
        for state in [QueueState.new, .deferred] {
            let file = noting { () throws(SpoolError) in try spool.read(Entry(state: state, name: name)) }
            guard case .operation(let stored) = file else { continue }
            chain = Chain(route.chainDigest(of: stored.operation))
            break
        }
        chains[name.id] = chain
        return chain
    }

    private func names(of key: Digest) -> Set<String> {
        if keys == nil { keys = noting { () throws(SpoolError) in try spool.keptKeys() } ?? [] }
        guard keys?.contains(key) ?? false else { return [] }
        if let known = names[key] { return known }
        let read = noting { () throws(SpoolError) in try spool.keptValues(of: key) }
        names[key] = Set((read ?? [:]).keys)
        return names[key] ?? []
    }

    /// Returns the result; after an error, notes the error and returns `nil`.
    private func noting<Result>(_ body: () throws(SpoolError) -> Result?) -> Result? {
        do throws(SpoolError) {
            return try body()
        } catch {
            errors.append(error)
            return nil
        }
    }
}
