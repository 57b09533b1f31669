import Policy
import Spool

/// `drainq status`: what waits, where, since when and why, and how the last run ended.
func status(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    if command.flag(.prometheus) { return try statusForPrometheus(command, environment: environment) }
    return try failing {
        let queue = try OpenQueue(command, environment)
        let now = Timestamp.now()
        let view = try QueueStatus(of: queue, at: now)
        if command.flag(.json) { JSONLine.write(view) } else { tell(view, now) }
        return .ok
    }
}

private func tell(_ view: QueueStatus, _ now: Timestamp) {
    func words(_ text: String?) -> String {
        text.flatMap { Timestamp(rfc3339: $0) }.map { InWords.moment($0, from: now) } ?? "-"
    }
    if view.paused { standardOutput.line("paused: no run attempts anything until 'drainq resume'") }
    let counts = ShownState.allCases.compactMap { state -> String? in
        guard let count = view.states[state.rawValue], count > 0 else { return nil }
        return "\(count) \(state.rawValue)"
    }
    standardOutput.line(counts.isEmpty ? "empty" : counts.joined(separator: ", "))
    if !view.destinations.isEmpty {
        let rows = view.destinations.map { row in
            [row.destination] + [row.new, row.deferred, row.held, row.claimed, row.failed].map { "\($0)" }
                + [words(row.oldest), words(row.nextDue), words(row.lastSuccess)]
        }
        Table(
            columns: [
                "DESTINATION", "NEW", "DEFERRED", "HELD", "CLAIMED", "FAILED", "OLDEST", "NEXT DUE", "LAST SUCCESS",
            ], rows: rows
        )
        .write()
    }
    for line in reasons(view, now, words) { standardOutput.line(escapedForDisplay(line)) }
    if let reason = view.conditions { standardOutput.line("waiting: \(reason)") }
    if let last = view.lastRun {
        standardOutput.line(
            "last run \(words(last.startedAt)): \(last.delivered) delivered, \(last.deferred) deferred, \(last.failed) failed, "
                + "\(last.held) held; exit status \(last.exitStatus)")
    }
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
