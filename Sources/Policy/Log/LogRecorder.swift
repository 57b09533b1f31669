/// The lines that a run adds to the log: attempts by destination and minute, failures and quarantine by cause.
///
/// Collects in memory until the run takes the lines. The memory is bounded by the destinations and causes of a minute.
package struct LogRecorder: Sendable {
    private struct Key: Hashable {
        var kind: LogEvent.Kind
        var minute: Timestamp?
        var destination: String?
        var cause: String?
    }

    private var collected: [Key: LogEvent] = [:]
    private var order: [Key] = []
    /// The events of destinations, in their order.
    private var changes: [LogEvent] = []

    package init() {}

    package var isEmpty: Bool { order.isEmpty && changes.isEmpty }

    /// Adds a change that is one line by itself.
    package mutating func add(_ event: LogEvent) { changes.append(event) }

    /// Counts the end of an attempt, or of an operation that was not sent, at its destination.
    package mutating func attempt(_ outcome: Outcome, at destination: String, _ now: Timestamp) {
        let minute = Timestamp(microseconds: now.microseconds - now.microseconds % 60_000_000)
        let key = Key(kind: .attempts, minute: minute, destination: destination)
        change(key, at: now) { event in
            (event.since, event.at) = (event.since ?? now, max(event.at, now))
            switch outcome {
            case .delivered: event.delivered = (event.delivered ?? 0) + 1
            case .deferred, .held: event.deferred = (event.deferred ?? 0) + 1
            case .failed: event.failed = (event.failed ?? 0) + 1
            }
        }
    }

    /// Counts an operation or a file that an event of this kind names, for a cause.
    package mutating func count(
        _ kind: LogEvent.Kind, _ id: String, at now: Timestamp, destination: String? = nil, type: String? = nil,
        cause: String? = nil, status: Int? = nil
    ) {
        let key = Key(kind: kind, destination: destination, cause: cause)
        change(key, at: now) { event in
            event.type = event.count == nil || event.type == type ? type : nil
            (event.cause, event.status) = (cause, status)
            event.count = (event.count ?? 0) + 1
            if event.ids.count < LogEvent.mostIDs { event.ids.append(id) }
        }
    }

    private mutating func change(_ key: Key, at now: Timestamp, _ body: (inout LogEvent) -> Void) {
        if collected[key] == nil {
            collected[key] = LogEvent(key.kind, at: now, destination: key.destination)
            order.append(key)
        }
        body(&collected[key]!)
    }

    /// Returns the lines so far, oldest first, and forgets them.
    package mutating func take() -> [LogEvent] {
        let events = order.map { collected[$0]! } + changes
        (collected, order, changes) = ([:], [], [])
        return events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }
}
