package import CSystem
package import Policy

/// What surrounds the calls of one process. The schedule decides here which process goes on, which call fails, and
/// which process dies.
package struct Gate {
    /// The error that a call throws.
    package typealias Failure = Errno

    /// Called before each call has an effect. May hand the baton to other processes, so the disk may be another one
    /// afterwards; may never return (the process was killed); may throw an error, which the call then throws without
    /// an effect. A `close` that fails has closed all the same, as on Linux.
    package var before: (Call) throws(Errno) -> Void
    /// The wall clock of the process's host, which the times of files come from.
    package var now: () -> Timestamp
    package var elapsed: () -> Duration
    package var sleep: (Duration) -> Void
    /// Drawn for short writes, the portions of listings, `SystemCalls.random` and the order of `SystemCalls.overlap`.
    package var random: () -> UInt64

    package init(
        before: @escaping (Call) throws(Errno) -> Void, now: @escaping () -> Timestamp,
        elapsed: @escaping () -> Duration, sleep: @escaping (Duration) -> Void, random: @escaping () -> UInt64
    ) {
        self.before = before
        self.now = now
        self.elapsed = elapsed
        self.sleep = sleep
        self.random = random
    }
}
