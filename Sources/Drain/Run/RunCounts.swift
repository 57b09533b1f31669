/// The counts of a run. In JSON each has the name that it has here.
package struct RunCounts: Hashable, Codable, Sendable {
    /// The number of requests sent, retries within this run included.
    package var attempts = 0
    package var delivered = 0
    /// The number of operations deferred by this run that wait for another run at its end.
    package var deferred = 0
    /// The number of due operations that wait because their destination is held.
    package var held = 0
    /// The number of due operations that wait because an operator paused their destination.
    package var paused = 0
    /// The number of operations held by this run, and still held at its end, because it is not known whether the server
    /// received them.
    package var ambiguous = 0
    /// The number of due operations that wait for a circuit breaker, for a retry-after, or for the configuration's
    /// conditions.
    package var waiting = 0
    /// The number of operations removed because a newer operation of their key replaces them.
    package var superseded = 0
    /// The number of failed operations that had expired unsent.
    package var expired = 0
    package var failed = 0
    package var quarantined = 0
    /// The number of operations returned from the claims of dead runs.
    package var recovered = 0
    /// The number of operations cut off by the end of the run and put back.
    package var cutOff = 0
    package var inputOutputErrors = 0
    /// The number of due operations not begun, because `limit`, `maxTime` or a signal came first.
    package var leftDue = 0
}
