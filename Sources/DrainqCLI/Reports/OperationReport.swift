import Drain
import Policy
import Spool

/// An operation for people: its state and the reason, its fields, its attempts, and its body.
struct OperationReport {
    let view: EntryView
    let operation: Operation
    let waiting: WaitReason?
    /// Why `retry` refuses the operation, if it failed.
    let objection: OperatorAction.Objection?
    /// Why the operation cannot be sent as it is.
    let defect: RequestError?
    /// The runs that are at work, and those that died.
    let runs: (alive: Set<String>, dead: Set<String>)
    let hold: HoldView?
    /// Its refusal, if it is parked.
    let refusal: Parking.Entry?
    let now: Timestamp
    let terminal: Terminal

    var lines: [String] {
        var lines = summary
        lines += fields.flatMap { name, value in Self.field(name, value, terminal) }
        if !operation.attempts.isEmpty { lines.append(terminal.painted("attempts:", .heading)) }
        for (index, record) in operation.attempts.enumerated() { lines += attempt(record, number: index + 1) }
        if operation.header.bodyFile == nil, !operation.body.isEmpty {
            lines.append(terminal.painted("body:", .heading))
            let whole = pasted("show", "--json", view.name.id.description)
            lines += Self.excerpt(of: operation.body, terminal, "; '\(whole)' prints the whole body")
        }
        if let answer = operation.keptAnswer {
            let type = answer.contentType.map { ", \($0)" } ?? ""
            lines.append(terminal.painted("answer:", .heading))
            let cut = answer.isCut ? ", cut: it was longer than 'answerLimit', or could not be read whole" : ""
            lines += terminal.wrapped(escapedForDisplay("  \(answer.body.count) bytes\(type)\(cut)"))
            let whole = pasted("wait", view.name.id.description)
            lines += Self.excerpt(of: answer.body, terminal, "; '\(whole)' prints all of it")
        }
        return lines
    }

    // MARK: - Summary

    /// The state, `deferred: the next attempt is at … (in 4m); attempts: 3 of 8`, and the cause.
    private var summary: [String] {
        let state = view.state
        var text: String
        switch state {
        case .claimed: text = view.entry.claimInWords(dead: runs.dead)
        case .failed:
            let id = view.name.id.description
            let refusal = objection?.sentence(for: id, in: .failed)
            let retry = "'\(pasted("retry", id))' sends it again"
            let mend = defect.map { "it cannot be sent: \($0); once that is mended, \(retry)" }
            text = "permanently; \(refusal ?? mend ?? retry)"
        case .delivered: text = "this is the kept copy"
        case .new, .deferred, .held, .quarantined:
            let id = operation.header.id
            let wait =
                waiting?.sentence(now, id: id, destination: view.destination, isAtWork: !runs.alive.isEmpty)
                ?? "waiting"
            text = defect.map { "\(waiting == .nothing ? "" : "\(wait); ")it cannot be sent: \($0)" } ?? wait
        }
        if view.name.attempts > 0 || !operation.attempts.isEmpty {
            text += view.name.attempts == 0 ? "; no attempt counted" : "; attempts: \(view.attemptsInWords)"
        }
        var lines = terminal.wrapped(escapedForDisplay("\(state.rawValue): \(text)"))
        lines[0] = terminal.painted(state.rawValue, state.paint) + lines[0].dropFirst(state.rawValue.count)
        if let last = operation.attempts.last, state != .delivered {
            let isAnswered = last.status != nil || last.error != nil
            let cause = isAnswered ? "\(CauseWords.plain(Cause(last))); the rule: " : ""
            lines += terminal.wrapped(escapedForDisplay("because \(cause)\(last.rule)"))
        }
        return lines
    }

    // MARK: - Fields

