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
        if event.kind == .attempts { return add(event) }
        if event.kind == .run {
            let before = configuration
            configuration = event.configuration ?? configuration
            guard tellsRuns else { return }
            if let before, before != configuration {
                flush()
                line(event.since ?? event.at, "the configuration has changed")
            }
        }
        flush()
        line(event.at, Self.words(event))
    }

    /// Tells the attempts since the last change.
    mutating func flush() {
        let pending = traffic.sorted { ($0.last, $0.destination) < ($1.last, $1.destination) }
        traffic = []
        for row in pending where row.delivered + row.deferred + row.held > 0 {
            let duration = max(row.last - row.first, .zero)
            let rate = duration >= .seconds(1) ? Double(row.delivered) / duration.inSeconds : 0
            var words = [
                row.delivered > 0 ? "\(row.delivered) delivered" : nil,
                row.deferred > 0 ? "\(row.deferred) deferred" : nil,
                row.held > 0 ? "\(row.held) put back" : nil,
            ].compactMap { $0 }.joined(separator: ", ")
            if duration >= .seconds(1) { words += " in \(InWords.rough(duration))" }
            if rate >= 1 { words += " (\(Int(rate.rounded()))/s)" }
            line(row.last, "\(row.destination): \(words)")
        }
    }

    private mutating func add(_ event: LogEvent) {
        let destination = event.destination ?? "-"
        let index = traffic.firstIndex { $0.destination == destination } ?? traffic.count
        if index == traffic.count {
            traffic.append(Traffic(destination: destination, first: event.since ?? event.at, last: event.at))
        }
        traffic[index].last = max(traffic[index].last, event.at)
        traffic[index].delivered += event.delivered ?? 0
        traffic[index].deferred += event.deferred ?? 0
        traffic[index].held += event.held ?? 0
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
        let cause = event.cause.map { ": \($0)" } ?? ""
        let age = event.since.map { " after \(InWords.rough(max(event.at - $0, .zero)))" } ?? ""
        let by = event.user.map { " by \($0)" } ?? ""
        return switch event.kind {
        case .run: "run\(runWords(event))"
        case .attempts: place
        case .down: "\(place) down\(cause) (\(event.count ?? 0) in a row)"
        case .up: "\(place) up\(age)"
        case .held: "\(place) held\(by)\(cause)"
        case .released: "\(place) released\(by)\(age)"
        case .paused: "\(place) paused\(by)"
        case .resumed: "\(place) resumed\(by)"
        case .failed: "\(place): \(operations(event)) failed\(answer(event))\(examples(event))"
        case .quarantined: "\(InWords.count(event.count ?? 0, "file")) into quarantine\(cause)\(examples(event))"
        case .evicted: "\(operations(event)) dropped to make room (limits.whenFull)\(examples(event))"
        case .recovered: "\(operations(event)) of a dead run put back\(examples(event))"
        case .command: "\(event.command ?? "command")\(by): \(operations(event))\(examples(event))"
        }
    }

    private static func operations(_ event: LogEvent) -> String { InWords.count(event.count ?? 0, "operation") }

    private static func answer(_ event: LogEvent) -> String {
        let words = [event.status.map { "\($0)" }, event.cause].compactMap { $0 }
        return words.isEmpty ? "" : ": " + words.joined(separator: ", ")
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
        let words = counts.compactMap { count, word in count.flatMap { $0 > 0 ? "\($0) \(word)" : nil } }
        let time = event.durationMs.map { " in \(InWords.short(.milliseconds($0)))" } ?? ""
        return
            "\(time): \(words.isEmpty ? "no deliveries" : words.joined(separator: ", ")); exit status \(event.exitStatus ?? 0)"
    }
}
