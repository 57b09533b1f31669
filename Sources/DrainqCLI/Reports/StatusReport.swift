import Drain
import Policy

/// The status for people: states that need a person, states that end by themselves, then unfinished operations by age.
struct StatusReport {
    let status: QueueStatus
    let now: Timestamp
    let terminal: Terminal

    /// Whether the rules that decided are shown, too.
    var showsRules = false

    var lines: [String] {
        let words = status.words
        var lines = wrapped(words.text, words.level == .ok ? .good : .bad)
        if !words.lede.isEmpty { lines += terminal.wrapped(escapedForDisplay(words.lede)) }
        lines += forPeople.flatMap { wrapped($0, .bad) } + passing.flatMap { wrapped($0, .waiting) }
        lines += terminal.wrapped(counts)
        if !rows.isEmpty { lines += table }
        if status.deliveredTotal > 0 {
            let last = status.health.lastSuccess.map { ", the last one \(past($0))" } ?? ""
            lines += terminal.wrapped("\(status.deliveredTotal) delivered in all\(last)")
        }
        if let runs { lines += terminal.wrapped(runs) }
        if let last = status.lastRun { lines += terminal.wrapped(sentence(last)) }
        return lines
    }

    /// Wraps a line. What stands before its first colon has the colour; a time of day has no such colon.
    private func wrapped(_ line: String, _ paint: Paint) -> [String] {
        var lines = terminal.wrapped(escapedForDisplay(line))
        let last = lines[0].last == ":" ? lines[0].index(before: lines[0].endIndex) : lines[0].endIndex
        let end = lines[0].firstRange(of: ": ")?.lowerBound ?? last
        lines[0] = terminal.painted(String(lines[0][..<end]), paint) + lines[0][end...]
        return lines
    }

    private func words(_ time: Timestamp?) -> String { time.map { InWords.moment($0, from: now) } ?? "-" }

    private func past(_ time: Timestamp?) -> String { time.map { InWords.past($0, from: now) } ?? "-" }

    // MARK: - Sentences

    /// The lines about states that only a person ends.
    private var forPeople: [String] {
        var lines = status.paused ? ["paused: runs make no attempts until '\(pasted("resume"))'"] : []
        lines += TroubleGroup.all(of: status).map(sentence)
        for row in status.destinations where row.state.isPaused {
            lines.append("paused: '\(row.name)'; '\(pasted("resume", "--destination", row.name))' ends it")
        }
        for row in status.destinations {
            guard let unsent = row.unsent else { continue }
            let reason = unsent.reason.map { ": \($0)" } ?? ", and no run takes \(unsent.count == 1 ? "it" : "them")"
            lines.append(
                "not sent: \(unsent.count) for \(row.name) since \(InWords.utc(unsent.since, at: now))\(reason); "
                    + "'\(pasted("show", unsent.first.description))' shows the first")
        }
        if let unserved = status.health.unserved {
            let way =
                unserved.failed.map { "'\(pasted("retry", $0.description))' sends the failed one again" }
                ?? "'\(pasted("show", unserved.first.description))' shows the first"
            lines.append("waiting in vain: \(unserved.count) for '{kept.\(unserved.name)}'; \(way)")
        }
        let counts = [
            (status.health.heldAlone, "held individually", "'\(pasted("list", "--state", "held"))' lists them"),
            (
                status.health.heldBehind, "held behind failed or quarantined ones",
                "'\(pasted("list", "--state", "held"))' lists them, and behind which"
            ),
            (
                count(.failed), "failed",
                "'\(pasted("list", "--state", "failed"))' lists them, '\(pasted("retry", "--state", "failed"))' sends again what has not expired"
            ),
            (count(.quarantined), "quarantined", "'\(pasted("list", "--state", "quarantined"))' shows the reasons"),
            (status.evictedTotal, "evicted to make room, in all", "'\(pasted("log"))' says when"),
        ]
        for (count, word, help) in counts where count > 0 { lines.append("\(word): \(count); \(help)") }
        return lines
    }

