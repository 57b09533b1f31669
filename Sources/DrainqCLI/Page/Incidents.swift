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
                add(
                    Row(
                        kind: event.kind == .up ? "bad" : "held",
                        what: "\(place) was \(event.kind == .up ? "down" : "held")", from: event.since ?? event.at,
                        to: event.at, cause: event.causeValue.text,
                        effect: [waited, end].filter { !$0.isEmpty }.joined(separator: "; ")))
            case .gap:
                add(
                    Row(
                        kind: "bad", what: "no run came", from: event.since ?? event.at, to: event.at,
                        cause: "not known to drainq", effect: ""))
            case .failed: addFailed(event, place)
            case .quarantined:
                add(
                    Row(
                        kind: "warn", what: "\(HealthWords.count(event.count ?? 0, "file")) into quarantine",
                        from: event.at,
                        to: event.at, cause: event.cause ?? "", effect: ""))
            default: break
            }
        }
        for one in health.troubles {
            add(
                Row(
                    kind: one.state == .held ? "held" : "bad",
                    what: one.answersWithoutTaking
                        ? "\(one.name) delivers nothing" : HealthWords.state(one), from: one.since ?? now, to: nil,
                    cause: one.cause?.text ?? "", effect: "\(InWords.grouped(one.waiting)) wait"))
        }
        if let pause = health.pause {
            add(
                Row(
                    kind: "held", what: "the queue is paused", from: pause.since, to: nil,
                    cause: "\(pause.user ?? "somebody") paused it", effect: "\(InWords.grouped(health.waiting)) wait"))
        }
        if case .notRunning(let since)? = health.findings.first(where: {
            if case .notRunning = $0 { true } else { false }
        }) {
            add(
                Row(
                    kind: "bad", what: "no run came", from: since, to: nil, cause: "not known to drainq",
                    effect: "\(InWords.grouped(health.waiting)) wait"))
        }
        rows.sort { ($0.to ?? now, $0.from) > ($1.to ?? now, $1.from) }
    }

    private mutating func add(_ row: Row) { rows.append(row) }

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
            to: event.at,
            cause: cause, effect: "\(count) failed for good")
        row.destination = place
        add(row)
    }
}
