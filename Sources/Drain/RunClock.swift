package import Policy

/// The clocks of a run, how it waits, and how it hears of signals. A test gives it others, and waits for nothing.
package struct RunClock {
    /// The wall clock: what names and records say.
    package var now: () -> Timestamp
    /// The monotonic clock: what the run itself waits for.
    package var instant: () -> ContinuousClock.Instant
    /// Waits until then, or for a signal, whichever is first.
    package var sleep: (_ deadline: ContinuousClock.Instant) -> Void
    /// The number of signals that asked for an end, and the last of them.
    package var signals: () -> (count: Int, last: Int32)

    package init(
        now: @escaping () -> Timestamp,
        instant: @escaping () -> ContinuousClock.Instant = { .now },
        sleep: @escaping (_ deadline: ContinuousClock.Instant) -> Void = { Interruption.sleep(until: $0) },
        signals: @escaping () -> (count: Int, last: Int32) = { Interruption.received }
    ) {
        self.now = now
        self.instant = instant
        self.sleep = sleep
        self.signals = signals
    }
}