    /// The line of destinations in trouble for one cause: the cause first, then what waits, and what ends it.
    private func sentence(_ group: TroubleGroup) -> String {
        let cause = group.cause.text
        let next = group.next.map { words($0) }
        var text: String
        switch (group.state, group.rows.count) {
        case (.held, 1): text = "\(group.rows[0].name) held\(since(group)): \(cause); \(group.waiting) wait"
        case (.held, let count): text = "\(count) destinations held\(since(group)): \(cause); \(group.waiting) wait"
        case (_, let count):
            let subject = count == 1 ? "\(group.rows[0].name) has" : "\(count) destinations have"
            text = "\(subject) taken nothing\(since(group)): \(last(group.cause)) \(cause); \(group.waiting) wait"
        }
        if let remedy = CauseWords.remedy(group.cause) { text += "; \(remedy)" }
        if let next { text += "; next \(group.state == .held ? "probe" : "attempt") \(next)" }
        if let command = group.command {
            let end = group.rows.count == 1 ? "ends it" : "ends them"
            text += "; '\(command)' \(group.state == .held ? end : "sends at once")"
        }
        if group.rows.count > 1 {
            let more = group.rows.count - Self.mostNames
            text +=
                "; " + group.rows.prefix(Self.mostNames).map(\.name).joined(separator: ", ")
                + (more > 0 ? " and \(more) more" : "")
        }
        if showsRules, let rule = group.rows.compactMap(\.state.hold?.reason).first { text += "; by \(rule)" }
        return text
    }

    private static let mostNames = 6

    private func since(_ group: TroubleGroup) -> String {
        group.since.map { " since \(InWords.utc($0, at: now)) (\(InWords.rough(max(now - $0, .zero))))" } ?? ""
    }

    private func last(_ cause: Cause) -> String {
        cause.status != nil ? "last answer" : cause.code == .request ? "no request:" : "no answer:"
    }

    /// The lines about states that end by themselves.
    private var passing: [String] {
        var lines: [String] = []
        for (row, health) in zip(status.destinations, status.health.destinations) {
            if health.state == .missed, row.waiting > 0, let cause = health.cause {
                let since = health.since.map { " since \(InWords.utc($0, at: now))" } ?? ""
                let next = row.next.map { "; next attempt \(words($0))" } ?? ""
                lines.append(
                    "\(row.name) has taken nothing\(since): \(last(cause)) \(cause.text); \(row.waiting) wait\(next)")
            }
            if let until = row.end(of: .retryAfter) {
                lines.append("\(row.name): its server asked for time; next attempt \(words(until))")
            }
            if let until = row.end(of: .circuitBreaker), health.state != .down, health.state != .missed {
                lines.append("\(row.name): its circuit breaker is open; next attempt \(words(until))")
            }
            if health.state == .well, let up = row.state.upSince, row.count(of: .deferred) > 0,
                let oldest = row.oldest, oldest < up, let last = row.last, last > now
            {
                lines.append(
                    "\(row.name) is up again since \(InWords.utc(up, at: now)): \(row.count(of: .deferred)) wait up to "
                        + "\(InWords.rough(last - now)) by their own schedules; '\(pasted("run", "--now"))' sends them")
            }
        }
        if let reason = status.health.conditions { lines.append("waiting: \(reason)") }
        return lines
    }

    /// How often runs come.
    private var runs: String? {
        guard let last = status.health.runs.last(at: now) else { return nil }
        let usual = status.health.runs.interval(at: now).map { ", usually each \(InWords.rough($0))" } ?? ""
        return "last run \(past(last))\(usual)"
    }

    /// The counts: `3 new, 128 deferred; 5 due now, 2 behind older ones`.
    private var counts: String {
        let states = ShownState.allCases.filter { count($0) > 0 }.map { "\(count($0)) \($0.rawValue)" }
        if states.isEmpty { return "empty" }
        var due: [String] = []
        if status.health.due > 0 {
            due.append("\(status.health.due) due now")
        } else if status.nextDue != nil {
            due.append("next due \(words(status.nextDue))")
        }
        if status.behind > 0 { due.append("\(status.behind) behind older ones") }
        if status.lackingKept > 0 { due.append("\(status.lackingKept) waiting for kept values") }
        if status.merged > 0 { due.append("\(status.merged) merged into newer ones") }
        if status.superseded > 0 { due.append("\(status.superseded) replaced by newer ones") }
        return states.joined(separator: ", ") + (due.isEmpty ? "" : "; " + due.joined(separator: ", "))
    }

