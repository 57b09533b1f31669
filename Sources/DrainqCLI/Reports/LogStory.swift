import Policy

/// The log as a story: a line for each change, and between changes one for the attempts of each destination.
struct LogStory {
    /// The attempts at a destination since the last change.
    private struct Traffic {
        var destination: String
        var first: Timestamp
        var last: Timestamp
        var delivered = 0
        var deferred = 0
        var held = 0
        /// The numbers of deferrals by cause, in the order in which the causes came.
        var causes: [(cause: Cause, count: Int)] = []
        /// The end of the outage before these attempts, which is told with them.
        var up: LogEvent?

        var at: Timestamp { up?.at ?? last }

        mutating func add(_ cause: Cause, _ count: Int) {
            if let index = causes.firstIndex(where: { $0.cause.group == cause.group }) {
                causes[index].count +|= count
            } else {
                causes.append((cause, count))
            }
        }

        /// The causes in words, the most frequent first. Several causes have their counts, and errors only their names.
        var reasons: String {
            if causes.count == 1 { return causes[0].cause.text }
            let sorted = causes.sorted { $0.count > $1.count }
            let words = sorted.prefix(3).map { cause, count in
                "\(cause.status == nil ? cause.error ?? cause.text : cause.text) (\(InWords.grouped(count)))"
            }
            return words.joined(separator: ", ") + (sorted.count > 3 ? ", …" : "")
        }
    }

    /// Whether runs and changes of the configuration are told.
    let tellsRuns: Bool
    private let write: (String) -> Void
    private var traffic: [Traffic] = []
    private var day: Substring?
    /// The digest of the configuration of the last run.
    private var configuration: String?

    init(tellsRuns: Bool, write: @escaping (String) -> Void) {
        self.tellsRuns = tellsRuns
        self.write = write
    }

    /// Tells an event. Attempts are told with the next change, or by `flush`.
    mutating func tell(_ event: LogEvent) {
        if event.kind == .attempts || event.kind == .deferred { return add(event) }
        if event.kind == .run {
            let before = configuration
            configuration = event.configuration ?? configuration
            guard tellsRuns else { return }
            if let before, before != configuration {
                flush()
                line(event.since ?? event.at, "the configuration has changed")
            }
        }
        if event.kind == .up, event.ended != LogEvent.Ending.forgotten.rawValue { return begin(after: event) }
        flush()
        line(event.at, Self.words(event))
    }

    /// Tells the attempts since the last change. Causes wait for their counts, which a run leaves at its end.
    mutating func flush() {
        let pending = traffic.sorted { ($0.at, $0.destination) < ($1.at, $1.destination) }
        traffic = []
        for row in pending {
            let counts = [(row.delivered, "delivered"), (row.deferred, "deferred"), (row.held, "put back")]
            var words = counts.filter { $0.0 > 0 }.map { InWords.grouped($0.0) + " " + $0.1 }.joined(separator: ", ")
            let duration = max(row.last - row.first, .zero)
            if !words.isEmpty, duration >= .seconds(1) { words += " in \(InWords.rough(duration))" }
            if !words.isEmpty, !row.causes.isEmpty { words += ": \(row.reasons)" }
            if let up = row.up {
                line(up.at, Self.words(up) + (words.isEmpty ? "" : "; \(words)"))
            } else if !words.isEmpty {
                line(row.last, "\(row.destination): \(words)")
            } else if !row.causes.isEmpty {
                traffic.append(row)
            }
        }
    }

    /// Tells the attempts before the end of an outage, and begins those after it. Deliveries so far came after it: the
    /// log counts those of a whole minute.
    private mutating func begin(after up: LogEvent) {
        let index = index(of: up)
        var row = Traffic(destination: traffic[index].destination, first: up.at, last: up.at, up: up)
        swap(&row.delivered, &traffic[index].delivered)
        row.last = max(row.last, traffic[index].last)
        flush()
        traffic = [row]
    }

    /// Returns the index of the attempts at the destination of an event.
    private mutating func index(of event: LogEvent) -> Int {
        let destination = event.destination ?? "-"
        if let index = traffic.firstIndex(where: { $0.destination == destination }) { return index }
        traffic.append(Traffic(destination: destination, first: event.since ?? event.at, last: event.at))
        return traffic.count - 1
    }

