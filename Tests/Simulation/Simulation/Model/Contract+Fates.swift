import Policy

extension Contract {
    /// The fate of an operation, judged at the end of its history.
    enum Fate: Equatable {
        /// The operation's file is in the queue, a dead letter or in quarantine.
        case present
        case delivered
        /// A delivered document carried the changes.
        case merged
        case superseded
        case dropped
        case evicted
        /// Retention has removed the dead letter.
        case pruned
        case replaced
        /// The submitter was told of the server's refusal.
        case refused
        /// A power cut took the operation before anybody had promised it.
        case vanished
        /// The operation is not in the queue, and nobody promised the contrary.
        case absent
        /// The operation was promised, and is nowhere.
        case lost
    }

    /// Returns the fate of each operation, by its place in the record.
    static func fates(_ record: Record) -> [Fate] {
        let deliveries = MergedDeliveries(record)
        var fates = record.lives.map { fate(of: $0, in: record, deliveries) }
        // An eviction without an id excuses a file that no newer value excuses. An evicted newer value excuses older ones.
        excuseSuperseded(&fates, record)
        excuseEvictedFiles(&fates, record)
        excuseSuperseded(&fates, record)
        return fates
    }

    private static func excuseSuperseded(_ fates: inout [Fate], _ record: Record) {
        // A newer value excuses an older value only after the newer value itself is excused.
        for (sequence, members) in record.sequences where sequence.isValue {
            let isMerging = record.lives[members[0]].kind.coalescing == .merge
            let newestFirst = members.sorted { bound(record.lives[$0]) > bound(record.lives[$1]) }
            for index in newestFirst where fates[index] == .lost {
                // The parts of a merged document do not replace each other, but a newer value replaces a dead letter.
                if isMerging, !mayHaveFailed(record.lives[index], in: record) { continue }
                let isReplaced = newestFirst.contains { newer in
                    // Nobody knows the place of a foreign file in the order before the file is named.
                    (record.lives[index].created == nil && newer != index
                        || record.lives[index].precedes(record.lives[newer])
                        // No event tells the new place of a dead letter that was created anew.
                        || newer != index && record.lives[newer].touches.contains(where: \.insists)
                        || isSaidToReplace(record.lives[newer], record.lives[index], record))
                        && (canSupersede(record.lives[newer], fates[newer])
                            || wasSound(record.lives[newer], before: record.lives[index], record))
                }
                if isReplaced { fates[index] = .superseded }
            }
        }
    }

    /// A run may evict a foreign file during its admission. Only the report has the id. Each such report excuses a
    /// file.
    private static func excuseEvictedFiles(_ fates: inout [Fate], _ record: Record) {
        var unknown = record.unknownEvictions
        for index in record.lives.indices where fates[index] == .lost && record.lives[index].offer.way == .foreign {
            guard record.lives[index].id == nil, unknown > 0 else { continue }
            unknown -= 1
            fates[index] = .evicted
        }
    }

    /// Whether the operation was a dead letter, or may have been: the run may have died before its report of the
    /// failure.
    private static func mayHaveFailed(_ life: Life, in record: Record) -> Bool {
        life.leaves.contains { if case .failed = $0.leave { true } else { false } }
            || record.mayHaveEnded(life, after: life.offered)
    }

    /// Whether a report says that the newer operation supersedes the older operation, in cases without a known time of
    /// the newer operation: the clocks step, and `send` claims the operation without a visible name; or a run evicts a
    /// foreign file while it names the file, so that nobody knows the id either.
    private static func isSaidToReplace(_ newer: Life, _ older: Life, _ record: Record) -> Bool {
        guard newer.created == nil else { return false }
        return older.reports.contains { _, report in
            guard case .superseded(_, by: let by?) = report else { return false }
            if let id = newer.id { return id == by }
            return newer.offer.way == .foreign && record.lives(of: by, before: record.events.count).isEmpty
        }
    }

    private static func bound(_ life: Life) -> Timestamp { life.created?.lowerBound ?? Timestamp(microseconds: .max) }

    /// Whether a newer value was valid and in the queue, so that an older value could go for it. A newer value in
    /// quarantine that no run has sent was not valid.
    private static func canSupersede(_ life: Life, _ fate: Fate) -> Bool {
        switch fate {
        case .lost, .absent, .vanished, .refused: false
        case .present: life.left.contains { $0.isInQueue && $0.directory != .quarantine } || !life.exchanges.isEmpty
        case .delivered, .merged, .superseded, .dropped, .evicted, .pruned, .replaced: true
        }
    }

    /// Whether a process that began before the damage of the newer operation's file reports the older operation as
    /// superseded.
    private static func wasSound(_ newer: Life, before older: Life, _ record: Record) -> Bool {
        guard let damaged = newer.damaged else { return false }
        if record.isKilled(after: older.offered) || record.history.setup.isLimited { return true }
        return older.reports.contains { at, report in
            guard case .superseded = report else { return false }
            return at < damaged || record.course(of: record.events[at].process).began < damaged
        }
    }

