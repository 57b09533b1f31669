import Policy
import Spool

/// The newest waiting value of each key, which tells whether a refused value is out of date.
///
/// One listing answers for twenty times as long as it took: refusals cost a twentieth of a run's time, however many wait.
/// A value that arrives meanwhile counts as one that arrives after the refusal.
struct NewestValues {
    private struct Key: Hashable {
        var type: TypeName
        var digest: Digest
    }

    private static let share = 20
    private var newest: [Key: Timestamp] = [:]
    private var isCurrentUntil: ContinuousClock.Instant?

    /// Whether a newer value of its key waits in the queue; false for an operation without a key.
    mutating func hasNewer(than name: EntryName, in spool: SpoolDirectory) throws(SpoolError) -> Bool {
        guard let digest = name.keyDigest else { return false }
        if isCurrentUntil.map({ $0 <= .now }) ?? true { try list(spool) }
        return newest[Key(type: name.type, digest: digest)].map { $0 > name.createdAt } ?? false
    }

    private mutating func list(_ spool: SpoolDirectory) throws(SpoolError) {
        let began = ContinuousClock.now
        newest.removeAll(keepingCapacity: true)
        for state in [QueueState.new, .deferred] {
            try spool.forEachName(in: state) { name, _ in
                guard let digest = name.keyDigest else { return }
                let key = Key(type: TypeName(name), digest: digest)
                newest[key] = max(newest[key] ?? name.createdAt, name.createdAt)
            }
        }
        let ended = ContinuousClock.now
        isCurrentUntil = ended + began.duration(to: ended) * Self.share
    }
}
