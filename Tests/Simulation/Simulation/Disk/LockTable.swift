import Policy

/// The locks that a process needs to rename a file, as drainq-queue(5) lists them (State).
///
/// Paths are relative to the queue. The directory of a file is the first component of the path.
struct LockTable {
    let setup: Setup
    private let destinations: DestinationTable

    /// `configuration` is that of the setup, if the caller has read it.
    init(setup: Setup, configuration: Policy.Configuration? = nil) {
        self.setup = setup
        destinations = DestinationTable(configuration ?? setup.configuration)
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
        let sourceName = source.name.flatMap { EntryName($0) }
        if sourceName == nil, target.directory == "claimed", Self.waiting.contains(source.directory) {
            needs("state/names.lock")
        }
        // Whoever completes the batch of a dead writer has the names lock.
        if setup.isLimited, source.directory == "tmp", Self.entered.contains(target.directory),
            EntryName(target.name ?? "") != nil
        {
            needs("state/names.lock")
            return lacks
        }
        guard let name = sourceName ?? target.name.flatMap({ EntryName($0) }), hasOrder(name) else { return lacks }
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
            let (first, rest) = Self.cut(path[...])
            directory = String(first)
            guard directory == "tmp" || directory == "claimed" else {
                owner = nil
                name = rest.map(String.init)
                return
            }
            let parts = rest.map { Self.cut($0) }
            owner = parts.map { String($0.first) }
            name = parts?.rest.map { String(Self.cut($0).first) }
        }

        /// Returns the first component of a path, and the path behind it. Looks at bytes, not at characters: a third of
        /// the time of a rename went there.
        private static func cut(_ path: Substring) -> (first: Substring, rest: Substring?) {
            guard let slash = path.utf8.firstIndex(of: UInt8(ascii: "/")) else { return (path, nil) }
            return (path[..<slash], path[path.utf8.index(after: slash)...])
        }
    }
}
