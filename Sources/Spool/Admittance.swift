import Policy

/// Decides which operations of a batch the limits let in, and which older ones go for them.
struct Admittance {
    private let queue: SpoolDirectory
    private let limits: Limits
    private var count = 0
    private var bytes = 0
    private var free = Int.max
    /// The oldest waiting entries, never claimed ones; `nil` until one is needed. The last one goes first.
    private var oldest: [Entry]?
    private(set) var victims: [Entry] = []
    /// The ids asked for that the queue has already.
    private(set) var found: [OperationID: QueueState] = [:]

    /// Takes the census, if a limit or a given id asks for one.
    init(_ queue: SpoolDirectory, _ limits: Limits, ids: Set<OperationID>) throws(SpoolError) {
        self.queue = queue
        self.limits = limits
        if limits.minimumFree != nil { free = try queue.freeBytes }
        var states: [QueueState] = limits.operations == nil && limits.bytes == nil ? [] : QueueState.waiting
        // What a run puts back moves against the order of this list, hence the claims a second time.
        if !ids.isEmpty { states = [.claimed, .new, .deferred, .failed, .quarantine] }
        var paths: [String] = []
        for state in states {
            let isCounted = QueueState.waiting.contains(state)
            try queue.forEachEntry(in: state) { entry in
                if isCounted { count += 1 }
                if isCounted, limits.bytes != nil { paths.append(entry.path) }
                if ids.contains(entry.name.id) { found[entry.name.id] = state }
            }
        }
        if !ids.isEmpty {
            try queue.forEachEntry(in: .claimed) { if ids.contains($0.name.id) { found[$0.name.id] = .claimed } }
        }
        for path in paths { bytes += try queue.status(QueuePath(path), "look at")?.size ?? 0 }
    }

    /// Counts an operation of that many bytes in, or says which limit it would pass.
    mutating func admit(size: Int, body: Int) throws(SpoolError) -> FullLimit? {
        if body > limits.operationBytes { return .operationBytes(limits.operationBytes) }
        if size - body > OperationFile.headerLimit { return .headerBytes(OperationFile.headerLimit) }
        while let limit = passed(by: size) {
            guard limits.whenFull == .dropOldest, let victim = try nextVictim() else { return limit }
            let freed = try queue.size(of: victim) ?? 0
            victims.append(victim)
            count -= 1
            bytes -= freed
            if limits.minimumFree != nil { free += freed }
        }
        count += 1
        bytes += size
        if limits.minimumFree != nil { free -= size }
        return nil
    }

    private func passed(by size: Int) -> FullLimit? {
        if let limit = limits.operations, count + 1 > limit { return .operations(limit) }
        if let limit = limits.bytes, bytes + size > limit { return .bytes(limit) }
        if let limit = limits.minimumFree, free - size < limit { return .minimumFree(limit) }
        return nil
    }

    private mutating func nextVictim() throws(SpoolError) -> Entry? {
        if oldest?.isEmpty ?? true { try findOldest() }
        return oldest?.popLast()
    }

    /// A bounded number at a time: a queue of a million names is not held.
    private mutating func findOldest() throws(SpoolError) {
        let bound = 4096
        let gone = Set(victims)
        var entries: [Entry] = []
        func keepOldest() {
            entries.sort { ($0.name.createdAt, $0.name.id) < ($1.name.createdAt, $1.name.id) }
            if entries.count > bound { entries.removeLast(entries.count - bound) }
        }
        for state in [QueueState.new, .deferred] {
            try queue.forEachEntry(in: state) { entry in
                if gone.contains(entry) { return }
                entries.append(entry)
                if entries.count == 2 * bound { keepOldest() }
            }
        }
        keepOldest()
        oldest = entries.reversed()
    }
}
