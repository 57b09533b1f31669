import Policy
import Spool

/// The findings of `check`. Prints each at once, and collects the exit statuses.
struct Findings {
    /// One line of `check --json`.
    struct Line: JSONObject {
        /// `ok`, `note`, `problem` or `repaired`.
        var finding: String
        /// The damage of the directory, such as `leftover` or `deadRun`.
        var damage: String?
        var text: String
        var hint: String?

        static let fields: [JSONField<Line>] = [
            .field("finding", .word(["ok", "note", "problem", "repaired"]), "the kind of finding", \.finding),
            .maybe("damage", .word(Damage.words), "the damage of the directory", \.damage),
            .field("text", .text, "the finding in words", \.text),
            .maybe("hint", .text, "a remedy", \.hint),
        ]
    }

    let asJSON: Bool
    let isQuiet: Bool
    private(set) var applying: [ExitStatus] = []

    /// Prints a part of the queue that is in order.
    func ok(_ part: String) { say(Line(finding: "ok", text: part)) }

    /// Prints a part that is in order, unless a problem has come since there were `count` of them.
    func ok(_ part: String, since count: Int) {
        if applying.count == count { ok(part) }
    }

    /// Prints a fact that is no problem and does not change the exit status.
    func note(_ text: String) { say(Line(finding: "note", text: text)) }

    mutating func problem(_ status: ExitStatus, _ text: String, hint: String?, damage: String? = nil) {
        applying.append(status)
        if asJSON {
            JSONLine.write(Line(finding: "problem", damage: damage, text: text, hint: hint))
        } else {
            Messages.error(text, hint: hint)
        }
    }

    mutating func problems(_ failure: CommandFailure) {
        for message in failure.messages { problem(failure.status, message.text, hint: message.hint) }
    }

    func say(_ line: Line) {
        if asJSON {
            JSONLine.write(line)
        } else if !isQuiet {
            standardOutput.line(escapedForDisplay("\(line.finding): \(line.text)"))
        }
    }
}
