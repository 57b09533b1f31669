/// The time in which a destination takes nothing: from the first attempt that was no delivery to the first delivery.
///
/// What the answers were decides nothing: a destination that answers each request and takes no operation is in trouble
/// like one that does not answer.
package struct Incident: Hashable, Sendable {
    /// The time of the first attempt that was no delivery, and of the last one.
    package var since: Timestamp
    package var last: Timestamp
    /// Why the last attempt was no delivery.
    package var cause: Cause
    /// The number of attempts that were no delivery.
    package var attempts: Int
    /// Whether each of these attempts failed its operation for good: none of them leaves an operation that waits.
    package var failedAll = false
    /// Whether the ledger says that the destination is in trouble, from the first event after the trouble began.
    package var isDown = false

    package init(since: Timestamp, last: Timestamp, cause: Cause, attempts: Int = 1) {
        self.since = since
        self.last = last
        self.cause = cause
        self.attempts = attempts
    }

    /// The time without a delivery from which on a destination is in trouble, whatever it answers.
    package static let patience = Duration.seconds(900)

    /// Returns the incident with the attempts of a later one.
    func joined(by later: Incident) -> Incident {
        var joined = later
        joined.since = min(since, later.since)
        joined.attempts = min(attempts +| later.attempts, DestinationState.mostCounted)
        joined.failedAll = failedAll && later.failedAll
        joined.isDown = isDown
        return joined
    }

    /// The time in which the destination has taken nothing. A single refusal does not last: the time goes on while an
    /// operation waits for its next attempt, and otherwise ends with the last attempt.
    func duration(at now: Timestamp) -> Duration { (failedAll ? last : now) - since }

    /// The same after the server has asked for time.
    package static let patienceAfterRequest = Duration.seconds(3600)
}

extension Incident: StoredObject {
    package static let blank = Incident(
        since: Timestamp(microseconds: 0), last: Timestamp(microseconds: 0), cause: Cause(), attempts: 0)
    package static let fields: [StoredField<Incident>] = [
        .init("since", \.since, .required),
        .init("last", \.last, .required),
        .init("cause", \.cause, .always),
        .init("attempts", \.attempts, reading: counted(upTo: DestinationState.mostCounted)),
        .init("failed", \.failedAll),
        .init("down", \.isDown),
    ]
}

extension DestinationState {
    /// The failures in a row from which on a destination is down although its circuit breaker never opens.
    private static let failuresOfOutage = 5

    /// The incident; in a ledger of an earlier version, what its failures in a row say.
    package var trouble: Incident? {
        if incident != nil || failures == 0 { return incident }
        let since = downSince ?? lastFailureAt ?? Timestamp(microseconds: 0)
        return Incident(
            since: since, last: lastFailureAt ?? since, cause: Cause(failure: lastFailure ?? "other"),
            attempts: failures)
    }

    /// Whether the destination is in trouble at `now`, apart from a hold: it does not answer, or nothing has been
    /// delivered for `Incident.patience`.
    package func isDown(at now: Timestamp) -> Bool {
        guard let incident = trouble else { return false }
        let patience = notBefore == nil ? Incident.patience : Incident.patienceAfterRequest
        return incident.isDown || coolDowns > 0 || failures >= Self.failuresOfOutage
            || incident.duration(at: now) >= patience
    }
}
