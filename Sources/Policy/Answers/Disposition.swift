/// The move of a claimed operation's file. `Policy` decides it, `Spool` applies it.
package enum Disposition: Hashable, Sendable {
    /// Delivered: the file goes, or into `delivered/` where retention keeps copies.
    case delivered(keep: Bool)
    /// Back to wait until then. `countsAttempt` is false where the server only asked for time.
    case deferred(until: Timestamp, countsAttempt: Bool)
    /// Back to where it was taken from, under the name it had: nothing was tried, or the operation is blameless.
    case putBack
    /// Back to where it was taken from, held by itself until a person releases it: sending it again could do harm.
    case held
    /// A newer operation of its key stands for it: the file goes, unsent or not delivered.
    case superseded
    /// Given up: to `failed/`, with its attempts.
    case failed(countsAttempt: Bool)
    /// No operation after all, or one that interrupts every run.
    case quarantined(reason: String)
}
