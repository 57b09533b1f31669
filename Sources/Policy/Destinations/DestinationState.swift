/// The state of a destination from one run to the next, in a `DestinationLedger`, as shown by `status`.
///
/// Losing the state costs a probe and a person's pauses and holds, never an operation. The state changes only by events
/// (`apply`), which are applied to the file's current state under the file's lock: runs that share a destination do not
/// overwrite each other's knowledge.
package struct DestinationState: Hashable, Sendable {
    /// A hold: no operation is sent until a person, a probe, or a change of configuration or credentials ends the hold.
    package struct Hold: Hashable, Sendable {
        package var reason: String
        package var since: Timestamp
        /// Whether a person made the hold. Such a hold is never probed, and only `release` ends it.
        package var isByHand = false
        /// The common status of all refused operations, if any. A probe with the same status changes nothing.
        package var status: Int?
        /// The `CredentialFingerprint` at the beginning of the hold; a change ends the hold.
        package var blamed: String?
        /// The time at which the last probe began.
        package var lastProbe: Timestamp?
    }

    /// Operations that failed for good in a row, with one status and no delivery between them: the cost of an incident
    /// so far, see `StormGuard`.
    package struct Storm: Hashable, Sendable {
        package var status: Int
        package var count: Int
        /// The time of the last failure.
        package var at: Timestamp
    }

    package var hold: Hold?
    /// Whether a person has paused the destination.
    package var isPaused = false
    /// The time until which the server asked for time.
    package var notBefore: Timestamp?
    /// The number of connection-level failures in a row.
    package var failures = 0
    /// The time of the first of these failures; `nil` if there is none.
    package var downSince: Timestamp?
    /// The name of the last failure or its status, and below its time; both are `nil` if there is none.
    package var lastFailure: String?
    package var lastFailureAt: Timestamp?
    /// The time until which the circuit breaker is open.
    package var coolDownUntil: Timestamp?
    /// The number of times in a row that the circuit breaker opened, without an answer in between.
    package var coolDowns = 0
    /// The number of attempts that may be in flight after a failure: 1, 2, 4, …; `nil` for no such limit.
    package var window: Int?
    package var lastSuccess: Timestamp?
    /// The operations that were refused and wait for a witness.
    package var parking = Parking()
    package var storm: Storm?
    /// The number of attempts in flight that was too many for the server.
    package var overload: Overload?

    /// Whether there is nothing to remember.
    package var isBlank: Bool { self == DestinationState() }
}

extension DestinationState {
    /// Creates the state of a destination of which nothing is known, with this change.
    package init(_ change: (inout DestinationState) -> Void = { _ in }) {
        self.init()
        change(&self)
    }
}
