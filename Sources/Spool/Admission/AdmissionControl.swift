package import Policy

/// Decides which operations a queue lets in: the rule that each operation must meet, and the room that the limits
/// leave. The caller keeps it from one batch of an `add` to the next.
///
/// It counts the waiting operations when a limit first needs the count, and then keeps the count itself: it looks at
/// each operation's file once an `add`, not once a batch. It counts again, once a batch, before it rejects or drops
/// anything, so operations delivered meanwhile make room. Limits bound a queue, they are no lock: two processes that
/// add at the same time may together exceed a limit by what they add between two counts.
///
/// A rejected operation changes nothing: the operations that would have made room for it stay.
package struct AdmissionControl {
    package let rule: AdmissionRule
    private var limits: Limits { rule.configuration.limits }
    /// The waiting operations and those that earlier batches added; `nil` until they are counted.
    private var waiting: Count?
    /// Whether `waiting` was counted in this batch.
    private var isFresh = false
    /// The operations that this batch adds.
    private var batch = Count()
    /// The waiting operations that this batch replaces. `waiting` includes them.
    private var replaced = Count()
    private var free = Int.max
    private var removalCandidates: RemovalCandidates?
    /// The operations that leave for this batch, of the queue or of the batch itself.
    private(set) var victims: [RemovalCandidates.Victim] = []
    /// A size that did not fit into this batch even after all removable operations were removed.
    private var hopeless: (size: Int, limit: FullLimit)?

    private struct Count {
        var operations = 0
        var bytes = 0
    }

    package init(_ configuration: Configuration) {
        rule = AdmissionRule(configuration)
    }

    // MARK: - Batches

    /// Begins a batch. Operations of it may replace those of `replaced`, which do not go for another reason.
    mutating func beginBatch(
        _ queue: SpoolDirectory, _ submissions: some Collection<Submission>, allOrNone: Bool, replaced: [Entry] = []
    ) throws(SpoolError) {
        rule.beginBatch()
        batch = Count()
        self.replaced = Count()
        victims = []
        hopeless = nil
        isFresh = false
        removalCandidates = nil
        // An older value must not come back after a newer one has been sent.
        if rule.configuration.hasSequentialRoutes { try queue.completeCommittedBatches() }
        if limits.operations != nil || limits.bytes != nil || limits.minimumFree != nil {
            let names = rule.configuration.hasCoalescingRoutes ? submissions.map(\.entry.name) : []
            removalCandidates = RemovalCandidates(
                rule.configuration, for: names, besides: replaced.map(\.name), isWhole: allOrNone,
                at: submissions.first?.at ?? Timestamp(microseconds: 0))
        }
        if limits.minimumFree != nil { free = try queue.freeBytes }
        if waiting == nil {
            try queue.checkTrust()
            try count(queue)
        }
    }

    /// Ends the batch. `isDone`: the queue has every operation that was let in, and none of the victims.
    mutating func endBatch(isDone: Bool) {
        removalCandidates = nil
        guard isDone else {
            waiting = nil
            return
        }
        waiting?.operations += batch.operations - replaced.operations
        waiting?.bytes +|= batch.bytes - replaced.bytes
    }

    /// Counts in an operation that takes the place of another one, or returns why it cannot. The replaced operation
    /// makes room, and the one that replaces it stays in the batch.
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
    /// the queue keeps its name from it. `dropOldest` makes room for it, but for an old file nothing newer goes.
    mutating func name(
        _ submission: inout Submission, number: Int, _ queue: SpoolDirectory
    ) throws(SpoolError) -> Result<IncomingFile, AdmissionRefusal> {
        try rule.complete(&submission, in: queue)
        let file = submission.file
        if let refusal = try objection(to: submission, queue) { return .failure(refusal) }
        if try makeRoom(for: file, number, sparesNewer: true, queue) != nil { count(in: file, number) }
        return .success(file)
    }

    /// Counts in an operation that replaces none, or returns why it cannot enter. `number` is its own in the batch;
    /// without it no later operation of the batch displaces it.
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

    /// Counts an operation that does not wait: only the free space of the disk limits it.
    private mutating func limitOfFreeSpace(_ size: Int) -> FullLimit? {
        guard let limit = limits.minimumFree else { return nil }
        if free < limit || free -| limit < size { return .minimumFree(limit) }
        free -= size
        return nil
    }

    private mutating func makeRoom(
        for file: IncomingFile, _ number: Int?, _ queue: SpoolDirectory
    ) throws(SpoolError) -> FullLimit? {
        file.waits ? try makeRoom(for: file, number, sparesNewer: false, queue) : limitOfFreeSpace(file.bytes.count)
    }

    private mutating func makeRoom(
        for file: IncomingFile, _ number: Int?, sparesNewer: Bool, _ queue: SpoolDirectory
    ) throws(SpoolError) -> FullLimit? {
        let size = file.bytes.count
        if let limit = limits.bytes, size > limit { return .bytes(limit) }
        if let hopeless, size >= hopeless.size { return hopeless.limit }
        var going: [RemovalCandidates.Victim] = []
        while let limit = limitExceeded(by: size) {
            if !isFresh {
                try count(queue)
                continue
            }
            guard
                var victim = try removalCandidates?.next(
                    for: file.entry.name, sparesNewer: sparesNewer, queue)
            else {
                for victim in going { count(victim, by: 1) }
                removalCandidates?.giveBack(going)
                if !rule.configuration.hasCoalescingRoutes { hopeless = (size, limit) }
                return limit
            }
            if victim.size == nil { victim.size = try queue.size(of: victim.entry) ?? 0 }
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

    /// Counts the waiting operations, as far as a limit needs it.
    private mutating func count(_ queue: SpoolDirectory) throws(SpoolError) {
        isFresh = true
        guard limits.operations != nil || limits.bytes != nil else { return }
        var count = Count()
        var paths: [String] = []
        for state in QueueState.waiting {
            try queue.forEachEntry(in: state) { entry in
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
