import Policy

/// A line of the queue's log, for `log --json`: the members of the line as the table of `LogEvent` has them.
struct LogView: JSONObject {
    let event: LogEvent

    static let fields: [JSONField<LogView>] =
        [
            .field("at", .time, "the time; of `attempts` that of the last one", \.event.at.rfc3339),
            .field("event", .word(LogEvent.Kind.allCases.map(\.rawValue)), "what happened", \.event.kind.rawValue),
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
