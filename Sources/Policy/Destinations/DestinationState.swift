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
        /// What the hold is for; `nil` in a ledger of an earlier version, which has the reason alone.
        package var cause: Cause?
    }

    /// Failures for good in a row, with one status and no delivery between them: an incident's cost, see `StormGuard`.
    package struct Storm: Hashable, Sendable {
        package var status: Int
        package var count: Int
        /// The time of the last failure.
        package var at: Timestamp
        /// The last operations counted, the latest last, at most `mostKnown`: a run may die between the ledger and the
        /// end of the mark of a failure.
        package var ids: [OperationID] = []

        static let mostKnown = 100
    }

    package var hold: Hold?
    /// Whether a person has paused the destination.
    package var isPaused = false
    /// The time at which a person ended a hold last.
    package var released: Timestamp?
    /// The time until which the server asked for time.
    package var notBefore: Timestamp?
    /// The time at which the server asked; `nil` with `notBefore`, and in a file of an earlier version.
    package var asked: Timestamp?
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
    /// What has not been delivered since the last delivery; `nil` if the last attempt was a delivery.
    package var incident: Incident?
    /// The end of the last incident in which the destination was down; `nil` while there was none, or in a new one.
    package var upSince: Timestamp?
    /// The operations that were refused and wait for a witness.
    package var parking = Parking()
    package var storm: Storm?
    /// The number of attempts in flight that was too many for the server.
    package var overload: Overload?
    /// The time until which requests leave over HTTP/1.1, because an HTTP/2 stream ended without its whole answer.
    package var http1Until: Timestamp?

    /// How long requests leave over HTTP/1.1 after an HTTP/2 stream ended without its whole answer.
    static let longestHTTP1 = Duration.seconds(86_400)

    /// Returns whether requests leave over HTTP/1.1. An end further away than any state could have set it is over.
    package func needsHTTP1(at now: Timestamp) -> Bool {
        http1Until.map { $0 > now && $0 - now <= Self.longestHTTP1 } ?? false
    }

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
