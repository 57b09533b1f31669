/// An event that changes a destination's state.
package enum DestinationEvent: Hashable, Sendable {
    /// An answer other than a delivery came: the server is there. Another event may follow.
    case answered
    case delivered
    /// A connection-level failure, by its name, or a 502, 503 or 504: the server behind a gateway is away.
    case unreachable(String)
    /// The server asked for time until then.
    case retryAfter(until: Timestamp)
    /// The destination is held. `status` is the status that all refused operations met; `nil` if there was none.
    case held(reason: String, status: Int? = nil, blamed: String?)
    /// A probe of the hold begins. Whatever its result, the next probe waits for its time.
    case probed
    /// A probe was not delivered, but met another end than the one for which the destination is held: the hold is over.
    case disproved
    /// The server refused one operation at that time. The operation waits for a witness to show who is to blame.
    case parked(Parking.Refusal, at: Timestamp)
    /// An operation was delivered with these credentials while others were parked; its attempt began at that time.
    case witnessed(credentials: String, began: Timestamp)
    /// A parked operation has met another end.
    case unparked(OperationID)
    /// An operation failed for good with this status.
    case failed(status: Int)
    /// The server refused attempts for lack of room, when all runs together had this number in flight.
    case overloaded(inFlight: Int)
    /// The server sustained this number of attempts in flight.
    case sustained(inFlight: Int)
    case heldByHand(reason: String)
    /// A person ends the hold, the open circuit breaker and the retry-after; only `resumed` ends a pause.
    case released
    /// The configuration or credentials that the hold is blamed on have changed.
    case blameChanged
    case paused
    case resumed
}
