import Policy

extension Contract {
    /// A file of another program keeps the time at which it was written, however late a run gives it its name: what was
    /// added after it is newer. Only behind an operation that is from the future then it comes later.
    static func writtenTimes(_ record: Record) -> [Breach] {
        if record.hasClockSteps { return [] }
        return record.lives.compactMap { life in
            guard life.offer.way == .foreign, let named = life.named, let name = life.firstName,
                let placed = life.answers.first(where: { $0.answer == .placed })?.at
            else { return nil }
            // Files of one moment get times that differ by a microsecond each.
            let latest = record.time(at: placed) + .milliseconds(1)
            if name.createdAt <= latest || life.offer.createdAt.map({ $0 > latest }) ?? false { return nil }
            if isBehindFuture(life, placed: placed, named: named, in: record) { return nil }
            return Breach(
                .writtenTimes, [life.offered, placed, named],
                "operation \(life.label) was written before \(latest.rfc3339), and its name says \(name.createdAt.rfc3339)"
            )
        }
    }

    /// Whether an operation of its sequence, handed in before it got its name, says a time after that moment, or said a
    /// time that was still to come when the run began to name: it may be stopped in between.
    private static func isBehindFuture(_ life: Life, placed: Int, named: Int, in record: Record) -> Bool {
        life.sequences.contains { sequence in
            (record.sequences[sequence] ?? []).map { record.lives[$0] }.contains { other in
                guard other.label != life.label, other.offered < named else { return false }
                guard let created = other.created?.upperBound else { return true }
                let isOwn = other.offer.createdAt.map { $0 > record.time(at: other.offered) } ?? false
                return created > record.time(at: isOwn ? placed : named)
            }
        }
    }
}
