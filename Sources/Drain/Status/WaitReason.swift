package import Policy

/// The reason why a waiting operation is not sent now.
package enum WaitReason: Hashable {
    /// No reason: the next run may send it.
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
    /// No answer has left the value of this name for its key.
    case kept(String)
    case destination(Availability.Block)
    /// It was refused. It waits until another operation shows whether the credentials are to blame, or until then.
    case witness(until: Timestamp)
    /// The whole queue is paused.
    case resume
}

extension WaitReason {
    /// Whether it waits for a person or a credential: it, its destination, or the one that holds it.
    package var needsPerson: Bool {
        switch self {
        case .person, .failed: true
        case .destination(let block): block.reason == .held
        case .nothing, .time, .older, .newer, .merged, .kept, .witness, .resume: false
        }
    }

    /// From when on a run may send it; `nil` where no time says so.
    package func until(_ now: Timestamp) -> Timestamp? {
        switch self {
        // A pause of the queue changes nothing of what is due.
        case .nothing, .resume: now
        case .time(let moment): moment
        case .destination(let block): block.until
        case .witness(let until): until
        case .person, .older, .newer, .merged, .failed, .kept: nil
        }
    }
}
