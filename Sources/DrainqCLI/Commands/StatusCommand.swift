import Policy
import Spool

/// `drainq status`: what waits, where, since when and why, and how the last run ended.
func status(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    if command.flag(.prometheus) { return try statusForPrometheus(command, environment: environment) }
    return try failing {
        let queue = try OpenQueue(command, environment)
        let isJSON = command.flag(.json)
        if command.flag(.watch) {
            try watch(queue, every: command.duration(.interval) ?? .seconds(2), asJSON: isJSON)
        } else if command.isGiven(.interval) {
            throw CommandFailure(.usage, "'--interval' is for --watch", hint: "drainq status --watch --interval 5s")
        } else {
            let now = Timestamp.now()
            let view = try QueueStatus(of: queue, at: now)
            if isJSON { JSONLine.write(view) } else { view.lines(at: now).forEach(standardOutput.line) }
        }
        return .ok
    }
}

extension QueueStatus {
    /// For a person.
    func lines(at now: Timestamp) -> [String] { tell(self, now) }
}

private func tell(_ view: QueueStatus, _ now: Timestamp) -> [String] {
    var lines: [String] = []
    func words(_ text: String?) -> String {
        text.flatMap { Timestamp(rfc3339: $0) }.map { InWords.moment($0, from: now) } ?? "-"
    }
    if view.paused { lines.append("paused: no run attempts anything until 'drainq resume'") }
    let counts = ShownState.allCases.compactMap { state -> String? in
        guard let count = view.states[state.rawValue], count > 0 else { return nil }
        return "\(count) \(state.rawValue)"
    }
    lines.append(counts.isEmpty ? "empty" : counts.joined(separator: ", "))
    if !view.destinations.isEmpty {
        let rows = view.destinations.map { row in
            [row.destination] + [row.new, row.deferred, row.held, row.claimed, row.failed].map { "\($0)" }
                + [words(row.oldest), words(row.nextDue), words(row.lastSuccess)]
        }
        let columns = [
            "DESTINATION", "NEW", "DEFERRED", "HELD", "CLAIMED", "FAILED", "OLDEST", "NEXT DUE", "LAST SUCCESS",
        ]
        lines += Table(columns: columns, rows: rows).lines
    }
    lines += reasons(view, now, words).map(escapedForDisplay)
    if let reason = view.conditions { lines.append("waiting: \(reason)") }
    if let last = view.lastRun {
        lines.append(
            "last run \(words(last.startedAt)): \(last.delivered) delivered, \(last.deferred) deferred, \(last.failed) failed, "
                + "\(last.held) held; exit status \(last.exitStatus)")
    }
    return lines
}

/// A line for each destination that is not sent to as usual, and what ends it.
private func reasons(_ view: QueueStatus, _ now: Timestamp, _ words: (String?) -> String) -> [String] {
    var lines = view.holds.map { hold in
        let age = Timestamp(rfc3339: hold.since).map { InWords.rough(max(now - $0, .zero)) } ?? "-"
        let probe = hold.nextProbe.map { "; next probe \(words($0))" } ?? ""
        return "held: '\(hold.destination)' for \(age): \(hold.reason)\(probe)"
            + "; 'drainq release --destination \(hold.destination)' ends it"
    }
    for row in view.destinations {
        if row.paused {
            lines.append("paused: '\(row.destination)'; 'drainq resume --destination \(row.destination)' ends it")
        }
        if let until = row.notBefore {
            lines.append("waiting: '\(row.destination)' has asked for time; next attempt \(words(until))")
        }
        if let until = row.suspendedUntil {
            let last = row.lastFailure.map { ", the last one \($0)" } ?? ""
            lines.append(
                "left alone: '\(row.destination)' after \(row.failures ?? 0) failures in a row\(last); "
                    + "next attempt \(words(until))")
        }
    }
    if view.heldByThemselves > 0 {
        lines.append("held by themselves: \(view.heldByThemselves); 'drainq list --state held' shows them")
    }
    return lines
}
