extension Contract {
    /// A batch is in the queue as a whole or not at all.
    static func atomic(_ record: Record) -> [Breach] {
        let fates = fates(record)
        var batches: [Int: [Int]] = [:]
        for (index, life) in record.lives.enumerated() {
            if case .atomic(let batch) = life.offer.way { batches[batch, default: []].append(index) }
        }
        return batches.sorted { $0.key < $1.key }.flatMap { batch, members -> [Breach] in
            record.judging.meets(.process(ProcessID(batch)))
            let inside = members.filter { isInside(record.lives[$0], fates[$0]) }
            let outside = members.filter { index in
                record.lives[index].isRejected && record.lives[index].answer != .duplicate || fates[index] == .lost
                    || fates[index] == .absent && !mayBeReplaced(index, record)
            }.filter { index in
                // A batch takes only the first operation of an id, and none of an id that is in the queue: its process may
                // have died before it said so.
                !inside.contains { record.lives[$0].id != nil && record.lives[$0].id == record.lives[index].id }
                    && !(record.lives[index].answers.isEmpty && record.hasOlderContent(record.lives[index]))
            }
            guard let one = inside.first, let other = outside.first(where: { !inside.contains($0) }) else { return [] }
            return [
                Breach(
                    .atomic, [record.lives[one].offered, record.lives[other].offered],
                    "of batch \(batch) operation \(record.lives[one].label) was in the queue and \(record.lives[other].label) was not"
                )
            ]
        }
    }

    private static func isInside(_ life: Life, _ fate: Fate) -> Bool {
        if !life.exchanges.isEmpty || life.isPromised { return true }
        switch fate {
        case .present: return life.left.contains { $0.isInQueue && $0.directory != .quarantine }
        case .delivered, .superseded, .evicted, .pruned: return true
        // A document with newer values of all its members is the same without the operation.
        case .merged: return false
        // A later content of the id may have replaced the content before this content.
        case .replaced: return life.named != nil
        case .dropped, .refused, .vanished, .absent, .lost: return false
        }
    }

    /// Whether a newer value, or a rule, may have removed an operation without a promise.
    private static func mayBeReplaced(_ index: Int, _ record: Record) -> Bool {
        let life = record.lives[index]
        if life.answer == .duplicate || record.history.setup.dropsOldest || record.history.setup.keepsFailed != nil {
            return true
        }
        if record.clocks.differ(from: life.offered, to: record.events.count - 1) || !life.leaves.isEmpty { return true }
        return life.sequences.filter(\.isValue).contains { (record.sequences[$0] ?? []).count > 1 }
    }
}
