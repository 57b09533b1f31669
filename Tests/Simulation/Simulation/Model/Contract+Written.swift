import Policy

extension Contract {
    /// A file of another program keeps the time of its writing, however late a run names the file: operations added
    /// after the file are newer. Only behind an operation from the future the file comes later.
    static func writtenTimes(_ record: Record) -> [Breach] {
        return record.lives.compactMap { life in
            guard life.offer.way == .foreign, let named = life.named, let name = life.firstName,
                let placed = life.answers.first(where: { $0.answer == .placed })?.at
            else { return nil }
            record.judging.meets(.life(life.label))
            // Files of the same moment get times that differ by a microsecond each.
            let latest = record.wall(of: life.submitter, at: placed, within: lateness).upperBound + .milliseconds(1)
            if name.createdAt <= latest || life.offer.createdAt.map({ $0 > latest }) ?? false { return nil }
            // A time before 1970 is no time of writing.
            let isTimeless = life.offer.createdAt.map { $0 < Timestamp(microseconds: 0) } ?? false
            if isTimeless || isBehindFuture(life, placed: placed, named: named, in: record) {
                record.judging.excuses(.life(life.label))
                return nil
            }
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
                let moment = isOwn ? placed : named
                if record.clocks.differ(from: min(other.offered, placed), to: named) { return true }
                return created > record.wall(of: life.submitter, at: moment).lowerBound
            }
        }
    }
}