    private static func fate(of life: Life, in record: Record, _ deliveries: MergedDeliveries) -> Fate {
        if life.left.contains(where: \.isInQueue) { return .present }
        let leaves = life.leaves.map(\.leave)
        let wasDelivered = life.exchanges.contains { place in
            let exchange = record.exchanges[place]
            return exchange.body(of: life.label).flatMap { exchange.delivered(body: $0) } != nil
        }
        if wasDelivered || life.answer == .delivered { return .delivered }
        if deliveries.cover(life, in: record) { return .merged }
        if leaves.contains(.dropped) { return .dropped }
        if leaves.contains(.replaced) { return .replaced }
        if life.answer == .failed { return .refused }
        let isPruned = record.history.setup.keepsFailed.map { wasPruned(life, after: $0, in: record) } ?? false
        // A run has told of the dead letter, so the operation was in the queue, whatever its submitter knows.
        if isPruned, life.deadFrom != nil { return .pruned }
        guard life.isPromised || isLeftBySend(life, in: record) else { return .absent }
        if life.damaged != nil { return .vanished }
        let entered = life.entered ?? life.offered
        // `send` answers later than its operation has its name.
        let began = min(entered, life.named ?? entered)
        if !life.offer.isDurable, record.powerCuts.contains(where: { $0 > entered }) { return .vanished }
        if record.history.setup.dropsOldest, record.history.setup.isLimited,
            life.leaves.contains(where: { $0.leave == .evicted && madeRoom(life, for: $0.at, in: record) })
                || record.isKilled(after: entered)
                || record.lives.contains(where: { $0.offer.isQuiet && $0.isPromised && ($0.entered ?? 0) > began })
        {
            return .evicted
        }
        if isPruned { return .pruned }
        if isReplacedByHalf(life, in: record) { return .replaced }
        return .lost
    }

    /// Whether a run that evicted the operation named a newer file of another program: a run does not evict an
    /// operation for an older file.
    private static func madeRoom(_ life: Life, for report: Int, in record: Record) -> Bool {
        let process = record.events[report].process
        if life.created == nil || record.lives.contains(where: { $0.submitter == process }) { return true }
        let began = record.course(of: process).began
        return record.lives.contains { other in
            other.label != life.label && other.offer.way == .foreign && other.offered < report
                && (other.named.map { $0 > began && $0 < report } ?? true)
                && (other.created == nil || life.precedes(other))
        }
    }

    /// Whether a `send` died, but not with the machine, while the operation was in flight: then the queue has the
    /// operation.
    private static func isLeftBySend(_ life: Life, in record: Record) -> Bool {
        guard life.offer.way == .send, life.answers.isEmpty, let killed = record.course(of: life.submitter).killed,
            let last = life.exchanges.last(where: { record.exchanges[$0].process == life.submitter })
        else { return false }
        let exchange = record.exchanges[last]
        return exchange.received < killed && exchange.learned.map { $0 > killed } ?? true
            && !record.powerCuts.contains { $0 > life.offered }
    }

    /// Whether the operation was a dead letter for the retention time. The run may have died before its report of the
    /// failure.
    private static func wasPruned(_ life: Life, after kept: Duration, in record: Record) -> Bool {
        // The file's time of change is that of its failure, and a run may tell of the failure later.
        let failed = life.leaves.first { if case .failed = $0.leave { true } else { false } }?.since
        let imported = life.offer.isDeadLetter ? life.answers.last?.at : nil
        guard let since = failed ?? imported ?? (record.mayHaveEnded(life, after: life.offered) ? life.offered : nil)
        else {
            return false
        }
        guard let last = record.events.indices.last else { return false }
        return record.clocks.differ(from: since, to: last) || record.time(at: last) - record.time(at: since) >= kept
    }

    /// Whether an `import --replace` died after its content had replaced the operation.
    private static func isReplacedByHalf(_ life: Life, in record: Record) -> Bool {
        guard let id = life.id else { return false }
        return record.lives(of: id, before: record.events.count).map { record.lives[$0] }.contains {
            $0.isReplacing && $0.label != life.label
                && ($0.offered > life.offered || $0.named ?? 0 > life.entered ?? .max)
                && (!$0.left.isEmpty || !$0.exchanges.isEmpty || $0.named != nil)
        }
    }
}

/// The delivered documents of merging kinds, by sequence.
struct MergedDeliveries {
    private var bySequence: [Sequence: [(received: Int, newest: Int, document: Document)]] = [:]

    init(_ record: Record) {
        for exchange in record.exchanges {
            for (body, labels) in exchange.request.bodies.enumerated() {
                guard exchange.delivered(body: body) != nil, exchange.documents.indices.contains(body),
                    let document = exchange.documents[body], let newest = record.newest(of: labels)
                else { continue }
                let life = record.lives[newest]
                guard life.kind.coalescing == .merge else { continue }
                for sequence in life.sequences where sequence.isValue {
                    bySequence[sequence, default: []].append((exchange.received, newest, document))
                }
            }
        }
    }

    /// Whether a document delivered after the offer has the operation's changes, in their place of the order.
    func cover(_ life: Life, in record: Record) -> Bool {
        guard life.kind.coalescing == .merge else { return false }
        return life.sequences.filter(\.isValue).contains { sequence in
            (bySequence[sequence] ?? []).contains { delivery in
                let newest = record.lives[delivery.newest]
                // No event tells the new place of a dead letter that was created anew.
                return delivery.received > life.offered && (life.precedes(newest) || newest.created == nil)
                    && record.document(delivery.document, has: life)
            }
        }
    }
}

extension Record {
    /// Returns the newest operation of a body, by its place.
    func newest(of labels: [Label]) -> Int? {
        labels.compactMap { byLabel[$0] }.reduce(nil) { newest, next in
            guard let newest else { return next }
            return lives[newest].precedes(lives[next]) ? next : newest
        }
    }

    /// Whether a process was killed or lost power after an event.
    func isKilled(after index: Int) -> Bool { kills.last ?? -1 > index }

    /// Whether several hosts share the queue.
    var hasSeveralHosts: Bool { Set(history.hosts.values.map(\.self)).union([0]).count > 1 }
}
