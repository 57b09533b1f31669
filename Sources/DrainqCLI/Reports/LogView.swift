import Policy

/// A line of the queue's log, for `log --json`: the members of the line as the table of `LogEvent` has them.
struct LogView: JSONObject {
    let event: LogEvent

    static let fields: [JSONField<LogView>] =
        [
            .field("at", .time, "the time; of `attempts` that of the last one", \.event.at.rfc3339),
            .field(
                "event", .word(LogEvent.Kind.allCases.map(\.rawValue)),
                "what happened: "
                    + LogEvent.Kind.allCases.map { "`\($0.rawValue)`, \($0.meaning)" }.joined(separator: "; ")
                    + ". An `add`, a deferral of `send` and a command that changes nothing have no line",
                \.event.kind.rawValue),
        ]
        + LogEvent.fields.map { field in
            switch field.value {
            case .text(let path): .maybe(field.name, .text, field.meaning) { $0.event[keyPath: path] }
            case .number(let path): .maybe(field.name, .count, field.meaning) { $0.event[keyPath: path] }
            case .time(let path): .maybe(field.name, .time, field.meaning) { $0.event[keyPath: path]?.rfc3339 }
            }
        } + [
            .maybe("ids", .list(.text), "the first of the operations or files, at most ten") {
                $0.event.ids.isEmpty ? nil : $0.event.ids
            }
        ]
}

extension LogEvent.Kind {
    /// What the event says, and who else tells it.
    fileprivate var meaning: String {
        switch self {
        case .run: "a run with work ended (hook `ended`, metrics)"
        case .attempts: "the attempts of a minute at a destination"
        case .deferred: "deferrals of a minute at a destination for one cause"
        case .down: "a destination takes nothing (status, page, metrics; hook `down` after `hooks.downAfter`)"
        case .up: "it has taken an operation again, or its incident was forgotten (hook `up`)"
        case .gap: "no run came since `since`"
        case .http1: "requests to a destination leave over HTTP/1.1 for a day"
        case .held: "a destination is held (hook `held`, standard error, status)"
        case .released: "its hold has ended (hook `released` if a run ended it)"
        case .paused: "the queue or a destination was paused (status)"
        case .resumed: "the pause has ended"
        case .failed: "operations failed for good (hook `failed`, standard error, exit status, status, metrics)"
        case .quarantined:
            "files went into quarantine, by a run, `add` or `import` (hook `quarantined` by the next run, status, metrics)"
        case .evicted: "operations were removed to make room (hook `failed`, status, metrics, `wait`)"
        case .superseded: "an operation was removed for a newer one of its key (`state/log/ended` alone, `wait`)"
        case .dropped: "an operator has removed an operation (`state/log/ended` alone, `wait`)"
        case .recovered: "operations of dead runs were put back"
        case .completed: "operations that dead runs had delivered were removed"
        case .command: "an operator's command, also `import`, changed operations"
        }
    }
}
