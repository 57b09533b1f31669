import Policy

/// The room that the limits leave in a queue, by what waits and by what a batch adds, replaces and displaces.
struct AdmissionRoom {
    private let rule: AdmissionRule
    private var limits: Limits { rule.configuration.limits }
    /// The waiting operations and the additions of earlier batches; `nil` before the first count.
    private var waiting: AdmissionCount?
    /// What waited, and was free, without this batch.
    private var before = (operations: 0, bytes: 0, free: Int.max)
    /// The operations that this batch adds.
    private var batch = AdmissionCount()
    /// The waiting operations that this batch replaces. `waiting` includes them.
    private var replaced = AdmissionCount()
    private var free = Int.max

    init(_ rule: AdmissionRule) { self.rule = rule }

    /// Whether the waiting operations have been counted.
    var isCounted: Bool { waiting != nil }

    /// What the batch adds, without what it displaces.
    var added: (operations: Int, bytes: Int) { (batch.operations - replaced.singles, batch.bytes - replaced.bytes) }

    var files: Int { (waiting?.files ?? 0) - replaced.files + batch.files }
    private var operations: Int { (waiting?.operations ?? 0) - replaced.singles + batch.operations }
    private var bytes: Int { (waiting?.bytes ?? 0) - replaced.bytes +| batch.bytes }

    /// Returns the key of an operation that counts once with others; `nil` if it counts alone.
    private func key(of name: EntryName) -> Int? {
        rule.keyOfRequest(of: name)?.hashValue
    }

    /// Returns whether an operation counts in addition to what waits.
    func isNew(_ name: EntryName) -> Bool { isNew(key(of: name)) }

    private func isNew(_ key: Int?) -> Bool {
        key.map { !(waiting?.keys.contains($0) ?? false) && !batch.keys.contains($0) } ?? true
    }

    /// Returns the limit that the queue exceeds with `new` more operations of `size` bytes. `nil`: they count for a key
    /// that is there.
    func limitExceeded(by size: Int = 0, counting new: Int? = 0) -> FullLimit? {
        if let limit = limits.operations, let new, operations + new > max(limit, before.operations) {
            return .operations(limit)
        }
        if let limit = limits.bytes, bytes > max(limit, before.bytes) -| size { return .bytes(limit) }
        if let limit = limits.minimumFree, free -| min(limit, before.free) < size { return .minimumFree(limit) }
        return nil
    }

    // MARK: - Batches

    /// Counts what other processes have added.
    mutating func countOthers(operations: Int, bytes: Int) {
        waiting?.singles += operations
        waiting?.files += operations
        waiting?.bytes += bytes
    }

    mutating func beginBatch(_ queue: SpoolDirectory) throws(SpoolError) {
        (batch, replaced) = (AdmissionCount(), AdmissionCount())
        if limits.minimumFree != nil { free = try queue.freeBytes }
        before = (waiting?.operations ?? 0, waiting?.bytes ?? 0, free)
    }

    /// Begins a batch of one operation, which is in the queue already.
    mutating func beginBatch(of name: EntryName, _ size: Int) {
        batch = AdmissionCount()
        batch.count(key(of: name), by: 1)
        batch.bytes = size
    }

    /// Counts what the batch has added among what waits.
    mutating func endBatch() {
        waiting?.singles += batch.singles - replaced.singles
        waiting?.keys.formUnion(batch.keys)
        waiting?.files += batch.files - replaced.files
        waiting?.bytes +|= batch.bytes - replaced.bytes
    }

    // MARK: - Counting

    /// Counts the waiting operations, as far as a limit needs the count.
    mutating func count(_ queue: SpoolDirectory) throws(SpoolError) {
        guard limits.operations != nil || limits.bytes != nil else { return }
        let count = try AdmissionCount(of: queue, withBytes: limits.bytes != nil) { key(of: $0) }
        waiting = count
        (before.operations, before.bytes) = (count.operations, count.bytes)
        batch.keys.subtract(count.keys)
    }

    /// Counts anew once the batch is in the queue.
    mutating func recount(_ queue: SpoolDirectory) throws(SpoolError) {
        let added = added
        try beginBatch(queue)
        try count(queue)
        before.operations -= added.operations
        before.bytes -= added.bytes
        before.free = free +| added.bytes
    }

    /// Forgets, after a recount, what the batch displaces of itself: it was not there before the batch.
    mutating func forget(operations: Int, bytes: Int) {
        before.operations -= operations
        before.bytes -= bytes
        before.free = before.free +| bytes
    }

    /// Counts an operation of the batch in. Returns whether it counts in addition to what waits.
    mutating func count(_ name: EntryName, _ size: Int) -> Bool {
        let key = key(of: name)
        let isNew = isNew(key)
        if isNew { batch.count(key, by: 1) }
        batch.count(file: size, by: 1)
        if limits.minimumFree != nil { free -= size }
        return isNew
    }

    /// Counts an operation that does not wait: only free space limits it. Returns the limit if it is exceeded.
    mutating func takeFreeSpace(_ size: Int) -> FullLimit? {
        guard let limit = limits.minimumFree else { return nil }
        if free < limit || free -| limit < size { return .minimumFree(limit) }
        free -= size
        return nil
    }

    /// Counts a victim out of the waiting operations or of the batch; with `sign` 1 counts it in again.
    mutating func count(_ victim: RemovalCandidates.Victim, by sign: Int) {
        let wasWaiting = victim.parts.contains { !$0.isMember }
        if victim.newer == nil {
            let key = victim.key?.hashValue
            if wasWaiting { waiting?.count(key, by: sign) } else { batch.count(key, by: sign) }
        }
        for part in victim.parts {
            let bytes = sign * (part.size ?? 0)
            if part.isMember { batch.count(file: bytes, by: sign) } else { waiting?.count(file: bytes, by: sign) }
            if limits.minimumFree != nil { free = free -| bytes }
        }
    }

    mutating func countReplaced(_ name: EntryName, _ size: Int, by sign: Int) {
        let bytes = sign * size
        // The replacement counts for the same key.
        if key(of: name) == nil { replaced.singles += sign }
        replaced.count(file: bytes, by: sign)
        if limits.minimumFree != nil { free = free +| bytes }
    }
}
