package import Policy

/// Decides which operations enter a queue: the rule for each operation, and the room within the limits. The caller
/// keeps the control from one batch of an `add` to the next.
///
/// Limits, and the times of creation in a sequence, hold for all processes that add: each batch has the admission lock
/// from its first look at the queue, without limits until the batch is recorded, with limits until its files have their
/// names. The control counts the waiting operations once, and then keeps the count by the records of other processes
/// (`AdmissionRecord`). If operations have left the queue meanwhile, the control counts again before it rejects or
/// drops anything. So a batch costs the same whatever the queue's size.
///
/// A rejected operation changes nothing: the operations that would have made room stay.
package struct AdmissionControl {
    package let rule: AdmissionRule
    private var limits: Limits { rule.configuration.limits }
    /// The waiting operations and the additions of earlier batches; `nil` before the first count.
    private var waiting: Count?
    /// The record as this process left it; `nil` before its first batch.
    private var record: AdmissionRecord?
    /// The mark of removals at the last count; `nil` if `waiting` may be too high.
    private var removals: [UInt8]?
    /// The operations that this batch adds.
    private var batch = Count()
    /// The waiting operations that this batch replaces. `waiting` includes them.
    private var replaced = Count()
    private var free = Int.max
    private var removalCandidates: RemovalCandidates?
    /// The operations of the queue, or of the batch itself, that leave to make room for this batch.
    private(set) var victims: [RemovalCandidates.Victim] = []
    /// A size that did not fit into this batch; `nil` if the next operation may still find room, because it is newer or
    /// supersedes operations.
    private var hopeless: (size: Int, limit: FullLimit)?

    private struct Count {
        var operations = 0
        var bytes = 0
    }

    package init(_ configuration: Configuration) {
        rule = AdmissionRule(configuration)
    }

    /// Whether the queue's content decides what enters, and how: then only one process at a time counts and dates.
    var needsLock: Bool { hasLimits || rule.configuration.hasSequentialRoutes }

    private var hasLimits: Bool { limits.operations != nil || limits.bytes != nil || limits.minimumFree != nil }

    // MARK: - Batches

    /// Begins a batch. Operations of the batch may replace the operations of `replaced`, which do not go for another
    /// reason. The caller calls `endBatch` also after an error.
    mutating func beginBatch(
        _ queue: SpoolDirectory, _ submissions: some Collection<Submission>, allOrNone: Bool, replaced: [Entry] = []
    ) throws(SpoolError) {
        if needsLock { try queue.lockAdmissions() }
        let known = record
        record = needsLock ? try AdmissionRecord.read(in: queue) : nil
        let isOwn = known != nil && record?.generation == known?.generation
        // Without a record nothing is known of the others.
        if known != nil, needsLock, record == nil { rule.forget() }
        rule.beginBatch(at: submissions.first?.at ?? Timestamp(microseconds: 0), after: isOwn ? nil : record?.latest)
        batch = Count()
        self.replaced = Count()
        victims = []
        hopeless = nil
        if let record, let known {
            waiting?.operations += record.operations - known.operations
            waiting?.bytes += record.bytes - known.bytes
        } else {
            waiting = nil
        }
        if limits.minimumFree != nil { free = try queue.freeBytes }
        if waiting == nil {
            try queue.checkTrust()
            try count(queue)
        } else if hasLimits, removals != nil, try AdmissionRecord.removals(in: queue) != removals {
            removals = nil
        }
        if hasLimits { beginRemovals(submissions, isOwn: isOwn, allOrNone: allOrNone, replaced.map(\.name)) }
    }

    /// Makes the candidates for removal, or keeps the previous batch's candidates if no other process has changed the
    /// queue.
    private mutating func beginRemovals(
        _ submissions: some Collection<Submission>, isOwn: Bool, allOrNone: Bool, _ replaced: [EntryName]
    ) {
        let names = rule.configuration.hasCoalescingRoutes ? submissions.map(\.entry.name) : []
        let isKept = isOwn && removals != nil
        if isKept, removalCandidates?.beginBatch(for: names, besides: replaced, isWhole: allOrNone) ?? false { return }
        removalCandidates = RemovalCandidates(
            rule.configuration, for: names, besides: replaced, isWhole: allOrNone,
            at: submissions.first?.at ?? Timestamp(microseconds: 0))
    }

    /// Records the batch for other processes, before its files enter, and without what they displace: after a crash the
    /// record counts too many, never too few. Without limits gives the admission lock back.
    mutating func recordBatch(in queue: SpoolDirectory) throws(SpoolError) {
        guard needsLock else { return }
        var new = record ?? AdmissionRecord(generation: 0)
        new.generation = queue.system.random()
        new.operations += batch.operations - replaced.operations
        new.bytes +|= batch.bytes - replaced.bytes
        new.latest = rule.latest
        try new.write(in: queue)
        record = new
        if !hasLimits { queue.unlockAdmissions() }
    }

    /// Ends the batch, and gives the admission lock back. `isDone`: the queue has every admitted operation, and none of
    /// the victims.
    mutating func endBatch(isDone: Bool, in queue: SpoolDirectory) {
        defer { queue.unlockAdmissions() }
        guard isDone else {
            (waiting, removalCandidates) = (nil, nil)
            if hasLimits { AdmissionRecord.noteRemovals(in: queue) }
            return
        }
        waiting?.operations += batch.operations - replaced.operations
        waiting?.bytes +|= batch.bytes - replaced.bytes
        recordRemovals(in: queue)
    }

    /// Records the victims' removal for other processes.
    private mutating func recordRemovals(in queue: SpoolDirectory) {
        let gone = victims.filter { $0.member == nil }
        guard !gone.isEmpty, var new = record else { return }
        for victim in gone {
            new.operations -= 1
            new.bytes -= victim.size ?? 0
        }
        do throws(SpoolError) {
            try new.write(in: queue)
            record = new
        } catch {
            // The record counts too many: the next process that finds the queue full counts again.
            AdmissionRecord.noteRemovals(in: queue)
        }
    }

    /// Counts in an operation that takes the place of a queued operation, or returns why it cannot. The replaced
    /// operation makes room, and its replacement stays in the batch.
    mutating func admit(
        _ submission: Submission, replacing old: Entry, _ queue: SpoolDirectory
    ) throws(SpoolError) -> Result<IncomingFile, AdmissionRefusal> {
        if let difference = submission.objection(toReplacing: old) { return .failure(.defect(difference)) }
        if let refusal = try objection(to: submission, queue) { return .failure(refusal) }
        var file = submission.file
        file.entry = old
        file.replaces = true
        let size = file.waits ? try queue.size(of: old) ?? 0 : 0
        if file.waits { countReplaced(size, by: 1) }
        guard let limit = try makeRoom(for: file, nil, queue) else { return .success(file) }
        if file.waits { countReplaced(size, by: -1) }
        return .failure(.limit(limit))
    }

    /// Counts in a foreign file, or returns why it is no operation. The file is in the queue already, so no limit of
    /// the queue keeps the file from its name. `dropOldest` makes room for the file, as for any operation.
    mutating func name(
        _ submission: inout Submission, number: Int, _ queue: SpoolDirectory
    ) throws(SpoolError) -> Result<IncomingFile, AdmissionRefusal> {
        try rule.complete(&submission, in: queue)
        let file = submission.file
        if let refusal = try objection(to: submission, queue) { return .failure(refusal) }
        if try makeRoom(for: file, number, queue) != nil { count(in: file, number) }
        return .success(file)
    }

    /// Counts in an operation that replaces none, or returns why it cannot enter. `number` is the operation's number in
    /// the batch; without a number no later operation of the batch displaces it.
    mutating func admit(
        _ submission: inout Submission, number: Int?, _ queue: SpoolDirectory
    ) throws(SpoolError) -> Result<IncomingFile, AdmissionRefusal> {
        try rule.complete(&submission, in: queue)
        let file = submission.file
        if let refusal = try objection(to: submission, queue) { return .failure(refusal) }
        return try makeRoom(for: file, number, queue).map { .failure(.limit($0)) } ?? .success(file)
    }

    /// Returns why an operation cannot enter, whatever room there is.
    private func objection(
        to submission: Submission, _ queue: SpoolDirectory
    ) throws(SpoolError) -> AdmissionRefusal? {
        let file = submission.file
        return try rule.objection(
            to: submission.operation, headerLength: file.headerLength, waits: file.waits, queue)
    }

    // MARK: - Room

    /// Counts an operation that does not wait: only the free space of the disk limits such operations.
    private mutating func limitOfFreeSpace(_ size: Int) -> FullLimit? {
        guard let limit = limits.minimumFree else { return nil }
        if free < limit || free -| limit < size { return .minimumFree(limit) }
        free -= size
        return nil
    }

    /// Counts in an operation, or returns the limit that keeps the operation out. An operation that waits may displace
    /// superseded operations, and with `dropOldest` older operations.
    private mutating func makeRoom(
        for file: IncomingFile, _ number: Int?, _ queue: SpoolDirectory
    ) throws(SpoolError) -> FullLimit? {
        let size = file.bytes.count
        if !file.waits { return limitOfFreeSpace(size) }
        if let limit = limits.bytes, size > limit { return .bytes(limit) }
        if let hopeless, size >= hopeless.size { return hopeless.limit }
        var going: [RemovalCandidates.Victim] = []
        while let limit = limitExceeded(by: size) {
            if removals == nil {
                try count(queue)
                continue
            }
            guard var victim = try removalCandidates?.next(for: file.entry.name, queue) else {
                for victim in going { count(victim, by: 1) }
                removalCandidates?.giveBack(going)
                if limits.whenFull == .reject, !rule.configuration.hasCoalescingRoutes { hopeless = (size, limit) }
                return limit
            }
            if victim.member == nil {
                // A run may have claimed the operation since the listing: it is in flight then, and makes no room.
                guard let size = try queue.size(of: victim.entry) else { continue }
                victim.size = size
            }
            count(victim, by: -1)
            going.append(victim)
        }
        victims += going
        count(in: file, number)
        return nil
    }

    private mutating func count(in file: IncomingFile, _ number: Int?) {
        let size = file.bytes.count
        batch.operations += 1
        batch.bytes += size
        if limits.minimumFree != nil { free -= size }
        removalCandidates?.letIn(number, file.entry, size: size)
    }

    /// Counts a victim out of the waiting operations or of the batch; with `sign` 1 counts it in again.
    private mutating func count(_ victim: RemovalCandidates.Victim, by sign: Int) {
        let bytes = sign * (victim.size ?? 0)
        if victim.member == nil {
            waiting?.operations += sign
            waiting?.bytes += bytes
        } else {
            batch.operations += sign
            batch.bytes += bytes
        }
        if limits.minimumFree != nil { free = free -| bytes }
    }

    private mutating func countReplaced(_ size: Int, by sign: Int) {
        let bytes = sign * size
        replaced.operations += sign
        replaced.bytes += bytes
        if limits.minimumFree != nil { free = free +| bytes }
    }

    private func limitExceeded(by size: Int) -> FullLimit? {
        var waiting = waiting ?? Count()
        waiting.operations -= replaced.operations
        waiting.bytes -= replaced.bytes
        if let limit = limits.operations, waiting.operations + batch.operations >= limit {
            return .operations(limit)
        }
        if let limit = limits.bytes, waiting.bytes +| batch.bytes > limit -| size { return .bytes(limit) }
        if let limit = limits.minimumFree, free < limit || free -| limit < size { return .minimumFree(limit) }
        return nil
    }

    /// Counts the waiting operations, as far as a limit needs the count.
    private mutating func count(_ queue: SpoolDirectory) throws(SpoolError) {
        removals = try hasLimits ? AdmissionRecord.removals(in: queue) : []
        guard limits.operations != nil || limits.bytes != nil else { return }
        var count = Count()
        var paths: [String] = []
        // Hashes of ids: the listings may meet a moving operation twice.
        var met: Set<Int> = []
        for state in QueueState.standing {
            try queue.forEachEntry(in: state) { entry in
                guard met.insert(entry.name.id.hashValue).inserted else { return }
                count.operations += 1
                if limits.bytes != nil { paths.append(entry.path) }
            }
        }
        for path in paths {
            count.bytes +|= try queue.status(QueuePath(path), "look at")?.size ?? 0
        }
        waiting = count
    }
}