    private var fields: [(String, String)] {
        let header = operation.header
        let source = header.bodyFile.map { ", from '\($0.path)'" } ?? ""
        let length = header.bodyFile?.length ?? operation.body.count
        func moment(_ moment: Timestamp) -> String { InWords.both(moment, from: now) }
        let all: [(String, String?)] = [
            ("id", view.name.id.description), ("type", view.name.type.description),
            ("destination", header.url ?? view.destination),
            ("hold", hold.map { "of its destination, since \(moment($0.hold.since)): \($0.hold.shownCause.text)" }),
            ("key", header.key),
            (
                "idempotency key",
                header.idempotencyKey.map { header.hasKeyOfEdit ? "\($0), its own since it was edited" : $0 }
            ),
            ("method", header.method), ("created", moment(header.createdAt)),
            ("not before", header.notBefore.map(moment)), ("expires", header.expiresAt.map(moment)),
            ("attempts", attemptsExplained),
            // A time that the clock was set back from holds nothing up.
            (
                "due",
                waiting == .nothing ? view.due.map { InWords.both(min($0, now), from: now) } : view.due.map(moment)
            ),
            (
                "refused",
                refusal.map { "\($0.status), \(InWords.count($0.times, "time")), the last one at \(moment($0.asked))" }
            ),
            ("interrupted", view.interruptions.map { "\($0) times since the last attempt that ended" }),
            ("file", view.entry.path),
            (
                "body",
                "\(length) \(length == 1 ? "byte" : "bytes")\(header.contentType.map { ", \($0)" } ?? "")\(source)"
            ),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }

    /// The meaning of the count of attempts; `nil` if only the age ends them.
    private var attemptsExplained: String? {
        guard let allowed = view.attemptsAllowed, view.state != .delivered else { return nil }
        let schedule = pasted("explain", "--type", view.name.type.description)
        let rule = "it fails for good when \(allowed) have been counted, or earlier by its age"
        return "\(view.name.attempts) of \(allowed)\(view.state == .failed ? " counted" : ": \(rule)"); "
            + "'\(schedule)' shows the schedule"
    }

    fileprivate static func field(_ name: String, _ value: String, _ terminal: Terminal) -> [String] {
        let indent = max(14, name.utf8.count + 2)
        let text = escapedForDisplay(value)
        // Blanks in a key are its own. The value is broken at them only if it does not fit the terminal.
        guard let columns = terminal.columns, indent + text.displayWidth > columns else {
            return ["\(name):".padded(to: indent) + text]
        }
        return text.wrapped(to: columns - indent).enumerated().map { index, line in
            (index == 0 ? "\(name):" : "").padded(to: indent) + line
        }
    }

    /// Returns the beginning of a body. `help` follows the words for what is not shown.
    fileprivate static func excerpt(of body: [UInt8], _ terminal: Terminal, _ help: String = "") -> [String] {
        let excerpt = BodyExcerpt(body, terminal)
        return excerpt.lines.map { "  " + $0 } + (excerpt.rest.map { terminal.wrapped("  … \($0)\(help)") } ?? [])
    }

    // MARK: - Attempts

    /// Returns the time, outcome and duration of an attempt; then the rule, the server's Retry-After and its answer.
    private func attempt(_ record: AttemptRecord, number: Int) -> [String] {
        let outcome = record.outcome.rawValue
        let met = record.status.map { "\($0)" } ?? record.error ?? "no request"
        let begin = "  \(number). \(record.at.rfc3339)  "
        var lines = terminal.wrapped(
            "\(begin)\(outcome)  \(escapedForDisplay(met))  in \(InWords.short(record.duration))", indent: "     ")
        lines[0] = lines[0].replacing(
            outcome, with: terminal.painted(outcome, record.outcome.paint), maxReplacements: 1)
        var details = [record.rule + (record.accused.map { "; to blame: \($0.inWords)" } ?? "")]
        if let seconds = record.retryAfter {
            details.append("the server asked for \(InWords.rough(.seconds(seconds)))")
        }
        if let excerpt = record.excerptBesideRule {
            details.append(record.status == nil ? excerpt : "the server said: \(excerpt)")
        }
        for detail in details { lines += terminal.wrapped("     " + escapedForDisplay(detail), indent: "     ") }
        return lines
    }
}

extension Operation {
    /// The answer to the delivery, if the route keeps it; else `nil`.
    var keptAnswer: KeptAnswer? { attempts.last { $0.answer != nil }?.answer }
}

extension Outcome {
    fileprivate var paint: Paint {
        switch self {
        case .delivered: .good
        case .deferred: .waiting
        case .held, .failed: .bad
        }
    }
}

extension OperationReport {
    /// Returns the lines of a file in quarantine: reason, origin, beginning. `command` reads it where `retry` cannot,
    /// and `objection` is the reason why `retry` leaves it alone.
    static func lines(
        of item: QuarantineItem, content: [UInt8], _ command: String?, objection: OperatorAction.Objection?,
        _ now: Timestamp, _ terminal: Terminal
    ) -> [String] {
        let name = item.name?.id.description ?? item.fileName
        let refusal = command == nil ? objection?.sentence(for: name, in: .quarantine) : nil
        let way = refusal ?? "'\(command ?? pasted("retry", name))' reads it again"
        let help = "\(way), '\(pasted("drop", name))' removes it"
        var lines = terminal.wrapped(escapedForDisplay("quarantined: \(item.reason ?? "no reason recorded"); \(help)"))
        lines[0] = terminal.painted("quarantined", .bad) + lines[0].dropFirst("quarantined".count)
        let fields: [(String, String?)] = [
            ("file", "quarantine/\(item.fileName)"), ("called", item.originalName), ("from", item.source),
            ("since", item.at.map { InWords.both($0, from: now) }),
        ]
        for case (let name, let value?) in fields { lines += field(name, value, terminal) }
        if content.isEmpty { return lines }
        return lines + [terminal.painted("content:", .heading)] + excerpt(of: content, terminal)
    }
}
