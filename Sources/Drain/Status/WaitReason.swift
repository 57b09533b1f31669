package import Policy

/// The reason why a waiting operation is not sent now.
package enum WaitReason: Hashable {
    /// No reason: the next run may send the operation.
    case nothing
    /// Its own time, by the schedule or its `notBefore`.
    case time(Timestamp)
    /// Until this time, for a newer value of its key (`debounce`).
    case newest(until: Timestamp)
    /// The operation is held by itself.
    case person
    /// An older operation of its sequence goes first.
    case older(OperationID)
    /// A newer operation supersedes it, and the next run removes it.
    case newer(OperationID)
    /// A newer operation's request carries its changes.
    case merged(OperationID)
    /// An older operation of its sequence failed for good, and holds it.
    case failed(OperationID)
    /// No answer has left the value of this name for its key.
    case kept(String)
    /// The same, and no operation of the queue can leave the value any more.
    case unserved(Unserved)
    case destination(Availability.Block)
    /// The machine has no network, or not the network or power that the configuration asks for. In words.
    case conditions(String)
    /// The operation was refused. It waits for a witness to its credentials, at most until this time.
    case witness(until: Timestamp)
    /// The secret of its user is missing, for the reason given.
    case secret(String)
    /// The whole queue is paused.
    case resume
}

extension WaitReason {
    /// Whether only an operator or a new credential ends the wait: the operation is held, whatever holds it.
    package var needsPerson: Bool {
        switch self {
        case .person, .failed: true
        case .destination(let block): block.reason == .held
        case .nothing, .time, .newest, .older, .newer, .merged, .kept, .unserved, .conditions, .witness, .secret,
            .resume:
            false
        }
    }

    /// Returns the time from which a run may send the operation; `nil` if no time is known.
    package func until(_ now: Timestamp) -> Timestamp? {
        switch self {
        // Neither a pause of the queue nor the machine changes when operations are due.
        case .nothing, .conditions, .secret, .resume: now
        case .time(let moment), .newest(until: let moment): moment
        case .destination(let block): block.until
        case .witness(let until): until
        case .person, .older, .newer, .merged, .failed, .kept, .unserved: nil
        }
    }
}
