/// An event that changes a destination's state.
package enum DestinationEvent: Hashable, Sendable {
    /// An answer came, and it is none of those below: the server is there.
    case answered
    case delivered
    /// A connection-level failure, by its name, or a 502, 503 or 504: the server behind a gateway is away.
    case unreachable(String)
    /// The server asked for time until then; besides `unreachable` where that is so too.
    case retryAfter(until: Timestamp)
    /// `status` is what all met, where it was a status.
    case held(reason: String, status: Int? = nil, blamed: String?)
    /// A probe of the hold begins: whatever comes of it, the next one is not before its time.
    case probed
    /// A probe has met another end than the one that it is held for, though it was not delivered: the hold is over.
    case disproved
    /// One operation was refused at that time, and waits for another one to show who is to blame.
    case parked(Parking.Refusal, at: Timestamp)
    /// An operation was delivered with these credentials while others were parked; its attempt began at that time.
    case witnessed(credentials: String, began: Timestamp)
    /// A parked operation has met another end.
    case unparked(OperationID)
    /// An operation failed for good with this status.
    case failed(status: Int)
    /// The server has refused attempts, and said so, when so many of all runs were in flight.
    case overloaded(inFlight: Int)
    /// It has borne so many.
    case bore(inFlight: Int)
    case heldByHand(reason: String)
    /// By a person: ends hold, cool-down and the server's wait; a pause is ended by `resumed` alone.
    case released
    /// The cause of the hold has changed.
    case blameChanged
    case paused
    case resumed
}