    private mutating func add(_ event: LogEvent) {
        let index = index(of: event)
        traffic[index].last = max(traffic[index].last, event.at)
        if event.kind == .deferred { return traffic[index].add(event.causeValue, event.count ?? 0) }
        traffic[index].delivered +|= event.delivered ?? 0
        traffic[index].deferred +|= event.deferred ?? 0
        traffic[index].held +|= event.held ?? 0
    }

    /// Writes a line, behind the date if it is the first of its day. Times are UTC.
    private mutating func line(_ at: Timestamp, _ words: String) {
        let text = at.rfc3339
        let date = text.prefix(10)
        if date != day { write("\(date) (UTC)") }
        day = date
        write("\(text.dropFirst(11).prefix(8))  \(escapedForDisplay(words))")
    }

    // MARK: - Words

    /// Returns what an event says, without its time.
    static func words(_ event: LogEvent) -> String {
        let place = event.destination ?? "the queue"
        let causeText = event.causeValue.text
        let cause = causeText.isEmpty ? "" : ": \(causeText)"
        let age = event.since.map { " after \(InWords.rough(max(event.at - $0, .zero)))" } ?? ""
        let by = event.user.map { " by \($0)" } ?? ""
        let waiting = event.waiting.map { "; \(InWords.grouped($0)) waiting" } ?? ""
        return switch event.kind {
        case .run: "run\(runWords(event))"
        case .attempts, .deferred: place
        case .down: "\(place) down\(cause) (\(counted(event, "attempt"))\(without(age)))\(waiting)"
        case .up:
            event.ended == LogEvent.Ending.forgotten.rawValue
                ? "\(place): the incident ended\(age) without a delivery: released, or nothing names it any more"
                : "\(place) up\(age)"
        case .gap: "no run came\(age.isEmpty ? "" : " for" + age.dropFirst(" after".count))"
        case .http1: "\(place) over HTTP/1.1 for a day, because an HTTP/2 stream ended without its whole answer"
        case .held: "\(place) held\(by)\(cause)\(waiting)"
        case .released: "\(place) released\(by)\(age)"
        case .paused: "\(place) paused\(by)"
        case .resumed: "\(place) resumed\(by)"
        case .failed: "\(place): \(operations(event)) failed\(cause)\(examples(event))"
        case .quarantined: "\(counted(event, "file")) into quarantine\(cause)\(examples(event))"
        case .evicted: "\(operations(event)) dropped to make room (limits.whenFull)\(examples(event))"
        case .superseded: "\(event.ids.first ?? "an operation") superseded by \(event.cause ?? "a newer one")"
        case .dropped: "\(event.ids.first ?? "an operation") dropped"
        case .recovered: "\(operations(event)) of a dead run put back\(examples(event))"
        case .completed: "\(operations(event)) removed: a dead run had delivered them\(examples(event))"
        case .command: "\(event.command ?? "command")\(by): \(operations(event))\(examples(event))"
        }
    }

    /// Returns the time since when, for a trouble: ` in 15m`.
    private static func without(_ age: String) -> String {
        age.isEmpty ? "" : " in" + age.dropFirst(" after".count)
    }

    private static func operations(_ event: LogEvent) -> String { counted(event, "operation") }

    private static func counted(_ event: LogEvent, _ noun: String) -> String {
        HealthWords.count(event.count ?? 0, noun)
    }

    private static func examples(_ event: LogEvent) -> String {
        guard let first = event.ids.first else { return "" }
        let others = (event.count ?? event.ids.count) - 1
        return others > 0 ? " (\(first) and \(others) more)" : " (\(first))"
    }

    private static func runWords(_ event: LogEvent) -> String {
        let counts = [
            (event.delivered, "delivered"), (event.deferred, "deferred"), (event.failed, "failed"),
            (event.held, "held"),
        ]
        let words = counts.compactMap { count, word in count.flatMap { $0 > 0 ? "\(InWords.grouped($0)) \(word)" : nil }
        }
        let time = event.durationMs.map { " in \(InWords.short(.milliseconds($0)))" } ?? ""
        return
            "\(time): \(words.isEmpty ? "no deliveries" : words.joined(separator: ", ")); exit status \(event.exitStatus ?? 0)"
    }
}
