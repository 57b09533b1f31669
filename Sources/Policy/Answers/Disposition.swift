/// The move of a claimed operation's file, decided by `Policy` and applied by `Spool`.
package enum Disposition: Hashable, Sendable {
    /// Delivered: the file is removed, or moved to `delivered/` if retention keeps copies.
    case delivered(keep: Bool)
    /// Deferred until then. `countsAttempt` is false if, for example, the server only asked for time.
    case deferred(until: Timestamp, countsAttempt: Bool)
    /// Put back to where it was claimed from, under its old name: not attempted, or not to blame.
    case putBack
    /// Put back to where it was claimed from, and held until a person releases it: another attempt could do harm.
    case held
    /// Superseded by a newer operation of its key: the file is removed, unsent or not delivered.
    case superseded
    /// A dead letter: moved to `failed/`, with its attempts.
    case failed(countsAttempt: Bool)
    /// Quarantined: the file is not an operation, or interrupts every run.
    case quarantined(reason: String)

    /// Whether the attempt counts: a request was sent, and the server did not only ask for time.
    package var countsAttempt: Bool {
        switch self {
        case .delivered: true
        case .deferred(_, let countsAttempt), .failed(let countsAttempt): countsAttempt
        case .putBack, .held, .superseded, .quarantined: false
        }
    }
}
