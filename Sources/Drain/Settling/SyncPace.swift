import Policy

/// The times at which a run syncs settled operations: at once if answers are slow, in groups if they are fast.
/// Syncs take at most a fiftieth of the time, or more if one takes longer than 20 ms: no interval exceeds a second.
///
/// Until a sync, a power cut brings delivered operations back (the repeat window); it never loses one. An operation
/// that must not come back, because a newer value of its sequence follows, is synced before that value is sent.
struct SyncPace {
    private static let share = 50
    private static let limits = Duration.milliseconds(2)...Duration.seconds(1)
    /// The earliest time of the next sync.
    private var next: ContinuousClock.Instant
    /// The sequences that went on since the last sync. Older values must not come back once a newer value is sent.
    private var sequences: Set<SequenceKey> = []
    /// Whether an operation is settled but not synced.
    private var isPending = false

    init(now: ContinuousClock.Instant) { next = now }

    /// The time of the next sync; `nil` while every settled operation is synced.
    var due: ContinuousClock.Instant? { isPending ? next : nil }

    mutating func settled() { isPending = true }

    mutating func ended(in sequence: SequenceKey) { sequences.insert(sequence) }

    /// Whether the next operation of this sequence must wait for a sync.
    func mustSync(before sequence: SequenceKey?) -> Bool {
        sequence.map(sequences.contains) ?? false
    }

    mutating func synced(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) {
        let interval = start.duration(to: end) * Self.share
        next = end + min(max(interval, Self.limits.lowerBound), Self.limits.upperBound)
        isPending = false
        sequences = []
    }
}
