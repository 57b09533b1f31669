import Policy

extension Contract {
    /// A dead letter of a coalescing kind goes without an operator or a rule only after the delivery of a newer value of
    /// its key.
    static func deadLettersStay(_ record: Record) -> [Breach] {
        gone(record) { $0.kind.coalescing == .replace && $0.deadFrom != nil }.compactMap { life in
            let isFollowed = record.newer(than: life).contains { newer in
                newer.leaves.contains { $0.leave == .delivered } || newer.answer == .delivered
            }
            if isFollowed { return nil }
            if record.mayHaveLeftUnseen(life) {
                record.judging.excuses(.life(life.label))
                return nil
            }
            return Breach(
                .deadLettersStay, [life.deadFrom, record.events.count - 1],
                "the dead letter \(life.label) is gone, and no newer value of its key was delivered")
        }
    }

    /// A patch of a merging kind replaces nothing: a dead letter of its key stays, whatever is delivered later.
    static func patchesStay(_ record: Record) -> [Breach] {
        let deliveries = MergedDeliveries(record)
        return gone(record) { $0.kind.coalescing == .merge && $0.deadFrom != nil }.compactMap { life in
            if deliveries.cover(life, in: record) { return nil }
            if record.mayHaveLeftUnseen(life) {
                record.judging.excuses(.life(life.label))
                return nil
            }
            return Breach(
                .patchesStay, [life.deadFrom, record.events.count - 1],
                "the dead letter \(life.label) is gone, and its changes were never delivered")
        }
    }

    /// A superseded operation leaves with a report that names it as superseded: no file goes for a value that nobody
    /// has opened.
    static func evidence(_ record: Record) -> [Breach] {
        let fates = fates(record)
        return record.lives.indices.compactMap { index in
            let life = record.lives[index]
            guard fates[index] == .superseded, life.isPromised else { return nil }
            record.judging.meets(.life(life.label))
            if life.leaves.contains(where: { $0.leave == .superseded }) || life.deadFrom != nil { return nil }
            // The report of a file that was never named has an id that nobody knows.
            if life.id == nil, record.hasUnknownSuperseded || record.unknownEvictions > 0 {
                record.judging.excuses(.life(life.label))
                return nil
            }
            if record.mayHaveLeftUnseen(life) {
                record.judging.excuses(.life(life.label))
                return nil
            }
            return Breach(
                .evidence, [life.offered, life.entered],
                "operation \(life.label) is gone for a newer value, and no process has said so")
        }
    }

    /// What a run learns to be delivered is settled and told soon, also in its grace time.
    static func settled(_ record: Record) -> [Breach] {
        record.exchanges.enumerated().compactMap { place, exchange in
            guard let taken = exchange.takenIn, exchange.delivered(body: 0) != nil, exchange.labels.count == 1,
                let life = exchange.labels.first.flatMap(record.life), life.offer.way != .sendUnqueued,
                record.course(of: exchange.process).choice != nil
            else { return nil }
            record.judging.meets(.request(place))
            let course = record.course(of: exchange.process)
            let told = life.reports.first { $0.at > taken && record.events[$0.at].process == exchange.process }?.at
            if let told, record.events[told].time - record.events[taken].time <= removal { return nil }
            let end = record.events[course.ended ?? record.events.count - 1].time
            let isDisturbed =
                !course.refusals.isEmpty || end - record.events[taken].time <= removal
                || (course.stops + course.stalls).contains {
                    record.events[$0].time <= record.events[taken].time + removal
                }
            // The dead letters of its key go first, under a lock that a stopped process may keep.
            let isLocked =
                told == nil
                && record.events[taken...].contains {
                    guard case .reports(.error(let text)) = $0.what else { return false }
                    return $0.process == exchange.process && text.hasPrefix("cannot lock 'state/names.lock'")
                }
            let hasWaited = told.map { waitedForLock(from: taken, to: $0, record) } ?? false
            if isDisturbed || isLocked || hasWaited || record.sharesID(life) {
                record.judging.excuses(.request(place))
                return nil
            }
            return Breach(
                .settled, [exchange.received, taken],
                "request \(exchange.request.number) was delivered, and operation \(life.label) was not settled within two seconds"
            )
        }
    }

