/// A line of the queue's log (`state/log/`): a change that somebody asks about later.
///
/// No decision reads the log. Losing lines costs knowledge, never an operation.
package struct LogEvent: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A run with work has ended.
        case run
        /// The attempts at a destination that ended within one minute, from `since` to `at`.
        case attempts
        /// A destination has failed so often in a row that its circuit breaker opened.
        case down
        /// A destination that was down has answered again.
        case up
        case held
        case released
        case paused
        case resumed
        /// Operations have failed for good, for one cause.
        case failed
        /// Files went into quarantine, for one reason.
        case quarantined
        /// Operations were removed to make room (`dropOldest`).
        case evicted
        /// Operations of dead runs were put back.
        case recovered
        /// Operations that dead runs had delivered were removed.
        case completed
        /// An operator's command has changed operations.
        case command
    }

    package var at: Timestamp
    package var kind: Kind
    /// The name of the destination. `nil` for an event of the whole queue.
    package var destination: String?
    /// The type of the operations, if all have one.
    package var type: String?
    /// The command's name: `retry`.
    package var command: String?
    /// The name of the user that gave the command.
    package var user: String?
    /// The cause in words: a rule, an error, what the server said.
    package var cause: String?
    /// The status of the answer that is the cause.
    package var status: Int?
    /// The beginning of what ends now, or has been going on before it was noticed.
    package var since: Timestamp?
    /// The number of operations or files, or of failures in a row.
    package var count: Int?
    /// The number of operations that wait for the destination.
    package var waiting: Int?
    package var delivered: Int?
    package var deferred: Int?
    package var failed: Int?
    package var held: Int?
    package var durationMs: Int?
    package var exitStatus: Int?
    /// A digest of the configuration that a run had.
    package var configuration: String?
    /// The ids of the first operations, at most `mostIDs`.
    package var ids: [String] = []

    package init(_ kind: Kind, at: Timestamp, destination: String? = nil) {
        self.kind = kind
        self.at = at
        self.destination = destination
    }

    /// Returns the event of operations removed to make room; empty if there are none.
    package static func evictions(_ names: [EntryName], at now: Timestamp) -> [LogEvent] {
        var recorder = LogRecorder()
        for name in names { recorder.count(.evicted, "\(name.id)", at: now, type: "\(name.type)") }
        return recorder.take()
    }

    /// The number of ids in an event at most.
    package static let mostIDs = 10
    /// The length of a line at most, with its line break. A write of this length to a file of a local disk is whole.
    package static let longestLine = 4096
    /// The length of a text at most, in bytes: a server's words can be long.
    static let longestText = 300
}
