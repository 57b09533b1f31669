package import Policy

/// The state of an operation's file in the queue; the raw value is the directory's name.
package enum QueueState: String, Hashable, Sendable, CaseIterable {
    /// Accepted, never attempted.
    case new
    /// Attempted; waits for its next attempt.
    case deferred
    /// Claimed by a run; in flight, or about to be.
    case claimed
    /// Dead letters.
    case failed
    /// Files that are no operations.
    case quarantine
    /// Copies of delivered operations, if retention is configured.
    case delivered

    /// The states whose files are in the directory itself, not in a directory for each run.
    static let unclaimed = allCases.filter { $0 != .claimed }

    /// The states whose operations count against the limits.
    package static let waiting: [QueueState] = [.new, .deferred, .claimed]

    /// The same states, ordered so that a listing meets each operation that a run claims or puts back meanwhile: claims
    /// first and last. The listing may meet such an operation twice.
    package static let standing: [QueueState] = [.claimed, .new, .deferred, .claimed]

    /// Returns the state in which an operation of this name waits. The name alone decides: after a crash between two
    /// directories nothing else has to remember where a file came from.
    static func home(of name: EntryName) -> QueueState {
        if name.attempts > 0 { return .deferred }
        return switch name.gate {
        case .retryAt: .deferred
        case .open, .notBefore: .new
        }
    }

    var path: QueuePath { Self.paths.first { $0.state == self }!.path }

    private static let paths = allCases.map { (state: $0, path: QueuePath($0.rawValue)) }
}

/// An operation in the queue, as a listing shows it; its file has not been opened.
package struct Entry: Hashable, Sendable {
    package var state: QueueState
    package var name: EntryName
    /// The run that has the operation in flight: the run has claimed it, or may take back its failure (`withRuns`).
    package var claimedBy: String?

    package init(state: QueueState, name: EntryName, claimedBy: String? = nil) {
        self.state = state
        self.name = name
        self.claimedBy = claimedBy
    }

    /// Whether its file may have records of attempts. If false, its name shows no attempts since the addition or
    /// release.
    package var mayHaveAttempts: Bool {
        state != .new || name.attempts > 0 || name.interruptions > 0 || name.unknowns > 0 || name.isHeld
            || name.gate != .open
    }

    package var isInFlight: Bool { state == .claimed || claimedBy != nil }

    /// Whether the operation is a dead letter, and no run may take back its failure.
    package var hasFailed: Bool { state == .failed && !isInFlight }

    /// The path relative to the queue.
    package var path: String {
        if state == .claimed, let claimedBy { return "\(state.rawValue)/\(claimedBy)/\(name)" }
        return "\(state.rawValue)/\(name)"
    }
}
