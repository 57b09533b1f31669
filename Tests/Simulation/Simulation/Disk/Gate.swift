package import CSystem
package import Policy

/// The surroundings of the calls of a process. Here the schedule decides which process continues, which call fails, and
/// which process dies.
package struct Gate {
    /// The error that a call throws.
    package typealias Failure = Errno

    /// Called before a call has an effect. May hand the baton to other processes, so the disk may have changed
    /// afterwards. May never return (the process was killed). May throw an error; the call then throws the error
    /// without an effect. A failed `close` still closes the descriptor, as on Linux.
    package var before: (Call) throws(Errno) -> Void
    /// Called after a call has changed a name. An error that it throws is the error of the call.
    package var after: (Call) throws(Errno) -> Void
    /// Returns the wall clock of the process's host, the source of file times.
    package var now: () -> Timestamp
    package var elapsed: () -> Duration
    package var sleep: (Duration) -> Void
    /// Drawn for short writes, the portions of listings, `SystemCalls.random` and the order of `SystemCalls.overlap`.
    package var random: () -> UInt64

    package init(
        before: @escaping (Call) throws(Errno) -> Void,
        after: @escaping (Call) throws(Errno) -> Void = { (_) throws(Errno) in }, now: @escaping () -> Timestamp,
        elapsed: @escaping () -> Duration, sleep: @escaping (Duration) -> Void, random: @escaping () -> UInt64
    ) {
        self.before = before
        self.after = after
        self.now = now
        self.elapsed = elapsed
        self.sleep = sleep
        self.random = random
    }
}
