import Policy
package import Spool

/// An operation's state as users read it: the state of its directory; `held` for a waiting operation that is held by
/// itself, with its destination, or behind a failed operation; `claimed` for a failure that a run may take back.
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
        self =
            isWaiting && (entry.name.isHeld || isHeldWithOthers)
            ? .held : entry.isInFlight ? .claimed : Self(entry.state)
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

    /// The directories that can have operations in this state.
    package var queueStates: [QueueState] {
        switch self {
        case .new: [.new]
        case .deferred: [.deferred]
        case .claimed: [.claimed, .failed]
        case .held: [.new, .deferred]
        case .failed: [.failed]
        case .quarantined: [.quarantine]
        case .delivered: [.delivered]
        }
    }
}

extension QueueState {
    /// The state's name as users read it: the directory's name, except `quarantined`.
    package var word: String { ShownState(self).rawValue }
}
