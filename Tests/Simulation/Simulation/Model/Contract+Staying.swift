import Policy

extension Contract {
    /// The longest time for which a run that stays, and has nothing in flight, leaves an operation that may be sent: the
    /// run lists once a second, and waits for a lock for some seconds.
    private static let patience = Duration.seconds(20)

    /// A run that stays is as good as many short ones: an error, a lock of another process or a full disk ends for an
    /// operation when it has ended for the machine.
    static func staying(_ record: Record) -> [Breach] {
        record.courses.sorted { $0.key < $1.key }.flatMap { process, course -> [Breach] in
            guard let choice = course.choice, choice.stays, choice.ids == nil, choice.types.isEmpty,
                let ended = course.ended, !record.isShared(process, course)
            else { return [] }
            return record.lives.indices.compactMap { index -> Breach? in
                let life = record.lives[index]
                // Since the last moment at which something may have kept the run from the operation.
                let sent = life.exchanges.map { record.exchanges[$0].received }.filter {
                    $0 > course.began && $0 < ended
                }
                .last
                let until = sent ?? ended
                guard isSimple(life, before: until, record) else { return nil }
                record.judging.meets(.life(life.label))
                let since = quiet(process, course, life, until: until, record)
                guard record.events[until].time - record.events[since].time > patience,
                    record.certainEnd(of: life) >= until
                else { return nil }
                return Breach(
                    .staying, [life.offered, since, until],
                    "a run that stays left operation \(life.label), which may be sent, for twenty seconds")
            }
        }
    }

    /// Returns the last event that may keep the run from sending the operation for a while.
    private static func quiet(
        _ process: ProcessID, _ course: Course, _ life: Life, until end: Int, _ record: Record
    ) -> Int {
        let disturbing = course.refusals + course.stops + course.stalls + course.wakes + course.interruptions
        let own = record.exchanges.filter { $0.process == process }.map { $0.ended ?? end }
        let deaths = record.deaths(with: life).map(\.at)
        // Another process that is stopped may keep a lock until it is woken.
        let others = record.courses.values.flatMap { other in
            (other.stops + other.stalls).filter { $0 < end }.map { stop in
                min(other.wakes.first { $0 > stop } ?? other.ended ?? end, end)
            }
        }
        return ([course.began, life.entered ?? end] + disturbing + own.filter { $0 < end } + deaths + others).filter {
            $0 <= end
        }
        .max() ?? end
    }

    /// Whether nothing but the run decides when the operation is sent.
    private static func isSimple(_ life: Life, before end: Int, _ record: Record) -> Bool {
        guard life.sequences.isEmpty, !life.kind.needsKept, life.kind.batch == nil, life.offer.notBefore == nil,
            life.offer.way != .send, life.offer.way != .sendUnqueued, !life.isReplacing, life.damaged == nil,
            life.entered.map({ $0 < end }) ?? false, life.named.map({ $0 < end }) ?? false, life.touches.isEmpty,
            !record.sharesID(life), !life.reports.contains(where: { $0.at < end }),
            !life.leaves.contains(where: { $0.since < end })
        else { return false }
        // A destination with a failure may have to wait, and so may one that an operator has stopped.
        let isWell = record.lives.allSatisfy { other in
            other.kind.host != life.kind.host
                || other.reports.allSatisfy { at, report in
                    if at >= end { return true }
                    if case .delivered = report { return true }
                    return false
                }
        }
        let isStopped = record.events[..<end].contains { event in
            switch event.what {
            case .commands, .network, .clockStepped: true
            default: false
            }
        }
        return isWell && !isStopped
    }

}

extension Record {
    /// Whether another process sends operations beside a run.
    func isShared(_ process: ProcessID, _ course: Course) -> Bool {
        hasSeveralHosts
            || courses.contains { other, its in
                other != process && its.began < course.ended ?? .max && (its.ended ?? .max) > course.began
                    && (its.choice != nil || its.ways.contains(.send))
            }
    }
}
