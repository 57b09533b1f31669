import Policy
import Spool

/// `drainq list`: operations with their state, one a line, oldest first.
func list(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(command, environment)
        let now = Timestamp.now()
        let known = try queue.knownDestinations()
        let filter = try Filter(
            command, states: [.new, .deferred, .claimed, .held, .failed, .quarantined], of: known, now: now)
        let limit = command.count(.limit) ?? .max
        let entries = try queue.entries(filter, known).prefix(limit)
        var views: [EntryView] = []
        for entry in entries {
            var view = queue.view(entry, known)
            // The body is read for what its name cannot say: the key, and the last answer.
            if case .operation(let stored) = try queue.spool.read(entry) { view.add(stored.operation) }
            if command.flag(.json) { JSONLine.write(view) } else { views.append(view) }
        }
        var quarantined: [QuarantineView] = []
        if filter.states.contains(.quarantined) {
            let items = try queue.spool.quarantined().filter(filter.includes)
            quarantined = items.map(QuarantineView.init).suffix(max(0, limit - entries.count))
        }
        if command.flag(.json) {
            quarantined.forEach { JSONLine.write($0) }
            return .ok
        }
        if !views.isEmpty || !quarantined.isEmpty {
            let rows = views.map { row($0, now) } + quarantined.map(row)
            Table(columns: ["ID", "TYPE", "STATE", "CREATED", "ATTEMPTS", "NEXT", "LAST"], rows: rows).write()
        }
        return .ok
    }
}

private func row(_ view: EntryView, _ now: Timestamp) -> [String] {
    let next = (view.due ?? view.notBefore).flatMap { Timestamp(rfc3339: $0) }.map { InWords.moment($0, from: now) }
    return [
        view.id, view.type, view.state, Timestamp(rfc3339: view.createdAt).map { InWords.moment($0, from: now) } ?? "",
        attemptsInWords(view), view.state == "new" || view.state == "deferred" ? next ?? "now" : "-",
        view.lastStatus.map { "\($0)" } ?? view.lastError ?? view.rule.map {
            String($0.prefix { $0 != " " && $0 != ":" })
        } ?? "-",
    ]
}

private func row(_ view: QuarantineView) -> [String] {
    [view.path, "-", view.state, "-", "-", "-", view.reason ?? "-"]
}

/// `3 of 8`, or the bare count where only the age ends it.
func attemptsInWords(_ view: EntryView) -> String {
    view.attemptsAllowed.map { "\(view.attempts) of \($0)" } ?? "\(view.attempts)"
}
