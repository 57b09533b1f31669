internal import CSystem
internal import Policy

/// What surrounds the calls of one process: here the schedule decides which process goes on, which call fails, and who
/// dies.
struct Gate {
    /// Called before each call has an effect. Other processes may go on meanwhile, so the disk may be another one
    /// afterwards. Never returns if the process was killed. Throws an error in place of the call.
    var before: (Call) throws(Errno) -> Void
    /// The wall clock of the process's host.
    var now: () -> Timestamp
    /// The monotonic clock of the process's host.
    var elapsed: () -> Duration
    var sleep: (Duration) -> Void
    /// The process's own chance.
    var random: () -> UInt64
}
