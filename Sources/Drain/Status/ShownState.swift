import Policy
package import Spool

/// An operation's state as users read it: where its file is, but `held` for one that would be sent if it, its destination,
/// or the failed operation that it stands behind did not hold it.
package enum ShownState: String, Hashable, CaseIterable, Sendable {
    case new
    case deferred
    case claimed
    case held
    case failed
    case quarantined
    case delivered

    package init(of entry: Entry, isHeldWithOthers: Bool) {
        let isWaiting = entry.state == .new || entry.state == .deferred
        self = isWaiting && (entry.name.isHeld || isHeldWithOthers) ? .held : Self(entry.state)
    }

    package init(_ state: QueueState) {
        self =
            switch state {
            case .new: .new
            case .deferred: .deferred
            case .claimed: .claimed
            case .failed: .failed
            case .quarantine: .quarantined
            case .delivered: .delivered
            }
    }

    /// The directories in which such operations can be.
    package var queueStates: [QueueState] {
        switch self {
        case .new: [.new]
        case .deferred: [.deferred]
        case .claimed: [.claimed]
        case .held: [.new, .deferred]
        case .failed: [.failed]
        case .quarantined: [.quarantine]
        case .delivered: [.delivered]
        }
    }
}

extension QueueState {
    /// The state's name as users read it: the directory's, but `quarantined`.
    package var word: String { ShownState(self).rawValue }
}
