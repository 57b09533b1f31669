/// What the run does after the end of an attempt, as the control of its destination decides.
package enum DestinationEffect {
    /// Settle the operations by this verdict.
    case settle(AttemptEnd, as: Verdict)
    /// Settle the operations by this verdict, and hold the destination with their record.
    case hold(AttemptEnd, as: Verdict)
    /// Settle refused operations as parked, and apply `.parked` for each: they wait for a witness, which shows whether
    /// the operation or its credentials are refused.
    case park(AttemptEnd, [Parking.Refusal])
    /// Put back an operation of which no request could be made, uncharged: requests of other operations could.
    case withhold(AttemptEnd)
    /// Send each of these operations again, alone and with the secrets of that moment, under the next attempt number:
    /// another operation was delivered with the same credentials, or each brings credentials of its own.
    case sendEachAlone(AttemptEnd)
    /// Send the operations of a merged document one after the other.
    case sendApart(AttemptEnd)
    /// Take one operation out of a refused batch and send it alone, as a witness. Then give the rest to `judge`.
    case askOne(AttemptEnd)
    /// Let the operations behind it in its sequence go on, although its answer is withheld.
    case release(AttemptEnd)
    /// Attempt up to this number of other operations, and nothing else meanwhile.
    case sample(upTo: Int)
    /// Attempt one other operation with the credentials of this attempt, or any if `nil`, and nothing else meanwhile.
    case sampleOne(like: AttemptEnd?)
}
