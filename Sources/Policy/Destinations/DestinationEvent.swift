/// An event that changes a destination's state.
package enum DestinationEvent: Hashable, Sendable {
    /// An answer other than a delivery came: the server is there. Another event may follow.
    case answered
    /// An operation was delivered by an attempt that began at that time. In the ledger `at` says when.
    case delivered(began: Timestamp, at: Timestamp = .lastInNames)
    /// A connection-level failure, by name, or a 502, 503 or 504: the server is away. In the ledger `at` says when.
    case unreachable(String, at: Timestamp = .lastInNames)
    /// Attempts were no deliveries, whatever the answers were.
    case missed(Incident)
    /// The incident goes on without an attempt.
    case looked
    /// No route and no waiting operation names the destination.
    case unnamed
    /// The server asked for time until then.
    case retryAfter(until: Timestamp)
    /// The destination is held for an attempt that began at that time. `status` is the status that all refused
    /// operations met; `nil` if there was none.
    case held(reason: String, status: Int? = nil, blamed: String?, cause: Cause? = nil, began: Timestamp = .lastInNames)
    /// A probe of the hold begins. Whatever its result, the next probe waits for its time.
    case probed
    /// A probe from that time met another end than the one for which the destination is held: the hold is over.
    case disproved(began: Timestamp)
    /// The server refused one operation at that time. The operation waits for a witness to show who is to blame.
    case parked(Parking.Refusal, at: Timestamp)
    /// An operation was delivered with these credentials while others were parked; its attempt began at that time.
    case witnessed(credentials: String, began: Timestamp)
    /// A parked operation has met another end.
    case unparked(Age)
    /// An operation failed for good with this status. A storm counts the operation once.
    case failed(status: Int, OperationID? = nil)
    /// The server refused attempts for lack of room, when all runs together had this number in flight.
    case overloaded(inFlight: Int)
    /// The server sustained this number of attempts in flight.
    case sustained(inFlight: Int)
    /// An HTTP/2 stream ended without its whole answer.
    case brokeStream
    case heldByHand(reason: String)
    /// A person ends the hold, the open circuit breaker and the retry-after; only `resumed` ends a pause.
    case released
    /// The configuration or credentials that a hold or a parking is blamed on have changed since: their fingerprint.
    case blameChanged(since: String)
    case paused
    case resumed

    package var isDelivery: Bool { if case .delivered = self { true } else { false } }

    /// Returns the event with the time at which it happened, by default now: the ledger gets events of several runs in
    /// another order.
    func happened(at now: Timestamp) -> DestinationEvent {
        switch self {
        case .delivered(let began, let at): .delivered(began: began, at: min(at, now))
        case .unreachable(let name, _): .unreachable(name, at: now)
        default: self
        }
    }

    /// Returns an event that says the same as both; `nil` if none does.
    func joined(to earlier: DestinationEvent) -> DestinationEvent? {
        switch (earlier, self) {
        case (.answered, .answered): self
        case (.delivered(let first, _), .delivered(let second, let at)): .delivered(began: max(first, second), at: at)
        default: nil
        }
    }
}