    /// Whether the process that tells of a delivery may have waited for a lock in between: another process that stood
    /// still kept the lock. It tells within two seconds after the other one has woken, or after it has given up.
    private static func waitedForLock(from taken: Int, to told: Int, _ record: Record) -> Bool {
        let ends = record.events.indices[taken..<told].filter { index in
            let event = record.events[index]
            guard record.events[told].time - event.time <= removal else { return false }
            switch event.what {
            case .reports(.error(let words)):
                return event.process == record.events[told].process && words.hasPrefix("cannot lock ")
            case .woken: return event.process != record.events[told].process
            default: return false
            }
        }
        return !ends.isEmpty
    }

    /// Once its older content has left the queue, `import --replace` changes nothing.
    static func replacesPresent(_ record: Record) -> [Breach] {
        record.lives.compactMap { life in
            guard life.isReplacing, case .accepted? = life.answer, let id = life.id, !record.sharesID(life),
                !life.offer.isDeadLetter
            else { return nil }
            record.judging.meets(.life(life.label))
            let older = record.lives.filter {
                $0.label != life.label && $0.id == id && $0.isBefore(life) && !$0.isRejected
            }
            let isThere = older.contains { old in
                !old.leaves.contains { leave in
                    switch leave.leave {
                    case .delivered, .superseded, .evicted, .dropped: leave.at < life.offered
                    case .failed, .quarantined, .replaced, .refused: false
                    }
                } || old.touches.contains { $0.verb.frees }
            }
            if isThere || older.isEmpty { return nil }
            // A command that died may have dropped the operation, or not.
            let isUncertain = older.contains { old in
                !record.deaths(with: old).isEmpty || old.touches.contains { $0.told == nil }
            }
            if isUncertain || !record.powerCuts.isEmpty {
                record.judging.excuses(.life(life.label))
                return nil
            }
            return Breach(
                .replacesPresent, [life.offered, life.answers.last?.at],
                "operation \(life.label) took the place of one that was not in the queue any more")
        }
    }

    // MARK: - Operations that are gone

    /// Returns the promised operations of a sort that are nowhere at the end, though nothing and nobody is known to have
    /// removed them. Notes each operation of the sort as judged.
    private static func gone(_ record: Record, _ isMeant: (Life) -> Bool) -> [Life] {
        record.lives.filter { life in
            guard life.isPromised, isMeant(life) else { return false }
            record.judging.meets(.life(life.label))
            let hasLeft = life.leaves.contains { leave in
                switch leave.leave {
                case .delivered, .dropped, .replaced, .evicted: true
                case .failed, .superseded, .quarantined, .refused: false
                }
            }
            let wasPruned = record.history.setup.keepsFailed.map { kept in
                life.dead.map { record.isPruned(since: $0.since, at: record.events.count - 1) || kept == .zero }
                    ?? false
            }
            return !hasLeft && life.left.isEmpty && wasPruned != true && life.damaged == nil && !record.sharesID(life)
                && !life.touches.contains { $0.verb.frees }
        }
    }
}

extension Record {
    /// Whether a report names a superseded operation whose id nobody knows.
    fileprivate var hasUnknownSuperseded: Bool {
        events.indices.contains { index in
            guard case .reports(.superseded(let id, by: _)) = events[index].what else { return false }
            return lives(of: id, before: index).isEmpty
        }
    }

    /// Returns the newer operations of the type, key and destination.
    fileprivate func newer(than life: Life) -> [Life] {
        life.sequences.filter(\.isValue).flatMap { sequences[$0] ?? [] }.map { lives[$0] }.filter {
            $0.label != life.label && !$0.precedes(life)
        }
    }

    /// Whether a process may have removed the operation and have had no time, or no way, to say so.
    fileprivate func mayHaveLeftUnseen(_ life: Life) -> Bool {
        let since = life.entered ?? life.offered
        if powerCuts.contains(where: { $0 > since }) || lives.contains(where: { $0.offer.isQuiet }) { return true }
        return courses.values.contains { course in
            guard (course.ended ?? .max) > since else { return false }
            return course.killed != nil || !course.refusals.isEmpty
        }
    }
}
