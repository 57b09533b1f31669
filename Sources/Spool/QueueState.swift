package import Policy

/// The state of an operation's file in the queue; the raw value is the directory's name.
package enum QueueState: String, Hashable, Sendable, CaseIterable {
    /// Accepted, never attempted.
    case new
    /// Attempted, waiting for its next time.
    case deferred
    /// Being attempted by a run that is alive.
    case claimed
    /// Given up.
    case failed
    /// Not an operation.
    case quarantine
    /// Kept copies, where retention is configured.
    case delivered

    /// The states whose files lie in the directory itself, not in one for each run.
    static let unclaimed = allCases.filter { $0 != .claimed }

    /// The states in which an operation counts against the limits.
    package static let waiting: [QueueState] = [.new, .deferred, .claimed]

    /// Where an operation of that name waits: the name alone says it, so that a crash between two directories
    /// needs no memory of where a file came from.
    static func home(of name: EntryName) -> QueueState {
        if name.attempts > 0 { return .deferred }
        return switch name.gate {
        case .due: .deferred
        case .open, .notBefore: .new
        }
    }

    var path: QueuePath { QueuePath(rawValue) }
}

/// One operation in the queue, as a listing shows it: nothing has been opened.
package struct Entry: Hashable, Sendable {
    package var state: QueueState
    package var name: EntryName
    /// The run that holds it; set exactly where the state is `claimed`.
    package var claimedBy: String?

    package init(state: QueueState, name: EntryName, claimedBy: String? = nil) {
        self.state = state
        self.name = name
        self.claimedBy = claimedBy
    }

    /// Whether attempts may be recorded in its file: else its name says that none was made since it was added or released.
    package var mayHaveAttempts: Bool {
        state != .new || name.attempts > 0 || name.interruptions > 0 || name.isHeld || name.gate != .open
    }

    /// Relative to the queue.
    package var path: String {
        if let claimedBy { return "\(state.rawValue)/\(claimedBy)/\(name)" }
        return "\(state.rawValue)/\(name)"
    }
}
