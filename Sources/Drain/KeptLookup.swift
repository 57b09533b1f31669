import Policy
import Spool

/// The names under which values are kept for keys, for one pass. It reads the file of a key at most once; the next pass reads
/// anew, because other runs keep values too.
final class KeptLookup {
    private let spool: SpoolDirectory
    private var keys: Set<Digest>?
    private var names: [Digest: Set<String>] = [:]

    init(_ spool: SpoolDirectory) {
        self.spool = spool
    }

    /// Returns the first of these names that nothing is kept under for the key; `nil` if all are there. What cannot be read
    /// is not there.
    func lack(of wanted: Set<String>, for key: Digest) -> String? {
        wanted.subtracting(names(of: key)).min()
    }

    private func names(of key: Digest) -> Set<String> {
        if keys == nil { keys = (try? spool.keptKeys()) ?? [] }
        guard keys?.contains(key) ?? false else { return [] }
        if let known = names[key] { return known }
        let read = Set(((try? spool.keptValues(of: key)) ?? [:]).keys)
        names[key] = read
        return read
    }
}

/// The own expiries of operations that wait for kept values, each read at most once in a run: names do not say them.
package final class OwnExpiries {
    /// Upper bound on the files that a run opens for it.
    private static let mostRead = 10_000
    private var known: [OperationID: Timestamp] = [:]

    /// Returns `expiresAt` of an operation; `nil` if it has none, or if its file cannot be read.
    func expiry(of entry: Entry, in spool: SpoolDirectory) -> Timestamp? {
        if let expiry = known[entry.name.id] { return expiry == .max ? nil : expiry }
        guard known.count < Self.mostRead else { return nil }
        var expiry: Timestamp?
        if case .operation(let stored)? = (try? spool.read(entry)).flatMap(\.self) {
            expiry = stored.operation.header.expiresAt
        }
        known[entry.name.id] = expiry ?? .max
        return expiry
    }
}

extension Timestamp {
    fileprivate static let max = Timestamp(microseconds: .max)
}

extension Chooser {
    /// The kept value that an operation needs and no answer has left; `nil` if it needs none, or all are there.
    ///
    /// Returns `nil` also where the operation's name has no digest of its key: the attempt itself then finds what is missing.
    func lack(_ key: Digest?, _ names: Set<String>) -> String? {
        guard !names.isEmpty, let key else { return nil }
        return kept?.lack(of: names, for: key)
    }

    /// Whether an operation has waited for a kept value as long as its route, or its own expiry, lets it wait.
    func hasWaitedTooLong(_ name: ListedName, in state: QueueState, _ kind: OperationKinds.Kind) -> Bool {
        guard lack(name.keyDigest, kind.keptNames) != nil else { return false }
        let ages = [kind.route.expiresAfter, kind.route.retry.maxAge].compactMap(\.self)
        if let age = ages.min(), name.createdAt.isOfSetClock, name.createdAt + age <= now { return true }
        let entry = Entry(state: state, name: EntryName(name))
        return expiries?.expiry(of: entry, in: spool).map { $0 <= now } ?? false
    }
}

/// Throws where what is kept for an operation's key cannot be read and its answer is to be kept beside it. To be asked
/// before it is sent: it would be sent again by every run if its answer could not be kept.
func checkKept(of operation: Operation, _ route: Route, in spool: SpoolDirectory) throws(SpoolError) {
    guard !route.keep.isEmpty, let key = operation.header.key else { return }
    _ = try spool.keptValues(of: Digest(of: key))
}

/// Looks up what earlier answers have left for an operation's key. Returns the name that is lacking; `nil` if the operation
/// can be sent.
func provide(
    _ names: Set<String>, for operation: inout Operation, in spool: SpoolDirectory
) throws(SpoolError) -> String? {
    // Without a key the request says what is wrong with it.
    guard !names.isEmpty, let key = operation.header.key else { return nil }
    let kept = try spool.keptValues(of: Digest(of: key))
    operation.kept = kept
    return names.subtracting(kept.keys).min()
}
