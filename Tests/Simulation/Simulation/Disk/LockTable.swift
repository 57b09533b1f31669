import Policy

/// The locks that a process needs to rename a file, as drainq-queue(5) lists them (State).
///
/// Paths are relative to the queue. The directory of a file is the first component of the path.
struct LockTable {
    let setup: Setup
    private let destinations: DestinationTable

    init(setup: Setup) {
        self.setup = setup
        destinations = DestinationTable(setup.configuration)
    }

    private static let waiting: Set<String> = ["new", "deferred"]
    private static let entered = waiting.union(["claimed"])
    private static let ended: Set<String> = ["failed", "quarantine", "delivered"]

    /// Returns the missing locks of the process. `has` says whether the process has the lock on a file.
    func lacks(from: String, to: String, _ has: (_ lock: String) -> Bool) -> [String] {
        let (source, target) = (Place(from), Place(to))
        var lacks: [String] = []
        func needs(_ locks: String...) {
            if !locks.contains(where: has) { lacks.append(locks.joined(separator: " or ")) }
        }
        if source.name == "lock" || target.name == "lock" { return [] }
        for place in [source, target] {
            // A process that takes a file out of another process's directory has found that directory's lock free, and
            // taken it.
            if let owner = place.owner, place.name != nil { needs("\(place.directory)/\(owner)/lock") }
        }
        if source.directory == "state", target.directory == "state", source.owner == nil {
            needs(source.name?.hasPrefix("log/") == true ? "state/log/lock" : "state/lock")
        }
        guard source.directory != target.directory || source.name != target.name else { return lacks }
        let isForeign = Self.waiting.contains(source.directory) && EntryName(source.name ?? "") == nil
        if isForeign, target.directory == "claimed" { needs("state/names.lock") }
        // Whoever completes the batch of a dead writer has the names lock.
        if setup.isLimited, source.directory == "tmp", Self.entered.contains(target.directory),
            EntryName(target.name ?? "") != nil
        {
            needs("state/names.lock")
            return lacks
        }
        guard let name = [source, target].compactMap({ $0.name.flatMap { EntryName($0) } }).first,
            hasOrder(name)
        else { return lacks }
        switch (source.directory, target.directory) {
        case ("new", "claimed"), ("deferred", "claimed"), ("claimed", "new"), ("claimed", "deferred"):
            let sequences = "state/sequences/\(destinations.destination(of: name).digest)"
            needs(sequences, "state/sequence.lock", "state/names.lock")
        case ("tmp", let new) where Self.entered.contains(new): needs("state/names.lock")
        case (let old, "tmp") where Self.waiting.contains(old): needs("state/names.lock")
        case (let old, let new) where Self.waiting.contains(new) && (Self.waiting.union(Self.ended)).contains(old):
            needs("state/names.lock")
        default: break
        }
        return lacks
    }

    /// Whether operations wait for each other because of this name's type and key.
    private func hasOrder(_ name: EntryName) -> Bool {
        let kind = setup.kind(of: name.type)
        return kind.order == .strict || kind.isSequential && name.keyDigest != nil
    }

    /// The place of a file: `claimed/<owner>/<name>`, `new/<name>`.
    private struct Place {
        let directory: String
        /// The run or writer whose directory contains the file, if any.
        let owner: String?
        /// `nil` for a directory of a run or writer itself.
        let name: String?

        init(_ path: String) {
            let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            directory = parts[0]
            guard ["tmp", "claimed"].contains(parts[0]) else {
                owner = nil
                name = parts.count > 1 ? parts[1...].joined(separator: "/") : nil
                return
            }
            owner = parts.count > 1 ? parts[1] : nil
            name = parts.count > 2 ? parts[2] : nil
        }
    }
}
