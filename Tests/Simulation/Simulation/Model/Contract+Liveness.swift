import Policy

extension Contract {
    /// When servers are well, everything is released and runs come, nothing stays in the queue.
    static func liveness(_ record: Record) -> [Breach] {
        if record.history.isEndless { return [Breach(.liveness, [], "the history has no end")] }
        guard record.history.endsCalmly else { return [] }
        let end = record.history.began + (record.events.last?.time ?? .zero)
        let stops = Stops(record)
        return record.lives.flatMap { life in
            if life.isPromised || !life.left.isEmpty { record.judging.meets(.life(life.label)) }
            if let breach = quarantined(life, record) { return [breach] }
            return life.left.compactMap { place in
                guard
                    place.directory == .new || place.directory == .deferred || place.directory == .claimed
                        || place.directory == .tmp
                else { return nil }
                if place.directory == .tmp, place.path.split(separator: "/").count == 2 { return nil }
                if isExcused(life, place, at: end, stops, in: record)
                    || waitsForNewest(life, at: end, stops, in: record)
                {
                    record.judging.excuses(.life(life.label))
                    return nil
                }
                return Breach(
                    .liveness, [life.offered, life.exchanges.last.map { record.exchanges[$0].received }],
                    "operation \(life.label) still waits in \(place.path)")
            }
        }
    }

    /// An accepted operation goes to quarantine only if its runs died again and again. A power cut does not count.
    private static func quarantined(_ life: Life, _ record: Record) -> Breach? {
        guard life.isPromised, life.offer.way != .foreign, life.damaged == nil,
            life.left.contains(where: { $0.directory == .quarantine }),
            record.interruptions(of: life, before: record.events.count) < record.history.setup.interruptions
        else { return nil }
        return Breach(
            .liveness, [life.offered, life.entered], "operation \(life.label) was accepted and is in quarantine")
    }

    /// Whether the operation waits with a newer operation of its key, whose request would carry the changes of both.
    private static func waitsForNewest(_ life: Life, at end: Timestamp, _ stops: Stops, in record: Record) -> Bool {
        guard life.kind.coalescing == .merge, let values = life.values else { return false }
        return (record.sequences[values] ?? []).map { record.lives[$0] }.contains { newer in
            life.precedes(newer)
                && newer.left.contains { place in
                    (place.directory == .new || place.directory == .deferred)
                        && isExcused(newer, place, at: end, stops, in: record)
                }
        }
    }

    private static func isExcused(
        _ life: Life, _ place: Place, at end: Timestamp, _ stops: Stops, in record: Record
    ) -> Bool {
        if stops.hold(life) || record.isHeldByGuard(life.kind.host) { return true }
        if let name = place.name, place.directory != .tmp {
            switch name.gate {
            case .notBefore(let time): if time > end { return true }
            // A clock that was ahead has set the time; a server may ask for up to a day.
            case .retryAt(let time): if time > end, record.clocks.wereAhead { return true }
            case .open: break
            }
        }
        if let time = life.offer.notBefore, time > end { return true }
        if life.kind.needsKept, !record.hasKeptValue(for: life) { return true }
        return life.sequences.contains { sequence in
            (record.sequences[sequence] ?? []).contains { other in
                let older = record.lives[other]
                // No event tells the new place of a dead letter that was created anew.
                let isNewest = (life.touches + older.touches).contains(where: \.insists)
                guard older.label != life.label, older.precedes(life) || isNewest else { return false }
                if stops.hold(older), !older.left.isEmpty { return true }
                // Only the name of a damaged file is left.
                if older.damaged != nil, older.kind.needsKept, !record.hasKeptValue(for: older) { return true }
                let damaged = older.damaged == nil ? [] : record.strays.filter { $0.name?.id == older.id }
                return (older.left + damaged).contains { place in
                    switch place.directory {
                    case .new, .deferred, .claimed:
                        if case .retryAt(let time) = place.name?.gate, time > end, record.clocks.wereAhead {
                            return true
                        }
                        return (older.offer.notBefore ?? end) > end
                            || older.kind.needsKept && !record.hasKeptValue(for: older)
                    case .failed, .quarantine: return older.kind.holdsBehindFailed && !sequence.isValue
                    case .delivered, .tmp, .other: return false
                    }
                }
            }
        }
    }
}

extension Record {
    /// Whether a run still holds a destination at the end, and each probe of the calm end has met a permanent status:
    /// nothing but an operator ends the hold.
    fileprivate func isHeldByGuard(_ host: String) -> Bool {
        let held = events.indices.last { index in
            switch events[index].what {
            case .reports(.destinationHeld(let name)), .reports(.holdEnded(let name)): name.hasSuffix("//\(host)")
            default: false
            }
        }
        guard let held, case .reports(.destinationHeld) = events[held].what else { return false }
        let since = max(held, calm ?? held)
        let probes = exchanges.filter { $0.request.host == host && $0.received > since }
        return !probes.isEmpty
            && probes.allSatisfy { probe in
                probe.labels.allSatisfy { probe.status(of: $0).map(Contract.permanent.contains) ?? false }
            }
    }

    /// Whether an operation of the same key was delivered by a kind that keeps a value of the answer. A run keeps the
    /// value before the run removes the operation, so an operation that still waits has left no value. A `send` keeps
    /// the value before its answer, and a power cut before the answer may take the operation with the value.
    func hasKeptValue(for life: Life) -> Bool {
        guard let key = life.offer.key else { return false }
        return lives.contains { other in
            other.kind.keeps && other.kind.batch == nil && other.offer.key == key
                && other.leaves.last { $0.leave != .superseded }?.leave == .delivered
                && (other.answer == .delivered || other.exchanges.last.map { exchanges[$0].process } != other.submitter)
                && !other.left.contains { $0.directory == .new || $0.directory == .deferred }
        }
    }
}
