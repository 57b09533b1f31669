import Drain
import Policy

/// The incidents of the last days, from the changes of the log: what began, when it ended, and what it cost.
struct Incidents {
    struct Row {
        /// The class of the row: `bad`, `held` or `warn`.
        var kind: String
        var what: String
        var from: Timestamp
        /// The end; `nil` while it goes on.
        var to: Timestamp?
        var cause: String
        var effect: String
        fileprivate var destination: String?
        /// The number of destinations that began and ended for the cause within a minute of each other.
        fileprivate var count = 1
    }

    private(set) var rows: [Row] = []

    /// Makes the incidents, the latest first. What goes on now comes from `health`, which knows it also without a log.
    init(_ changes: [LogEvent], _ health: QueueHealth, at now: Timestamp) {
        var waiting: [String: Int] = [:]
        for event in changes {
            let place = event.destination ?? "the queue"
            let key = "\(event.kind == .up || event.kind == .down) \(place)"
            switch event.kind {
            case .down, .held: waiting[key] = event.waiting
            case .up, .released:
                let waited = waiting.removeValue(forKey: key).map { "\(InWords.grouped($0)) waited" } ?? ""
                let end =
                    event.ended == LogEvent.Ending.forgotten.rawValue
                    ? "ended without a delivery" : event.kind == .up ? "delivered again" : "released"
                let state = event.kind == .up ? "down" : "held"
                let row = Row(
                    kind: event.kind == .up ? "bad" : "held", what: "\(place) was \(state)",
                    from: event.since ?? event.at, to: event.at, cause: event.causeValue.text,
                    effect: [waited, end].filter { !$0.isEmpty }.joined(separator: "; "))
                guard let index = rows.lastIndex(where: { $0.isOne(with: row) }) else { rows.append(row); break }
                rows[index].count += 1
                rows[index].what = "\(rows[index].count) destinations were \(state)"
                rows[index].effect = end
            case .gap:
                add("bad", "no run came", from: event.since ?? event.at, to: event.at, cause: "not known to drainq")
            case .failed: addFailed(event, place)
            case .quarantined:
                let what = "\(HealthWords.count(event.count ?? 0, "file")) into quarantine"
                add("warn", what, from: event.at, to: event.at, cause: event.cause ?? "")
            default: break
            }
        }
        let causes = Dictionary(grouping: health.troubles) {
            "\($0.state) \($0.answersWithoutTaking) \($0.cause?.group ?? $0.name)"
        }
        for troubles in causes.values {
            let (one, count) = (troubles[0], troubles.count)
            let names = count == 1 ? one.name : "\(count) destinations"
            let state = "\(count == 1 ? "is" : "are") \(one.state == .held ? "held" : "down")"
            let waiting = troubles.reduce(0) { $0 + $1.waiting }
            add(
                one.state == .held ? "held" : "bad",
                "\(names) \(one.answersWithoutTaking ? "deliver\(count == 1 ? "s" : "") nothing" : state)",
                from: troubles.compactMap(\.since).min() ?? now, cause: one.cause?.text ?? "",
                effect: "\(InWords.grouped(waiting)) \(waiting == 1 ? "waits" : "wait")")
        }
        if let pause = health.pause {
            let effect = "\(InWords.grouped(health.waiting)) wait"
            let cause = "\(pause.user ?? "somebody") paused it"
            add("held", "the queue is paused", from: pause.since, cause: cause, effect: effect)
        }
        if case .notRunning(let since)? = health.findings.first(where: {
            if case .notRunning = $0 { true } else { false }
        }) {
            let effect = "\(InWords.grouped(health.waiting)) wait"
            add("bad", "no run came", from: since, cause: "not known to drainq", effect: effect)
        }
        rows.sort { ($0.to ?? now, $0.from) > ($1.to ?? now, $1.from) }
    }

    private mutating func add(
        _ kind: String, _ what: String, from: Timestamp, to: Timestamp? = nil, cause: String, effect: String = ""
    ) {
        rows.append(Row(kind: kind, what: what, from: from, to: to, cause: cause, effect: effect))
    }

    /// Adds failures for one cause, which are one incident while less than an hour passes between two.
    private mutating func addFailed(_ event: LogEvent, _ place: String) {
        let cause = event.causeValue.text
        let index = rows.lastIndex { $0.kind == "warn" && $0.destination == place && $0.cause == cause }
        if let index, let end = rows[index].to, event.at - end < .seconds(3600) {
            let count = (Int(rows[index].effect.prefix { $0.isNumber }) ?? 0) + (event.count ?? 0)
            rows[index].to = event.at
            rows[index].what = "\(HealthWords.count(count, "operation")) failed at \(place)"
            rows[index].effect = "\(count) failed for good"
            return
        }
        let count = event.count ?? 0
        var row = Row(
            kind: "warn", what: "\(HealthWords.count(count, "operation")) failed at \(place)", from: event.at,
            to: event.at, cause: cause, effect: "\(count) failed for good")
        row.destination = place
        rows.append(row)
    }
}

extension Incidents.Row {
    /// Whether both are the same incident at two destinations: one cause, within a minute of each other.
    fileprivate func isOne(with other: Self) -> Bool {
        guard kind == other.kind, cause == other.cause, !cause.isEmpty, let to, let end = other.to else { return false }
        let (begins, ends) = (from - other.from, to - end)
        return abs(begins.inSeconds) < 60 && abs(ends.inSeconds) < 60
    }
}
