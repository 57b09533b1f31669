package import Policy

/// Decides which operations enter a queue: the rule for each operation, and the room within the limits. The caller
/// keeps the control from one batch of an `add` to the next.
///
/// Limits, and the times of creation in a sequence, hold for all processes that add: each batch has the names lock from
/// its first look at the queue until its files have their names. The control counts the waiting operations once, and
/// then keeps the count by the records of other processes (`AdmissionRecord`). If operations have left the queue
/// meanwhile, or another process has added any and may have died before, the control counts again before it rejects or
/// evicts anything. So a batch of the only adder costs the same whatever the queue's size.
///
/// A batch makes only the room that it needs itself: what waits beyond a lowered limit was accepted, and stays.
///
/// The operations of one key of a route that coalesces or merges count as one: the server gets one request. Their files
/// count in bytes, and superseded files go first.
///
/// A rejected operation changes nothing: the operations that would have made room stay.
package struct AdmissionControl {
    package let rule: AdmissionRule
    private var limits: Limits { rule.configuration.limits }
    private var room: AdmissionRoom
    /// The record as this process left it; `nil` before its first batch.
    private var record: AdmissionRecord?
    /// The mark of removals at the last count; `nil` if the room may count too many.
    private var removals: [UInt8]?
    /// The time of the batch.
    private(set) var now = Timestamp(microseconds: 0)
    private var hasLock = false
    private var removalCandidates: RemovalCandidates?
    /// The operations of the queue, or of the batch itself, that leave to make room for this batch.
    private(set) var victims: [RemovalCandidates.Victim] = []
    /// A size that did not fit into this batch; `nil` if a newer or superseding operation may still find room.
    private var hopeless: (size: Int, limit: FullLimit)?

    package init(_ configuration: Configuration) {
        rule = AdmissionRule(configuration)
        room = AdmissionRoom(rule)
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
        if needsLock {
            try queue.lockNames()
            hasLock = true
        }
        now = submissions.first?.at ?? now
        let known = record
        record = needsLock ? try AdmissionRecord.read(in: queue) : nil
        let isOwn = known != nil && record?.generation == known?.generation
        // Without a record nothing is known of the others.
        if known != nil, needsLock, record == nil { rule.forget() }
        rule.beginBatch(at: submissions.first?.at ?? Timestamp(microseconds: 0), after: isOwn ? nil : record?.latest)
        victims = []
        hopeless = nil
        if let record, let known {
            room.countOthers(operations: record.operations - known.operations, bytes: record.bytes - known.bytes)
            if !isOwn { removals = nil }
        } else {
            room = AdmissionRoom(rule)
        }
        try room.beginBatch(queue)
        if !room.isCounted {
            try queue.checkTrust()
            try count(queue)
        } else if hasLimits, removals != nil, try AdmissionRecord.removals(in: queue) != removals {
            removals = nil
        }
        if hasLimits { makeCandidates(submissions, isOwn: isOwn, allOrNone: allOrNone, replaced.map(\.name)) }
    }

    /// Makes the candidates for removal, or keeps the previous batch's candidates if no other process has changed the
    /// queue.
    private mutating func makeCandidates(
        _ submissions: some Collection<Submission>, isOwn: Bool, allOrNone: Bool, _ replaced: [EntryName]
    ) {
        let names = rule.configuration.hasReplacingRoutes ? submissions.map(\.entry.name) : []
        let isKept = isOwn && removals != nil
        if isKept, removalCandidates?.beginBatch(for: names, besides: replaced, isWhole: allOrNone) ?? false { return }
        removalCandidates = RemovalCandidates(
            rule, for: names, besides: replaced, isWhole: allOrNone,
            at: submissions.first?.at ?? Timestamp(microseconds: 0))
    }

    /// Records the batch for other processes, before its files enter, and without what they displace: after a crash the
    /// record counts too many, never too few.
    mutating func recordBatch(in queue: SpoolDirectory) throws(SpoolError) {
        guard needsLock else { return }
        var new = record ?? AdmissionRecord(generation: 0)
        new.generation = queue.system.random()
        new.operations += room.added.operations
        new.bytes +|= room.added.bytes
        new.latest = rule.latest
        try new.write(in: queue)
        record = new
    }

    /// Ends the batch, and gives the names lock back. `isDone`: the queue has every admitted operation, and none of
    /// the victims.
    mutating func endBatch(isDone: Bool, in queue: SpoolDirectory) {
        defer {
            if hasLock { queue.unlockNames() }
            hasLock = false
        }
        guard isDone else {
            (room, removalCandidates) = (AdmissionRoom(rule), nil)
            if hasLimits { AdmissionRecord.noteRemovals(in: queue) }
            return
        }
        room.endBatch()
        recordRemovals(in: queue)
    }

    /// Records the victims' removal for other processes.
    private mutating func recordRemovals(in queue: SpoolDirectory) {
        let gone = victims.map { ($0, $0.parts.filter { !$0.isMember }) }.filter { !$0.1.isEmpty }
        guard !gone.isEmpty, var new = record else { return }
        for (victim, parts) in gone {
            if victim.newer == nil { new.operations -= 1 }
            for part in parts { new.bytes -= part.size ?? 0 }
        }
        do throws(SpoolError) {
            try new.write(in: queue)
            record = new
        } catch {
            // The record counts too many: the next process that finds the queue full counts again.
            AdmissionRecord.noteRemovals(in: queue)
        }
    }

    /// Counts in an operation that takes the place of a queued operation of these bytes, or returns why it cannot. The
    /// replaced operation makes room, and its replacement stays in the batch.
    mutating func admit(
        _ submission: Submission, replacing old: Entry, of bytes: Int, _ queue: SpoolDirectory
    ) throws(SpoolError) -> Result<IncomingFile, AdmissionRefusal> {
        if let difference = submission.objection(toReplacing: old) { return .failure(.defect(difference)) }
        if let refusal = try objection(to: submission, queue) { return .failure(refusal) }
        var file = submission.file
        file.entry = old
        file.replaces = bytes
        if file.waits { room.countReplaced(old.name, bytes, by: 1) }
        guard let limit = try makeRoom(for: file, of: submission, isCandidate: false, queue) else {
            return .success(file)
        }
        if file.waits { room.countReplaced(old.name, bytes, by: -1) }
        return .failure(.limit(limit))
    }

    /// Counts in a foreign file, or returns why it is no operation. The file is in the queue already, so no limit of
    /// the queue keeps the file from its name. `dropOldest` makes room for the file, as for any operation.
    mutating func name(
        _ submission: inout Submission, _ queue: SpoolDirectory
    ) throws(SpoolError) -> Result<IncomingFile, AdmissionRefusal> {
        try rule.complete(&submission, in: queue)
        let file = submission.file
        if let refusal = try objection(to: submission, queue) { return .failure(refusal) }
        let limit = try makeRoom(for: file, of: submission, isCandidate: true, queue)
        if limit != nil { count(in: file, isCandidate: true) }
        return .success(file)
    }

    /// Dates a dead letter that comes back as a new operation, and counts it in. It was accepted before, so no limit of
    /// the queue keeps it out.
    mutating func takeBack(_ submission: inout Submission, _ queue: SpoolDirectory) throws(SpoolError) -> IncomingFile {
        try rule.complete(&submission, in: queue)
        let file = submission.file
        count(in: file, isCandidate: false)
        return file
    }

    /// Counts in an operation that replaces none, or returns why it cannot enter. `isCandidate`: later operations of
    /// the batch may evict it.
    mutating func admit(
        _ submission: inout Submission, isCandidate: Bool, _ queue: SpoolDirectory
    ) throws(SpoolError) -> Result<IncomingFile, AdmissionRefusal> {
        try rule.complete(&submission, in: queue)
        let file = submission.file
        if let refusal = try objection(to: submission, queue) { return .failure(refusal) }
        let limit = try makeRoom(for: file, of: submission, isCandidate: isCandidate, queue)
        return limit.map { .failure(.limit($0)) } ?? .success(file)
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

    /// Counts in an operation, or returns the limit that keeps the operation out. An operation that waits may displace
    /// superseded operations, and with `dropOldest` older operations, unless it has expired: then it displaces none.
    private mutating func makeRoom(
        for file: IncomingFile, of submission: Submission, isCandidate: Bool, _ queue: SpoolDirectory
    ) throws(SpoolError) -> FullLimit? {
        let size = file.bytes.count
        if !file.waits { return room.takeFreeSpace(size) }
        if let limit = limits.bytes, size > limit { return .bytes(limit) }
        if let hopeless, size >= hopeless.size, room.isNew(file.entry.name) { return hopeless.limit }
        let displacesOthers = hasLimits && !rule.hasExpired(submission)
        var going: [RemovalCandidates.Victim] = []
        // The files of superseded values do not pile up, although their key counts once.
        while displacesOthers, let limit = limits.operations, room.files >= limit {
            if removals == nil {
                try count(queue)
                continue
            }
            guard let older = try removalCandidates?.nextSuperseded(for: file.entry.name, queue) else { break }
            guard let victim = try sized(older, queue) else { continue }
            room.count(victim, by: -1)
            going.append(victim)
        }
        while let limit = room.limitExceeded(by: size, counting: room.isNew(file.entry.name) ? 1 : nil) {
            if removals == nil {
                try count(queue)
                continue
            }
            guard displacesOthers, let next = try nextVictim(for: file.entry.name, beyond: limit, queue) else {
                for victim in going { room.count(victim, by: 1) }
                removalCandidates?.giveBack(going)
                if limits.whenFull == .reject, !rule.configuration.hasReplacingRoutes { hopeless = (size, limit) }
                return limit
            }
            guard let victim = try sized(next, queue) else { continue }
            room.count(victim, by: -1)
            going.append(victim)
        }
        victims += going
        count(in: file, isCandidate: isCandidate)
        return nil
    }

    /// Returns what is to go next beyond a limit: superseded operations only help against limits of bytes.
    private mutating func nextVictim(
        for name: EntryName, beyond limit: FullLimit, _ queue: SpoolDirectory
    ) throws(SpoolError) -> RemovalCandidates.Victim? {
        let isOfFiles = if case .operations = limit { false } else { true }
        if isOfFiles, let older = try removalCandidates?.nextSuperseded(for: name, queue) { return older }
        return try removalCandidates?.nextOldest(before: name, queue)
    }

    /// Returns a victim with the sizes of its files; `nil` if a run may have claimed one since the listing.
    private func sized(
        _ victim: RemovalCandidates.Victim, _ queue: SpoolDirectory
    ) throws(SpoolError) -> RemovalCandidates.Victim? {
        var victim = victim
        for index in victim.parts.indices where victim.parts[index].size == nil {
            guard let size = try queue.size(of: victim.parts[index].entry) else { return nil }
            victim.parts[index].size = size
        }
        return victim
    }

    private mutating func count(in file: IncomingFile, isCandidate: Bool) {
        let size = file.bytes.count
        let isNew = room.count(file.entry.name, size)
        removalCandidates?.letIn(file.entry, size: size, isNewKey: isNew, isCandidate: isCandidate)
    }

    /// Counts the waiting operations, as far as a limit needs the count.
    private mutating func count(_ queue: SpoolDirectory) throws(SpoolError) {
        removals = try hasLimits ? AdmissionRecord.removals(in: queue) : []
        try room.count(queue)
    }

    // MARK: - The drop

    /// Returns the operations proposed to go, superseded ones first, now that the batch is in the queue, and counts
    /// them in again: `countOut` decides on each. If operations have left the queue since the count, counts again; the
    /// next batch then chooses anew, because what was in flight may be back.
    mutating func beginRemovals(in queue: SpoolDirectory) throws(SpoolError) -> [RemovalCandidates.Victim] {
        if victims.isEmpty { return [] }
        var proposed = victims.filter { $0.newer != nil } + victims.filter { $0.newer == nil }
        victims = []
        if try AdmissionRecord.removals(in: queue) == removals {
            for victim in proposed { room.count(victim, by: 1) }
            return proposed
        }
        try recount(queue)
        for index in proposed.indices where proposed[index].parts.contains(where: \.isMember) {
            let displaced = proposed[index].parts.filter(\.isMember)
            // The record of the batch lacks what the batch displaces of itself.
            let bytes = displaced.reduce(0) { $0 + ($1.size ?? 0) }
            let isWhole = displaced.count == proposed[index].parts.count && proposed[index].newer == nil
            if isWhole { record?.operations += 1 }
            record?.bytes += bytes
            room.forget(operations: isWhole ? 1 : 0, bytes: bytes)
            for part in proposed[index].parts.indices { proposed[index].parts[part].isMember = false }
        }
        try record?.write(in: queue)
        return proposed
    }

    /// Counts a proposed operation out. Returns false if it stays: there is room for it by now.
    mutating func countOut(_ victim: RemovalCandidates.Victim) -> Bool {
        guard hasLock, victim.newer != nil || room.limitExceeded() != nil else {
            removalCandidates?.giveBack([victim])
            return false
        }
        room.count(victim, by: -1)
        victims.append(victim)
        return true
    }

    /// Takes the lock and proposes the operations that have to go for an operation that is in the queue already; none
    /// without limits.
    mutating func propose(
        for name: EntryName, at now: Timestamp, in queue: SpoolDirectory
    ) throws(SpoolError) -> [RemovalCandidates.Victim] {
        victims = []
        self.now = now
        if !hasLimits { return [] }
        try queue.lockNames()
        hasLock = true
        record = try AdmissionRecord.read(in: queue)
        var size = 0
        for state in [QueueState.new, .deferred] {
            size += try queue.size(of: Entry(state: state, name: name)) ?? 0
        }
        room.beginBatch(of: name, size)
        try recount(queue)
        removalCandidates = RemovalCandidates(rule, for: [name], besides: [], isWhole: false, at: now)
        while let limit = room.limitExceeded(), let next = try nextVictim(for: name, beyond: limit, queue) {
            guard let victim = try sized(next, queue) else { continue }
            room.count(victim, by: -1)
            victims.append(victim)
        }
        return try beginRemovals(in: queue)
    }

    /// Counts anew once the batch is in the queue.
    private mutating func recount(_ queue: SpoolDirectory) throws(SpoolError) {
        removalCandidates = nil
        removals = try hasLimits ? AdmissionRecord.removals(in: queue) : []
        try room.recount(queue)
    }
}
