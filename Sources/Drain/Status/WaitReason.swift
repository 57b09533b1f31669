package import Policy

/// What keeps an operation that waits from being sent.
package enum WaitReason: Hashable {
    /// Nothing: the next run may send it.
    case nothing
    /// Its own time: the schedule's, or what it asked for itself.
    case time(Timestamp)
    /// It is held by itself.
    case person
    /// An older one of its sequence goes first.
    case older(OperationID)
    /// A newer one stands for it: the next run takes it away.
    case newer(OperationID)
    /// A newer one goes with what it changes, in one request.
    case merged(OperationID)
    /// An older one of its sequence failed for good, and holds it.
    case failed(OperationID)
    case destination(Availability.Block)
    /// It was refused; another operation shows whether it or the credentials are to blame. It is asked again by itself then.
    case witness(until: Timestamp)
    /// The whole queue is paused.
    case resume
}

extension WaitReason {
    /// From when on a run may send it; `nil` where no time says so.
    package func until(_ now: Timestamp) -> Timestamp? {
        switch self {
        // A pause of the queue changes nothing of what is due.
        case .nothing, .resume: now
        case .time(let moment): moment
        case .destination(let block): block.until
        case .witness(let until): until
        case .person, .older, .newer, .merged, .failed: nil
        }
    }
}
