import Policy
import Spool

/// The dead letters of keys on routes that coalesce, which a newer value of the key supersedes once delivered.
///
/// Memory has a hash for each such key. A listing is used for a hundred times as long as it took: it costs at most a
/// hundredth of a run's time. The run notes its own failed operations.
struct DeadLetters {
    private static let share = 100
    private let spool: SpoolDirectory
    private let configuration: Configuration
    private let destinations: DestinationTable
    private let clock: RunClock
    private var keys: Set<Int> = []
    private var isCurrentUntil: ContinuousClock.Instant?

    init(spool: SpoolDirectory, configuration: Configuration, clock: RunClock) {
        self.spool = spool
        self.configuration = configuration
        self.clock = clock
        destinations = DestinationTable(configuration)
    }

    /// Notes an operation failed by this run.
    mutating func note(_ name: EntryName) {
        if let group = configuration.coalescingGroup(of: name, destinations) { keys.insert(group.hashValue) }
    }

    /// Row X → gone: removes the dead letters superseded by a delivered value, durably, while the value is still
    /// claimed: after a crash in between the value is sent again, and they go then. Returns the removed ones.
    mutating func supersede(by name: EntryName) throws(SpoolError) -> [Entry] {
        guard let group = configuration.coalescingGroup(of: name, destinations) else { return [] }
        if isCurrentUntil.map({ $0 <= clock.instant() }) ?? true { try list() }
        guard keys.remove(group.hashValue) != nil else { return [] }
        var older: [Entry] = []
        try spool.forEachEntry(in: .failed) { entry in
            if (entry.name.createdAt, entry.name.id) < (name.createdAt, name.id),
                configuration.coalescingGroup(of: entry.name, destinations) == group
            {
                older.append(entry)
            }
        }
        var removed: [Entry] = []
        for entry in older where try spool.drop(entry) { removed.append(entry) }
        return removed
    }

    private mutating func list() throws(SpoolError) {
        let began = clock.instant()
        var listed: Set<Int> = []
        try spool.forEachName(in: .failed) { name, _ in
            if name.keyDigest != nil, let group = configuration.coalescingGroup(of: EntryName(name), destinations) {
                listed.insert(group.hashValue)
            }
        }
        keys = listed
        let ended = clock.instant()
        isCurrentUntil = ended + began.duration(to: ended) * Self.share
    }
}
