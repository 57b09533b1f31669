package import Policy
package import Spool

/// The result of a run, in counts. DrainqCLI makes the words and the exit status.
package struct RunSummary: Hashable, Sendable {
    package enum End: Hashable, Sendable {
        /// Nothing more was due.
        case done
        /// `paused` is there: nothing was tried.
        case paused
        /// Another run is at it, and the options said not to join it.
        case busy
        /// `maxTime` was up.
        case timeUp
        /// This signal asked for an end.
        case signal(Int32)
        /// The directory or the delivery agents failed: going on would do harm.
        case broken(String)
    }

    package var startedAt: Timestamp
    package var duration: Duration = .zero
    package var timeSpent = TimeSpent()
    package var end: End = .done
    /// Requests that were sent, retries within this run included.
    package var attempts = 0
    /// The most of them in flight at one moment.
    package var mostInFlight = 0
    package var delivered = 0
    /// Operations that wait for another run: deferred by this one, and not delivered or failed later in it.
    package var deferred = 0
    /// Operations that are due and wait because their destination is held.
    package var held = 0
    /// Operations that are due and wait because a person paused their destination.
    package var paused = 0
    /// Operations held by themselves in this run: whether they were received is not known.
    package var ambiguous = 0
    /// Operations that are due and wait for a cool-down, for a server that asked for time, or for the configuration's
    /// conditions.
    package var waiting = 0
    /// Older values of a key that were removed because a newer operation stands for them.
    package var superseded = 0
    /// The number of failed operations that had expired unsent.
    package var expired = 0
    /// Why nothing was attempted, where the configuration's conditions were not met or this machine has no network.
    package var conditions: String?
    package var failed = 0
    package var quarantined = 0
    /// More was in `new/` under names of its own than the last pass took in.
    package var leftForeign = false
    /// Operations returned that a dead run had held.
    package var recovered = 0
    /// Operations cut off by the end of the run and put back.
    package var cutOff = 0
    package var inputOutputErrors = 0
    /// Due, but not taken: `limit`, `maxTime` or a signal came first.
    package var leftDue = 0
    /// The earliest time at which something that waits is due.
    package var nextDue: Timestamp?
    /// Whether a second signal cut off what was in flight.
    package var wasCutOff = false

    package init(startedAt: Timestamp) {
        self.startedAt = startedAt
    }
}

/// An event during a run.
package enum RunEvent: Sendable {
    /// The number of operations about to be attempted, and the number due beyond the limit.
    case chosen(Int, leftDue: Int)
    case attempted(AttemptEvent)
    /// Given up without a request: expired, or its request cannot be made.
    case gaveUp(AttemptEvent)
    case quarantined(QuarantineItem)
    /// A destination is held from here on; its operations are put back. The storm guard holds it for a status that
    /// operations before have failed with.
    case destinationHeld(destination: String, record: AttemptRecord, byStormGuard: Bool)
    /// A hold that this run met has ended: by a delivery, another answer than before, or a change of what it was blamed on.
    case holdEnded(destination: String)
    /// An operation was refused, and waits for another one to show who is to blame. `times` is how often it was refused.
    case parked(OperationID, destination: String, record: AttemptRecord, times: Int)
    /// An attempt has shown that this machine has no network. `isNew` is false where a run before has said so.
    case networkAbsent(NetworkAbsence, isNew: Bool)
    /// Taken away unsent: a newer operation of its key stands for it.
    case superseded(EntryName, by: OperationID, destination: String)
    /// Gone under `dropOldest`, so that a file which was dropped into `new/` could be admitted.
    case dropped(EntryName)
    case recovered(Recovery)
    /// The answer to a delivered operation has no value that its route keeps: those that need it wait.
    case notKept(OperationID, name: String, reason: Unkept)
    /// A signal ends the run: nothing more is claimed, and these requests in flight have the grace time to end.
    case stopping(inFlight: Int, grace: Duration)
    case inputOutputError(SpoolError)
    case agentsFailed(String)
}
