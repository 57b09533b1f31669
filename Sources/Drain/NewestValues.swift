import Policy
import Spool

/// The newest waiting value of each key, which tells whether a refused value is superseded.
///
/// A listing is used for twenty times as long as it took: refusals cost at most a twentieth of a run's time, however
/// long the queue is. A value that arrives meanwhile counts as arriving after the refusal.
struct NewestValues {
    private struct Key: Hashable {
        var type: TypeName
        var digest: Digest
    }

    private static let share = 20
    private let spool: SpoolDirectory
    private let clock: RunClock
    private var newest: [Key: Timestamp] = [:]
    private var isCurrentUntil: ContinuousClock.Instant?

    init(spool: SpoolDirectory, clock: RunClock) {
        self.spool = spool
        self.clock = clock
    }

    /// Whether a newer value of the operation's key waits in the queue; false for an operation without a key.
    mutating func hasNewer(than name: EntryName) throws(SpoolError) -> Bool {
        guard let digest = name.keyDigest else { return false }
        if isCurrentUntil.map({ $0 <= clock.instant() }) ?? true { try list() }
        return newest[Key(type: name.type, digest: digest)].map { $0 > name.createdAt } ?? false
    }

    private mutating func list() throws(SpoolError) {
        let began = clock.instant()
        newest.removeAll(keepingCapacity: true)
        for state in [QueueState.new, .deferred] {
            try spool.forEachName(in: state) { name, _ in
                guard let digest = name.keyDigest else { return }
                let key = Key(type: TypeName(name), digest: digest)
                newest[key] = max(newest[key] ?? name.createdAt, name.createdAt)
            }
        }
        let ended = clock.instant()
        isCurrentUntil = ended + began.duration(to: ended) * Self.share
    }
}
