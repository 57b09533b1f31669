package import Policy

/// The result of a run, in counts. DrainqCLI chooses the words and the exit status.
package struct RunSummary: Hashable, Sendable {
    package enum End: Hashable, Sendable {
        /// Nothing more was due.
        case done
        /// The queue is paused, since before the run or during it.
        case paused
        /// Another run is at the queue, and the options say not to join it.
        case busy
        /// `maxTime` was up.
        case timeUp
        /// This signal asked the run to end.
        case signal(Int32)
        /// The directory or the delivery agents failed, and going on would do harm.
        case broken(String)
    }

    package var startedAt: Timestamp
    package var duration: Duration = .zero
    package var timeSpent: TimeSpent
    package var end: End = .done
    /// The number of requests sent, retries within this run included.
    package var attempts = 0
    /// The most requests in flight at one moment.
    package var mostInFlight = 0
    package var delivered = 0
    /// The number of operations deferred by this run, and not settled since. They wait for another run.
    package var deferred = 0
    /// The number of due operations that wait because their destination is held.
    package var held = 0
    /// The number of due operations that wait because an operator paused their destination.
    package var paused = 0
    /// The number of operations held by this run because it is not known whether the server received them.
    package var ambiguous = 0
    /// The number of due operations that wait for a circuit breaker, for a retry-after, or for the configuration's
    /// conditions.
    package var waiting = 0
    /// The number of operations removed because a newer operation of their key replaces them.
    package var superseded = 0
    /// The number of failed operations that had expired unsent.
    package var expired = 0
    /// Why operations were not sent: the configuration's conditions, or no network; `nil` if both allowed attempts.
    package var conditions: String?
    package var failed = 0
    package var quarantined = 0
    /// Whether `new/` has more files without canonical names than the last pass admitted.
    package var leftForeign = false
    /// The number of operations returned from the claims of dead runs.
    package var recovered = 0
    /// The number of operations cut off by the end of the run and put back.
    package var cutOff = 0
    package var inputOutputErrors = 0
    /// The number of due operations not begun, because `limit`, `maxTime` or a signal came first.
    package var leftDue = 0
    /// The earliest time at which a waiting operation is due.
    package var nextDue: Timestamp?
    /// Whether a second signal cut off the attempts in flight.
    package var wasCutOff = false

    init(startedAt: Timestamp, timeSpent: TimeSpent) {
        self.startedAt = startedAt
        self.timeSpent = timeSpent
    }
}
