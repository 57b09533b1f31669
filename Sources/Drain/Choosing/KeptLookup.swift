import Policy
import Spool

/// The names of the values kept for each key, for one pass. Reads the file of a key at most once; the next pass reads
/// it again, because other runs keep values too.
final class KeptLookup {
    private let spool: SpoolDirectory
    private var keys: Set<Digest>?
    private var names: [Digest: Set<String>] = [:]

    init(_ spool: SpoolDirectory) {
        self.spool = spool
    }

    /// Returns the first of these names that has no value kept for the key; `nil` if all have one. A file that cannot
    /// be read counts as empty.
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

extension Chooser {
    /// Returns the name of a kept value that an operation lacks; `nil` if it needs none, or has all.
    ///
    /// Also returns `nil` if the operation's name has no digest of its key: the attempt then finds what is missing.
    func lack(_ key: Digest?, _ names: Set<String>) -> String? {
        guard !names.isEmpty, let key else { return nil }
        return kept?.lack(of: names, for: key)
    }

    /// Whether an operation has waited for a kept value as long as its route or its own expiry allows.
    func hasWaitedTooLong(_ name: ListedName, in state: QueueState, _ kind: OperationKinds.Kind) -> Bool {
        // A person who holds it has taken over its age.
        guard !name.isHeld, lack(name.keyDigest, kind.keptNames) != nil else { return false }
        let ages = [kind.route.expiresAfter, kind.route.retry.maxAge].compactMap(\.self)
        if let age = ages.min(), name.createdAt.isOfSetClock, name.createdAt + age <= now { return true }
        let entry = Entry(state: state, name: EntryName(name))
        return expiries?.expiry(of: entry, in: spool).map { $0 <= now } ?? false
    }
}
