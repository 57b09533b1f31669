package import Policy

/// What the limits still let in; kept by the caller from one batch of an `add` to the next.
///
/// What waits is counted when a limit asks for it first, and by itself from then on: the file of each operation is looked
/// at once an `add`, not once a batch. Before anything is rejected or dropped it is counted again, once a batch, so that
/// nothing is turned away for what has been delivered meanwhile. Limits bound a queue, they are no lock: two who add at
/// the same time may pass one together, by what they add between two counts.
package struct Admittance {
    private let limits: Limits
    /// What waits, with what earlier batches added; `nil` until it is counted.
    private var waiting: Count?
    /// Whether that was counted in this batch.
    private var isFresh = false
    /// What this batch adds.
    private var batch = Count()
    private var free = Int.max
    /// The oldest waiting entries, never claimed ones; `nil` until one is needed. The last one goes first.
    private var oldest: [Entry]?
    /// What goes for this batch.
    private(set) var victims: [Entry] = []

    private struct Count {
        var operations = 0
        var bytes = 0
    }

    package init(_ limits: Limits) {
        self.limits = limits
    }

    // MARK: - Batches

    mutating func beginBatch(_ queue: SpoolDirectory) throws(SpoolError) {
        batch = Count()
        victims = []
        oldest = nil
        isFresh = false
        if limits.minimumFree != nil { free = try queue.freeBytes }
        if waiting == nil {
            try queue.checkTrust()
            try count(queue)
        }
    }

    /// `isDone`: all that was let in is in the queue, and the victims are not.
    mutating func endBatch(isDone: Bool) {
        guard isDone else {
            waiting = nil
            return
        }
        waiting?.operations += batch.operations
        waiting?.bytes +|= batch.bytes
    }

    /// Counts an operation in, or says which limit it would pass. What does not wait is only to find room on the disk.
    mutating func admit(_ queue: SpoolDirectory, _ file: IncomingFile) throws(SpoolError) -> FullLimit? {
        let size = file.bytes.count
        if file.body > limits.operationBytes { return .operationBytes(limits.operationBytes) }
        if size - file.body - file.history > OperationFile.headerLimit {
            return .headerBytes(OperationFile.headerLimit)
        }
        guard QueueState.waiting.contains(file.entry.state) else {
            if let limit = limits.minimumFree, free -| size < limit { return .minimumFree(limit) }
            if limits.minimumFree != nil { free -= size }
            return nil
        }
        while let limit = passed(by: size) {
            if !isFresh {
                try count(queue)
                continue
            }
            guard limits.whenFull == .dropOldest, let victim = try nextVictim(queue) else { return limit }
            let freed = try queue.size(of: victim) ?? 0
            victims.append(victim)
            waiting?.operations -= 1
            waiting?.bytes -= freed
            if limits.minimumFree != nil { free +|= freed }
        }
        batch.operations += 1
        batch.bytes += size
        if limits.minimumFree != nil { free -= size }
        return nil
    }

    private func passed(by size: Int) -> FullLimit? {
        let waiting = waiting ?? Count()
        if let limit = limits.operations, waiting.operations + batch.operations + 1 > limit {
            return .operations(limit)
        }
        if let limit = limits.bytes, waiting.bytes +| batch.bytes +| size > limit { return .bytes(limit) }
        if let limit = limits.minimumFree, free -| size < limit { return .minimumFree(limit) }
        return nil
    }

    // MARK: - Looking at the queue

    /// Counts what waits, as far as a limit asks for it.
    private mutating func count(_ queue: SpoolDirectory) throws(SpoolError) {
        isFresh = true
        guard limits.operations != nil || limits.bytes != nil else { return }
        let gone = Set(victims)
        var count = Count()
        var paths: [String] = []
        for state in QueueState.waiting {
            try queue.forEachEntry(in: state) { entry in
                if gone.contains(entry) { return }
                count.operations += 1
                if limits.bytes != nil { paths.append(entry.path) }
            }
        }
        for path in paths { count.bytes +|= try queue.status(QueuePath(path), "look at")?.size ?? 0 }
        waiting = count
    }

    private mutating func nextVictim(_ queue: SpoolDirectory) throws(SpoolError) -> Entry? {
        if oldest?.isEmpty ?? true { try findOldest(queue) }
        return oldest?.popLast()
    }

    /// A bounded number at a time: a queue of a million names is not held.
    private mutating func findOldest(_ queue: SpoolDirectory) throws(SpoolError) {
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
