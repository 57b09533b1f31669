import Policy
import Spool

/// The newest waiting value of each key, which tells whether a refused value is superseded.
///
/// A listing is used for twenty times as long as it took: refusals cost at most a twentieth of a run's time, however
/// long the queue is. A value arriving meanwhile counts as arriving after the refusal.
struct NewestValues {
    private static let share = 20
    private let spool: SpoolDirectory
    private let configuration: Configuration
    private let clock: RunClock
    private var waiting: Coalescing
    private var isCurrentUntil: ContinuousClock.Instant?

    init(spool: SpoolDirectory, configuration: Configuration, clock: RunClock) {
        self.spool = spool
        self.configuration = configuration
        self.clock = clock
        waiting = Coalescing(configuration, at: clock.now())
    }

    /// Whether a newer value that supersedes this operation waits in the queue; false for an operation without a key.
    mutating func supersede(_ name: EntryName) throws(SpoolError) -> Bool {
        guard waiting.group(of: name) != nil else { return false }
        if isCurrentUntil.map({ $0 <= clock.instant() }) ?? true { try list() }
        return waiting.isSuperseded(name)
    }

    private mutating func list() throws(SpoolError) {
        let began = clock.instant()
        var listed = Coalescing(configuration, at: clock.now())
        for state in [QueueState.new, .deferred] {
            try spool.forEachName(in: state) { name, _ in
                if name.keyDigest != nil { listed.note(EntryName(name)) }
            }
        }
        waiting = listed
        let ended = clock.instant()
        isCurrentUntil = ended + began.duration(to: ended) * Self.share
    }
}
