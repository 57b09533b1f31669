package import Policy

/// The clocks, the sleep and the signals of a run or of `send`. Tests replace them, so that every wait is over at once.
package struct RunClock {
    /// The wall clock, for names and records.
    package var now: () -> Timestamp
    /// The monotonic clock, for the run's own waits.
    package var instant: () -> ContinuousClock.Instant
    /// Waits until the deadline or a signal, whichever is first.
    package var sleep: (_ deadline: ContinuousClock.Instant) -> Void
    /// Returns the number of signals that ask the run to end, and the last of them.
    package var signals: () -> (count: Int, last: Int32)
    /// Returns a descriptor that is readable from the first of these signals on; -1 if there is none.
    package var wakeup: () -> Int32

    package init(
        now: @escaping () -> Timestamp,
        instant: @escaping () -> ContinuousClock.Instant,
        sleep: @escaping (_ deadline: ContinuousClock.Instant) -> Void,
        signals: @escaping () -> (count: Int, last: Int32), wakeup: @escaping () -> Int32
    ) {
        self.now = now
        self.instant = instant
        self.sleep = sleep
        self.signals = signals
        self.wakeup = wakeup
    }
}
