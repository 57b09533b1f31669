import Policy

extension Contract {
    /// With `whenFull: "reject"` no submitter adds an operation beyond the limit, and the queue rejects no operation
    /// while it has room.
    static func limits(_ record: Record) -> [Breach] {
        guard let most = record.history.setup.operations, !record.history.setup.dropsOldest else { return [] }
        let spans = entered(record)
        return record.lives.flatMap { life in
            life.answers.compactMap { at, answer -> Breach? in
                record.judging.meets(.life(life.label))
                switch answer {
                case .accepted:
                    if life.offer.isDeadLetter || life.isReplacing { return nil }
                    let count = requests(
                        for: spans.filter { $0.from <= at && $0.to > at && !isOutdated($0.index, at: at, record) }
                            .map { record.lives[$0.index] })
                    // A value counts with a foreign file of its key, and with another value of the key, which an
                    // operator may have put back.
                    let isCounted = life.values.map { values in
                        (record.sequences[values] ?? []).map { record.lives[$0] }.contains { other in
                            other.offer.way == .foreign && other.offered < at
                                || other.label != life.label && mayWait(other, from: life.offered, to: at)
                        }
                    }
                    if count <= most || isCounted == true { return nil }
                    return Breach(
                        .limits, [life.offered, at],
                        "operation \(life.label) was accepted as the \(count)th that waits, of \(most)")
                case .full:
                    let others = requests(
                        for: record.lives.filter {
                            $0.label != life.label && mayWait($0, from: life.offered, to: at)
                        })
                    if others >= most { return nil }
                    // No sentence counts bytes.
                    let isFullByBytes = record.history.setup.bytes != nil
                    if isFullByBytes || record.isFullDisk || record.hasUnmarkedRemoval(before: at) {
                        record.judging.excuses(.life(life.label))
                        return nil
                    }
                    return Breach(
                        .limits, [life.offered, at],
                        "operation \(life.label) found no room, although \(others) others wait at most, of \(most)")
                default: return nil
                }
            }
        }
    }

    /// The number of operations as limits count them: those of a key that one request replaces or carries are one.
    private static func requests(for lives: [Life]) -> Int {
        lives.count { $0.values == nil } + Set(lives.compactMap(\.values)).count
    }

    /// Returns the newest operation that may count together with this one between two events; a key is as old as this.
    /// An operation whose time is unknown may be the newest.
    private static func newest(with life: Life, from first: Int, to last: Int, _ record: Record) -> Life {
        guard let values = life.values else { return life }
        return (record.sequences[values] ?? []).map { record.lives[$0] }
            .filter { $0.named ?? .max < last && mayWait($0, from: first, to: last) }
            .reduce(life) { $0.created != nil && ($1.created == nil || $0.precedes($1)) ? $1 : $0 }
    }

    /// Whether a value of the operation's key, or the operation itself, got its name between two events.
    private static func grows(_ life: Life, from first: Int, to last: Int, _ record: Record) -> Bool {
        let values = life.values.map { (record.sequences[$0] ?? []).map { record.lives[$0] } } ?? [life]
        return values.contains { ($0.named ?? .max) >= first && $0.offered < last }
    }

    /// The times in which operations of submitters certainly waited. Operations that other programs rename into `new/`
    /// or an operator puts back have no limit.
    private static func entered(_ record: Record) -> [(index: Int, from: Int, to: Int)] {
        let waits = Waits(record)
        return record.lives.indices.compactMap { index in
            let life = record.lives[index]
            guard life.offer.way != .foreign, !life.offer.isDeadLetter,
                let span = waits.spans(of: index).first(where: { $0.from == life.entered })
            else { return nil }
            return (index, span.from, span.to ?? record.certainEnd(of: life))
        }
    }

    /// Whether the queue had accepted a newer value of the key by then. The newer value makes a waiting older value
    /// superfluous. A run may have the older value in flight.
    private static func isOutdated(_ index: Int, at: Int, _ record: Record) -> Bool {
        let life = record.lives[index]
        guard life.kind.coalescing == .replace, let values = life.values else { return false }
        return (record.sequences[values] ?? []).map { record.lives[$0] }.contains {
            life.precedes($0) && $0.isPromised && $0.entered ?? .max <= at
        }
    }

