import Policy

extension Contract {
    /// Only a newer value of the same type, key and destination supersedes an operation, once the value is due.
    static func superseded(_ record: Record) -> [Breach] {
        record.lives.flatMap { life in
            life.reports.compactMap { at, report in
                guard case .superseded(_, let by) = report else { return nil }
                record.judging.meets(.life(life.label))
                if record.sharesID(life) {
                    record.judging.excuses(.life(life.label))
                    return nil
                }
                guard life.kind.coalescing != .none, life.offer.key != nil else {
                    return Breach(
                        .superseded, [life.offered, at], "operation \(life.label) is of a kind that does not coalesce")
                }
                let rivals = Set(life.sequences.filter(\.isValue).flatMap { record.sequences[$0] ?? [] })
                let isRight = rivals.contains { place in
                    let rival = record.lives[place]
                    guard by == nil || rival.id == nil || rival.id == by, rival.offered < at, !rival.isRejected else {
                        return false
                    }
                    // An older value is sent before a value that opens later.
                    if let opens = rival.offer.notBefore, !rival.isReplacing, rival.touches.isEmpty,
                        !record.isNamed(rival, before: at),
                        record.wall(of: record.events[at].process, at: at, within: lateness).upperBound < opens
                    {
                        return false
                    }
                    guard life.precedes(rival) || rival.created == nil || life.created == nil else { return false }
                    // A value removed before by a rule or an operator replaces no operation.
                    return !rival.leaves.contains { leave in
                        switch leave.leave {
                        case .evicted, .quarantined, .refused: leave.at < at
                        case .delivered, .failed, .superseded, .dropped, .replaced: false
                        }
                    }
                }
                if isRight || by.map({ record.lives(of: $0, before: at).count > 1 }) ?? false { return nil }
                return Breach(
                    .superseded, [life.offered, at],
                    "operation \(life.label) was superseded by \(by?.description ?? "one"), which is no newer value of its key"
                )
            }
        }
    }
}
