import Policy

extension Contract {
    /// A file of another program keeps the time of its writing, however late a run names the file: operations added
    /// after the file are newer. Only behind an operation from the future the file comes later.
    static func writtenTimes(_ record: Record) -> [Breach] {
        if record.hasClockSteps { return [] }
        return record.lives.compactMap { life in
            guard life.offer.way == .foreign, let named = life.named, let name = life.firstName,
                let placed = life.answers.first(where: { $0.answer == .placed })?.at
            else { return nil }
            // Files of the same moment get times that differ by a microsecond each.
            let latest = record.time(at: placed) + .milliseconds(1)
            if name.createdAt <= latest || life.offer.createdAt.map({ $0 > latest }) ?? false { return nil }
            if isBehindFuture(life, placed: placed, named: named, in: record) { return nil }
            return Breach(
                .writtenTimes, [life.offered, placed, named],
                "operation \(life.label) was written before \(latest.rfc3339), and its name says \(name.createdAt.rfc3339)"
            )
        }
    }

    /// Whether an operation of the sequence, handed in before the naming of the file, has a time after that moment, or
    /// a time that was still to come when the file was placed: the run may be stopped before the naming.
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
