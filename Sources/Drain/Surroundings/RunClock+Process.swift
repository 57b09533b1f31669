package import Policy

extension RunClock {
    /// Returns the monotonic clock of this machine and the signals of this process, with the wall clock `now`.
    package static func ofProcess(now: @escaping () -> Timestamp) -> RunClock {
        RunClock(
            now: now, instant: { .now }, sleep: { Interruption.sleep(until: $0, now: { .now }) },
            signals: { Interruption.received }, wakeup: { Interruption.wakeup })
    }
}