    /// The destinations of the table: those that something names, or that have failed operations.
    private var rows: [QueueCount.DestinationCount] {
        zip(status.destinations, status.health.destinations).filter { $1.state != .unnamed || $1.failed > 0 }.map(\.0)
    }

    private func count(_ state: ShownState) -> Int { status.health.states[state] ?? 0 }

    private func sentence(_ last: SummaryView) -> String {
        "last run with work \(past(last.circumstances.startedAt)): \(last.inWords)"
    }

    // MARK: - The table

    /// The table, in as many age groups as fit the terminal.
    private var table: [String] {
        let fine = table(QueueCount.ageGroups.map { ($0.word == "older" ? "3d+" : $0.word, [$0.word]) })
        if fine.fits(terminal) || fine.fits(terminal, stacked: true) { return fine.lines(for: terminal) }
        let coarse = table([("1h", ["1m", "5m", "1h"]), ("1d", ["6h", "1d"]), ("3d", ["3d"]), ("3d+", ["older"])])
        return coarse.lines(for: terminal)
    }

    /// Returns destinations × ages, as qshape(1): a column counts operations younger than its age and in none before.
    private func table(_ groups: [(title: String, words: [String])]) -> Table {
        let first = Table.Column(title: "DESTINATION")
        let ages = groups.enumerated().map { index, group in
            Table.Column(title: index == 0 ? "<\(group.title)" : group.title, isNumber: true)
        }
        let others = [
            Table.Column(title: "HELD", isNumber: true), Table.Column(title: "FAILED", isNumber: true),
            Table.Column(title: "NEXT"), Table.Column(title: "LAST SUCCESS"),
        ]
        // The worst first: a low terminal shows no more.
        let trouble = status.health.troubles.enumerated().map { ($1.name, $0) }
        let rank = Dictionary(trouble, uniquingKeysWith: min)
        var rows = self.rows.sorted { left, right in
            let ranks = (rank[left.name] ?? .max, rank[right.name] ?? .max)
            return (ranks.0, right.waiting, left.name) < (ranks.1, left.waiting, right.name)
        }.map { row in
            [Table.Cell(row.name), Table.Cell(row.waiting)]
                + groups.map { Table.Cell(row.count(of: $0.words), $0.words == ["older"] ? .waiting : .plain) }
                + [
                    Table.Cell(row.count(of: .held), .bad), Table.Cell(row.count(of: .failed), .bad),
                    Table.Cell(words(row.next)),
                    Table.Cell(past(row.state.lastSuccess)),
                ]
        }
        if self.rows.count > 1 {
            let all = self.rows
            func sum(_ count: (QueueCount.DestinationCount) -> Int) -> Table.Cell {
                Table.Cell(all.reduce(0) { $0 + count($1) })
            }
            rows.insert(
                [Table.Cell("TOTAL", .heading), sum(\.waiting)]
                    + groups.map { group in sum { $0.count(of: group.words) } }
                    + [
                        sum { $0.count(of: .held) }, sum { $0.count(of: .failed) }, Table.Cell(words(status.nextDue)),
                        Table.Cell(past(all.compactMap(\.state.lastSuccess).max())),
                    ], at: 0)
        }
        let (held, failed, next, success) = (ages.count + 2, ages.count + 3, ages.count + 4, ages.count + 5)
        return Table(
            columns: [first, Table.Column(title: "TOTAL", isNumber: true)] + ages + others, rows: rows,
            narrowings: [
                .drop(column: success), .shrink(column: 0, to: 36), .drop(column: failed), .drop(column: held),
                .drop(column: next), .shrink(column: 0, to: 24),
            ])
    }
}

extension QueueCount.DestinationCount {
    fileprivate func count(of words: [String]) -> Int { words.reduce(0) { $0 + (countsByAge[$1] ?? 0) } }
}

extension SummaryView {
    /// The summary in words: `3 delivered, 1 deferred; exit status 75`.
    var inWords: String {
        let shown = [
            (counts.delivered, "delivered"), (counts.deferred, "deferred"), (counts.held, "held"),
            (counts.failed, "failed"),
        ]
        let words = shown.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return "\(words.isEmpty ? "no deliveries" : words); exit status \(circumstances.exitStatus)"
    }
}
