/// The lines that a run adds to the log: attempts by destination and minute, failures and quarantine by cause and
/// minute.
///
/// Collects in memory until the run takes the lines. Beyond `mostLines` counts without destinations and causes.
package struct LogRecorder: Sendable {
    private struct Key: Hashable {
        var kind: LogEvent.Kind
        var minute: Int64
        var destination: String?
        var group: String?
    }

    /// The lines that are counted up, in their order, and the place of each.
    private var order: [Key] = []
    private var collected: [LogEvent] = []
    private var places: [Key: Int] = [:]
    /// The place of the line that was counted up last, which is most often the next line too.
    private var last = 0
    /// The events that are a line by themselves, in their order.
    private var changes: [LogEvent] = []

    package init() {}

    package var isEmpty: Bool { order.isEmpty && changes.isEmpty }

    /// Adds a change that is one line by itself.
    package mutating func add(_ event: LogEvent) { changes.append(event) }

    /// Counts the end of an attempt, or of an operation that was not sent, at its destination.
    package mutating func attempt(_ outcome: Outcome, at destination: String, _ now: Timestamp) {
        change(.attempts, at: now, destination: destination, group: nil) { event in
            (event.since, event.at) = (min(event.since ?? now, now), max(event.at, now))
            switch outcome {
            case .delivered: event.delivered = (event.delivered ?? 0) + 1
            case .deferred: event.deferred = (event.deferred ?? 0) + 1
            case .held: event.held = (event.held ?? 0) + 1
            case .failed: event.failed = (event.failed ?? 0) + 1
            }
        }
    }

    /// Counts an operation or a file that an event of this kind names.
    ///
    /// Operations or files of one `group` share a line, with the cause of the first: answers can differ with each
    /// operation. `group` is the cause, without what differs between operations, unless given.
    package mutating func count(
        _ kind: LogEvent.Kind, _ id: String? = nil, at now: Timestamp, destination: String? = nil,
        type: String? = nil, cause: Cause? = nil, group: String? = nil
    ) {
        change(kind, at: now, destination: destination, group: group ?? cause?.group) { event in
            if event.count == nil {
                event.type = type
                if let cause { event.take(cause) }
            }
            if event.type != type { event.type = nil }
            event.count = (event.count ?? 0) + 1
            if let id, event.ids.count < LogEvent.mostIDs { event.ids.append(id) }
        }
    }

    /// Returns the group of a reason in words: what stands before the first name, number or detail.
    package static func group(of reason: String) -> String { String(reason.upTo(":'0123456789")) }

    private mutating func change(
        _ kind: LogEvent.Kind, at now: Timestamp, destination: String?, group: String?, _ body: (inout LogEvent) -> Void
    ) {
        let key = Key(kind: kind, minute: Self.minute(now), destination: destination, group: group)
        if !order.indices.contains(last) || order[last] != key { last = place(of: key, at: now) }
        body(&collected[last])
    }

    /// Returns the place of a line. Begins a new line if there is none.
    private mutating func place(of key: Key, at now: Timestamp) -> Int {
        if let place = places[key] { return place }
        var key = key
        if order.count >= Self.mostLines { (key.destination, key.group) = (nil, nil) }
        if let place = places[key] { return place }
        places[key] = order.count
        order.append(key)
        collected.append(LogEvent(key.kind, at: now, destination: key.destination))
        return order.count - 1
    }

    private static func minute(_ time: Timestamp) -> Int64 { time.microseconds / 60_000_000 }

    /// Returns the lines so far, oldest first, and forgets them.
    package mutating func take() -> [LogEvent] { take { _ in true } }

    /// Returns the lines that nothing is added to any more, oldest first, and forgets them: changes, and the counts of
    /// minutes that have ended.
    package mutating func takeEnded(at now: Timestamp) -> [LogEvent] {
        let minute = Self.minute(now)
        if changes.isEmpty, order.allSatisfy({ $0.minute == minute }) { return [] }
        return take { $0.minute != minute }
    }

    private mutating func take(_ isTaken: (Key) -> Bool) -> [LogEvent] {
        let lines = zip(order, collected)
        let events = lines.filter { isTaken($0.0) }.map(\.1) + changes
        let rest = lines.filter { !isTaken($0.0) }
        (order, collected, changes) = (rest.map(\.0), rest.map(\.1), [])
        places = Dictionary(uniqueKeysWithValues: zip(order, order.indices))
        return events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    /// The number of lines in a recorder at most.
    package static let mostLines = 1000
}
