import Policy

/// When what a run has settled is made durable: at once where answers are slow, and where they are fast in groups, so
/// that no more than a fiftieth of the time goes into it, whatever the disk.
///
/// Until then a power cut brings back what has been delivered (window W1); nothing is ever lost by waiting. So what must
/// not come back, because a newer value of its sequence follows it, is flushed before that one is sent.
struct FlushPace {
    private static let share = 50
    private static let limits = Duration.milliseconds(2)...Duration.seconds(1)
    /// Not earlier than this.
    private var next: ContinuousClock.Instant
    /// What has been delivered in these since the last flush must stay away for good.
    private var sequences: Set<SequenceKey> = []
    /// Something is settled and not durable.
    private var isPending = false

    init(now: ContinuousClock.Instant) { next = now }

    /// When the next flush is due; `nil` if there is nothing to make durable.
    var due: ContinuousClock.Instant? { isPending ? next : nil }

    mutating func settled() { isPending = true }

    mutating func ended(in sequence: SequenceKey) { sequences.insert(sequence) }

    /// Whether the next operation of this sequence has to wait for a flush.
    func precedes(_ sequence: SequenceKey?) -> Bool {
        sequence.map(sequences.contains) ?? false
    }

    mutating func flushed(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) {
        let pause = start.duration(to: end) * Self.share
        next = end + min(max(pause, Self.limits.lowerBound), Self.limits.upperBound)
        isPending = false
        sequences = []
    }
}
