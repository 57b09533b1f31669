package import Policy

/// The result of a run. DrainqCLI chooses the words and the exit status.
@dynamicMemberLookup
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
    package var counts = RunCounts()
    /// The most requests in flight at one moment.
    package var mostInFlight = 0
    /// Why operations were not sent: the configuration's conditions, or no network; `nil` if both allowed attempts.
    package var conditions: String?
    /// Whether `new/` has more files without canonical names than the last pass admitted.
    package var leftForeign = false
    /// Whether a run that stays until the queue is empty leaves operations that wait for a time, for another process or
    /// for the end of a pause.
    package var leavesWaiting = false
    /// Whether another process has the order of a destination, and sends the operations that have an order.
    package var isLeftToOthers = false
    /// The earliest time at which a waiting operation is due.
    package var nextDue: Timestamp?
    /// Whether a second signal cut off the attempts in flight.
    package var wasCutOff = false

    /// A count of the run.
    package subscript(dynamicMember count: WritableKeyPath<RunCounts, Int>) -> Int {
        get { counts[keyPath: count] }
        set { counts[keyPath: count] = newValue }
    }

    init(startedAt: Timestamp, timeSpent: TimeSpent) {
        self.startedAt = startedAt
        self.timeSpent = timeSpent
    }
}
