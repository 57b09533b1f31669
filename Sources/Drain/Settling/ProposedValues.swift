import Policy
import Spool

/// Proposes which values of a key may replace each other, so that not each answer costs a listing. The spool finds and
/// opens the values themselves.
struct ProposedValues {
    /// A listing is used for so many times as long as it took: refusals cost at most a twentieth of a run's time. A
    /// value arriving meanwhile counts as arriving after the refusal.
    private static let share = 20
    /// The time within which a file system may give two changes of a directory the same time, and more.
    private static let tick = Duration.milliseconds(20)
    private let spool: SpoolDirectory
    private let clock: RunClock
    private var waiting: (newest: Coalescing, until: ContinuousClock.Instant)?
    /// The keys with a value in `failed/` or `quarantine/`, as long as both directories have the times of their last
    /// change. `isComplete`: the listing has every change that these times stand for.
    private var dead: (keys: Set<Int>, changes: [Int64], seen: ContinuousClock.Instant, isComplete: Bool)?

    init(spool: SpoolDirectory, clock: RunClock) {
        self.spool = spool
        self.clock = clock
    }

    /// Returns a newer value that waits in the queue; `nil` if there is none.
    mutating func newer(than name: EntryName, by rule: ReplacementRule) throws(SpoolError) -> EntryName? {
        if rule.group(of: name) == nil { return nil }
        let began = clock.instant()
        if waiting.map({ $0.until <= began }) ?? true {
            var newest = Coalescing(rule)
            try spool.forEachValue(in: [.new, .deferred], of: rule) { entry, _ in newest.note(entry.name) }
            let ended = clock.instant()
            waiting = (newest, ended + began.duration(to: ended) * Self.share)
        }
        return waiting?.newest.newer(than: name)
    }

    /// Looks for values of an operation's key in `failed/` and `quarantine/`. Returns false if there is none.
    mutating func lookForDeadLetters(of name: EntryName, by rule: ReplacementRule) throws(SpoolError) -> Bool {
        guard let group = rule.group(of: name) else { return false }
        let states = [QueueState.failed, .quarantine]
        let changes = try spool.changes(of: states)
        if dead.map({ !$0.isComplete || $0.changes != changes }) ?? true {
            let began = clock.instant()
            let seen = dead.flatMap { $0.changes == changes ? $0.seen : nil } ?? began
            var keys: Set<Int> = []
            try spool.forEachValue(in: states, of: rule) { _, group in keys.insert(group.hashValue) }
            dead = (keys, changes, seen, began - seen > Self.tick)
        }
        return dead?.keys.contains(group.hashValue) ?? true
    }
}
