/// The state of a destination from one run to the next, in a `DestinationLedger`. `status` shows it.
///
/// Losing the state costs a probe, never an operation; it also loses a person's pauses and holds. It changes only by
/// events (`apply`), which are applied to the file's current state under the file's lock: runs that share a destination
/// do not overwrite each other's knowledge.
package struct DestinationState: Hashable, Sendable {
    /// A hold: no operation is sent until a person, a probe, or a change of configuration or credentials ends it.
    package struct Hold: Hashable, Sendable {
        package var reason: String
        package var since: Timestamp
        /// Whether a person made the hold. It is then never probed, and only `release` ends it.
        package var isByHand: Bool
        /// The status that all refused operations met, if any. A probe that meets it again changes nothing.
        package var status: Int?
        /// The `CredentialFingerprint` at the beginning of the hold; a change ends the hold.
        package var blamed: String?
        /// The time at which the last probe began.
        package var lastProbe: Timestamp?

        package init(
            reason: String, since: Timestamp, isByHand: Bool = false, status: Int? = nil, blamed: String? = nil,
            lastProbe: Timestamp? = nil
        ) {
            self.reason = reason
            self.since = since
            self.isByHand = isByHand
            self.status = status
            self.blamed = blamed
            self.lastProbe = lastProbe
        }
    }

    /// Operations that failed for good in a row, with one status and no delivery between them: the cost of an incident
    /// so far, see `StormGuard`.
    package struct Storm: Hashable, Sendable {
        package var status: Int
        package var count: Int
        /// The time of the last failure.
        package var at: Timestamp

        package init(status: Int, count: Int, at: Timestamp) {
            self.status = status
            self.count = count
            self.at = at
        }
    }

    package var hold: Hold?
    /// Whether a person has paused the destination.
    package var isPaused: Bool
    /// The time until which the server asked for time.
    package var notBefore: Timestamp?
    /// The number of connection-level failures in a row.
    package var failures: Int
    /// The time of the first of these failures; `nil` if there is none.
    package var downSince: Timestamp?
    /// The name of the last failure or its status, and below its time; both are `nil` if there is none.
    package var lastFailure: String?
    package var lastFailureAt: Timestamp?
    /// The time until which the circuit breaker is open.
    package var coolDownUntil: Timestamp?
    /// The number of times in a row that the circuit breaker opened, without an answer in between.
    package var coolDowns: Int
    /// The number of attempts that may be in flight after a failure: 1, 2, 4, …; `nil` for no such limit.
    package var window: Int?
    package var lastSuccess: Timestamp?
    /// The operations that were refused and wait for a witness.
    package var parking: Parking
    package var storm: Storm?
    /// The number of attempts in flight that was too many for the server.
    package var overload: Overload?

    package init(
        hold: Hold? = nil, isPaused: Bool = false, notBefore: Timestamp? = nil, failures: Int = 0,
        downSince: Timestamp? = nil, lastFailure: String? = nil, lastFailureAt: Timestamp? = nil,
        coolDownUntil: Timestamp? = nil,
        coolDowns: Int = 0, window: Int? = nil, lastSuccess: Timestamp? = nil, parking: Parking = Parking(),
        storm: Storm? = nil, overload: Overload? = nil
    ) {
        self.hold = hold
        self.isPaused = isPaused
        self.notBefore = notBefore
        self.failures = failures
        self.downSince = downSince
        self.lastFailure = lastFailure
        self.lastFailureAt = lastFailureAt
        self.coolDownUntil = coolDownUntil
        self.coolDowns = coolDowns
        self.window = window
        self.lastSuccess = lastSuccess
        self.parking = parking
        self.storm = storm
        self.overload = overload
    }

    /// Whether there is nothing to remember.
    package var isBlank: Bool { self == DestinationState() }
}
