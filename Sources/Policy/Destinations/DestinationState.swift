/// The state of a destination from one run to the next, in a `DestinationLedger`. `status` shows it.
///
/// Losing it costs a probe, never an operation; only what a person asked for (`pause`, a hold by hand) is lost with it.
/// It changes by events alone (`apply`), which are applied to what the file says at that moment under its lock: runs that
/// share a destination do not overwrite each other's knowledge.
package struct DestinationState: Hashable, Sendable {
    /// Why nothing is sent until somebody or something ends it.
    package struct Hold: Hashable, Sendable {
        package var reason: String
        package var since: Timestamp
        /// A person's own; never probed, and ended by `release` alone.
        package var isByHand: Bool
        /// The status that all met; `nil` where it was none. A probe that meets it again has learned nothing.
        package var status: Int?
        /// The configuration and credentials when it began, see `CredentialFingerprint`; a change ends it.
        package var blamed: String?
        /// When the last probe began.
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

    /// Operations that failed for good, one after the other, with one status and no delivery between them: what an incident
    /// has cost so far, see `StormGuard`.
    package struct Storm: Hashable, Sendable {
        package var status: Int
        package var count: Int
        /// When the last one failed.
        package var at: Timestamp

        package init(status: Int, count: Int, at: Timestamp) {
            self.status = status
            self.count = count
            self.at = at
        }
    }

    package var hold: Hold?
    /// A person has asked for a pause.
    package var isPaused: Bool
    /// The server has asked for time until then.
    package var notBefore: Timestamp?
    /// Connection-level failures in a row.
    package var failures: Int
    /// The last failure; both are `nil` if there is none.
    package var lastFailure: String?
    package var lastFailureAt: Timestamp?
    /// The circuit breaker is open until then.
    package var coolDownUntil: Timestamp?
    /// Cool-downs in a row, without an answer in between.
    package var coolDowns: Int
    /// How many attempts may be in flight after a failure: 1, 2, 4, …; `nil` for as many as ever.
    package var window: Int?
    package var lastSuccess: Timestamp?
    /// Operations that were refused, and that wait for a witness.
    package var parking: Parking
    package var storm: Storm?
    /// How many attempts at once were too many for the server.
    package var overload: Overload?

    package init(
        hold: Hold? = nil, isPaused: Bool = false, notBefore: Timestamp? = nil, failures: Int = 0,
        lastFailure: String? = nil, lastFailureAt: Timestamp? = nil, coolDownUntil: Timestamp? = nil,
        coolDowns: Int = 0, window: Int? = nil, lastSuccess: Timestamp? = nil, parking: Parking = Parking(),
        storm: Storm? = nil, overload: Overload? = nil
    ) {
        self.hold = hold
        self.isPaused = isPaused
        self.notBefore = notBefore
        self.failures = failures
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
