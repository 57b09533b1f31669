/// A line of the queue's log (`state/log/`): a change that somebody asks about later.
///
/// No decision reads the log. Losing lines costs knowledge, never an operation.
package struct LogEvent: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A run with work has ended.
        case run
        /// The attempts at a destination that ended within one minute, from `since` to `at`.
        case attempts
        /// Operations were deferred at a destination within one minute, for one cause.
        case deferred
        /// A destination takes nothing: it does not answer, or nothing has been delivered to it for a while.
        case down
        /// A destination that was down has taken an operation again, or nothing names it any more.
        case up
        /// No run came from `since` to `at`, although runs came often before.
        case gap
        /// Requests to a destination leave over HTTP/1.1 for a day.
        case http1
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
        /// An operation was removed for a newer one of its key. Only `state/log/ended` has this event, and the next.
        case superseded
        /// An operator has removed an operation.
        case dropped
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
    /// The cause in words: the server's if there is a status, else an error's detail, a rule, an operator's reason.
    package var cause: String?
    /// The status of the answer that is the cause.
    package var status: Int?
    /// The name of the error that is the cause.
    package var error: String?
    /// The rule that decided, with the beginning of the answer.
    package var rule: String?
    /// The kind of that rule, unless it is about answers.
    package var ruleCode: String?
    /// What ended an incident: see `Ending`.
    package var ended: String?
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

    /// What ends an incident: a delivery, or the end of what is known, as by a release or because nothing names it.
    package enum Ending: String {
        case delivery
        case forgotten
    }

    package init(_ kind: Kind, at: Timestamp, destination: String? = nil) {
        self.kind = kind
        self.at = at
        self.destination = destination
    }

    /// Takes the parts of a cause.
    package mutating func take(_ cause: Cause) {
        (self.cause, status, error, ruleCode) = (cause.words, cause.status, cause.error, cause.code?.rawValue)
    }

    /// Its cause, as a value.
    package var causeValue: Cause {
        Cause(status: status, error: error, words: cause, code: ruleCode.flatMap(Rule.Code.init))
    }

    /// Returns the event of operations removed to make room; empty if there are none.
    package static func evictions(_ names: [EntryName], at now: Timestamp) -> [LogEvent] {
        var recorder = LogRecorder()
        for name in names { recorder.count(.evicted, "\(name.id)", at: now, type: "\(name.type)") }
        return recorder.take()
    }

    /// Returns the event of an operation that leaves the queue without a delivery, for `state/log/ended`. `cause` is
    /// the newer operation that supersedes it, or another cause in words.
    package static func ending(_ kind: Kind, of name: EntryName, cause: String? = nil, at now: Timestamp) -> LogEvent {
        var event = LogEvent(kind, at: now)
        (event.since, event.cause, event.ids) = (name.createdAt, cause, [name.id.description])
        return event
    }

    /// The number of ids in an event at most.
    package static let mostIDs = 10
    /// The length of a line at most, with its line break. A write of this length to a file of a local disk is whole.
    package static let longestLine = 4096
    /// The length of a text at most, in bytes: a server's words can be long.
    static let longestText = 300
}