    /// Whether an operation may have waited at any time between two events.
    private static func mayWait(_ life: Life, from first: Int, to last: Int) -> Bool {
        guard life.offered < last else { return false }
        if life.isRejected, let answer = life.answers.last?.at, answer < first { return false }
        guard let leave = life.leaves.map(\.at).max(), leave < first else { return true }
        return life.touches.contains { $0.verb.frees && ($0.told ?? .max) > leave }
    }

    /// The oldest waiting operation or key makes room, and never for an older operation.
    static func eviction(_ record: Record) -> [Breach] {
        guard record.history.setup.isLimited, record.history.setup.dropsOldest else { return [] }
        let waits = Waits(record)
        return record.lives.flatMap { life in
            life.reports.compactMap { at, report -> Breach? in
                guard case .evicted = report else { return nil }
                record.judging.meets(.life(life.label))
                if record.sharesID(life) {
                    record.judging.excuses(.life(life.label))
                    return nil
                }
                let process = record.events[at].process
                return evictedForOlder(life, at, process, record)
                    ?? evictedBeforeOlder(life, at, process, record, waits)
            }
        }
    }

    private static func evictedForOlder(_ life: Life, _ at: Int, _ process: ProcessID, _ record: Record) -> Breach? {
        let isRun = record.course(of: process).choice != nil
        let needing = record.lives.filter { other in
            other.offered < at && (isRun ? other.offer.way == .foreign : other.submitter == process)
        }
        // A file that comes back from quarantine needs room too, and no process has handed the file in.
        guard !needing.isEmpty, needing.allSatisfy({ $0.label != life.label && $0.precedes(life) }) else { return nil }
        return Breach(
            .eviction, [life.offered, at], "operation \(life.label) made room for an operation that is older")
    }

    private static func evictedBeforeOlder(
        _ life: Life, _ at: Int, _ process: ProcessID, _ record: Record, _ waits: Waits
    ) -> Breach? {
        let course = record.course(of: process)
        let listed =
            record.lives.filter { $0.submitter == process && $0.offered < at }.map(\.offered).max() ?? course.began
        // Another process may have claimed the older operation.
        let isShared = record.courses.contains { other, course in
            other != process && course.began < at && (course.ended ?? .max) > listed
        }
        // The claims of dead processes are in flight until a run returns them.
        if isShared || !course.refusals.isEmpty || record.isKilled(between: -1, and: at) {
            record.judging.excuses(.life(life.label))
            return nil
        }
        let newest = newest(with: life, from: listed, to: at, record)
        // A key to which the same batch adds was older when the batch chose.
        if newest.created == nil || newest.label != life.label && newest.named ?? .max > listed {
            record.judging.excuses(.life(life.label))
            return nil
        }
        let older = record.lives.indices.first { index in
            let last = self.newest(with: record.lives[index], from: listed, to: at, record)
            // A key to which the same batch adds stays.
            return last.precedes(newest) && !grows(record.lives[index], from: listed, to: at, record)
                && waits.spans(of: index).contains {
                    $0.from < listed && ($0.to ?? record.certainEnd(of: record.lives[index])) > at
                }
        }
        guard let older else { return nil }
        return Breach(
            .eviction, [record.lives[older].entered, at],
            "operation \(life.label) made room while the older \(record.lives[older].label) waited")
    }
}

extension Record {
    /// The last event at which an operation is visibly in the queue, if no report says when the operation left. A
    /// command that told nothing of the operation may have found none.
    func certainEnd(of life: Life) -> Int {
        if life.left.contains(where: { $0.directory == .new || $0.directory == .deferred }) { return events.count }
        let requests = life.exchanges.map { exchanges[$0].received }
        let touches = life.touches.filter { $0.told != nil }.map(\.began)
        return max(life.entered ?? 0, requests.max() ?? 0, touches.max() ?? 0)
    }

    /// Whether a process died soon after the removal of an operation: the mark of the removal may be missing for
    /// processes that count operations.
    func hasUnmarkedRemoval(before index: Int) -> Bool {
        lives.contains { life in
            life.leaves.contains { leave in
                guard let killed = course(of: events[leave.at].process).killed, killed < index else { return false }
                return killed > leave.at && events[killed].time - events[leave.at].time <= Contract.removal
            }
        }
    }

    /// Whether the disk was full at a time.
    var isFullDisk: Bool {
        events.contains { if case .refusedCall(_, path: _, 28) = $0.what { true } else { false } }
    }
}
