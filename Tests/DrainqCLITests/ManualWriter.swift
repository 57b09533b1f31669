import Delivery

@testable import DrainqCLI
@testable import Policy

/// Makes the parts of drainq(1) from the tables, and drainq-json(5), in mdoc(7).
struct ManualWriter {
    var lines: [String] = []

    var text: String { lines.joined(separator: "\n") + "\n" }

    /// The parts of drainq(1).
    static var parts: [(name: String, text: String)] {
        func part(_ name: String, _ write: (inout ManualWriter) -> Void) -> (name: String, text: String) {
            var writer = ManualWriter()
            write(&writer)
            return (name, writer.text)
        }
        return [
            part("synopsis") { $0.synopsis() }, part("commands") { $0.commands() },
            part("filter options") { $0.filters() },
            part("global options") { $0.list(OptionDescription.table.filter { $0.group == .global }) },
            part("outcomes") { $0.outcomes() }, part("exit statuses") { $0.exitStatuses() },
            part("examples") { $0.examples() }, part("metrics") { $0.metrics() },
        ]
    }

    private mutating func synopsis() {
        for command in CommandDescription.visible {
            lines += [".Nm", ".Cm \(command.name)"]
            if command.takesOptions { lines.append(".Op Ar options") }
            if let operands = command.operands.macro { lines.append(operands) }
        }
    }

    private mutating func commands() {
        for command in CommandDescription.visible {
            lines.append(".Ss \(command.name)")
            prose(command.details)
            let rows = command.options.filter { $0.group == .own }
            let described = rows.filter { $0.home == command.name }
            if !described.isEmpty { list(described) }
            let pointers = pointers(to: command.options, from: command.name)
            if !pointers.isEmpty {
                lines.append(".Pp")
                prose(pointers.joined(separator: " "))
            }
        }
    }

    /// Returns sentences about options explained with an earlier command, and about the section of the filters.
    private func pointers(to rows: [OptionDescription], from command: String) -> [String] {
        let foreign = rows.filter { $0.group == .own && $0.home != command }
        let homes = CommandDescription.visible.map(\.name).filter { home in foreign.contains { $0.home == home } }
        let sentences = homes.map { home in
            let names = foreign.filter { $0.home == home }.map(\.name.spelling)
            return "As with `drainq \(home)`: \(names.joined(separator: ", "))."
        }
        return sentences + (rows.contains { $0.group == .filter } ? ["Filters are in FILTER OPTIONS."] : [])
    }

    private mutating func filters() {
        let filters = OptionDescription.table.filter { $0.group == .filter }
        let owners = CommandDescription.visible.map(\.name).filter { name in
            filters.contains { $0.commands.contains(name) }
        }
        prose(
            """
            Filters choose operations for \(owners.map { "`\($0)`" }.joined(separator: ", ")). An operation \
            has to pass every given filter.
            """)
        list(filters)
    }

    /// Adds the outcomes, with the answers of `drainq explain` for a route without rules.
    private mutating func outcomes() {
        let table = AnswerTable(of: ExplainedRoute(of: .default, in: Configuration(), available: Transport.allCases))
        lines.append(".Bl -tag -width Ds")
        for outcome in Outcome.allCases {
            let answers = table.answers.filter { $0.outcome == outcome.rawValue }.map(\.answers)
            let statuses = answers.filter { $0.first?.isNumber == true }
            let errors = answers.filter { $0.first?.isNumber == false }
            let words = [("Status", statuses), ("errors", errors)].filter { !$0.1.isEmpty }
                .map { "\($0) \($1.joined(separator: ", "))" }
            item(".It Sy \(outcome.rawValue)", words.joined(separator: "; ") + ". \(Self.effect(of: outcome)).")
        }
        lines.append(".El")
    }

    private static func effect(of outcome: Outcome) -> String {
        switch outcome {
        case .delivered: "The operation is done. Its file is removed, or kept as long as `retention` says"
        case .deferred:
            """
            The operation waits for its next time, by the schedule `retry` of its route. The attempt is counted; \
            when the attempts or the age are used up, the operation fails
            """
        case .held:
            """
            The destination is held, and the operation is put back as it was. The same happens if no request can be \
            made: there is no url, a secret is missing, `headersCommand` ends with status 77, or the machine lacks a transport
            """
        case .failed:
            """
            The operation goes to `failed/` and stays there, unless `retention` says otherwise. `drainq retry` sends \
            it again
            """
        }
    }

    private mutating func metrics() {
        lines.append(".Bl -tag -width Ds")
        for family in MetricFamily.table {
            let labels = family.labels.isEmpty ? "" : " Brq " + family.labels.joined(separator: " , ")
            item(".It Ic \(family.name)\(labels)", family.help)
        }
        lines.append(".El")
    }

    private mutating func exitStatuses() {
        lines.append(".Bl -tag -width 123")
        for status in ExitStatus.allCases {
            item(".It \(status.rawValue)", status.meaning.capitalizedSentence)
        }
        lines.append(".El")
    }

    /// Adds a block for each command. Each line stands below its explanation and can be pasted into a shell.
    private mutating func examples() {
        for command in CommandDescription.visible where !command.examples.isEmpty {
            lines.append(".Bd -literal")
            for example in command.examples {
                lines += ["# " + escaped(example.explanation), escaped(example.line)]
            }
            lines.append(".Ed")
        }
    }

    // MARK: - Parts

    private mutating func list(_ rows: [OptionDescription]) {
        lines += [".Bl -tag -width Ds"]
        for row in rows {
            let value = row.kind.placeholder.map { " Ar " + $0.split(separator: "|").joined(separator: " | ") } ?? ""
            let short = row.short.map { "Fl \($0) , " } ?? ""
            var details = row.details
            if row.group == .global, let reach = row.reach {
                let names = reach.commands.map { "`\($0)`" }.joined(separator: ", ")
                details += reach.isOnly ? " Only \(names) take it." : " Every command but \(names) takes it."
            }
            if let initial = row.initial { details += " The default is `\(initial)`." }
            if row.repeats { details += row.details.contains("more than once") ? "" : " May be given more than once." }
            item(".It \(short)Fl -\(row.name.rawValue)\(value)", details)
        }
        lines.append(".El")
    }

    private mutating func item(_ head: String, _ text: String) {
        lines.append(head)
        prose(text)
    }

    /// Adds paragraphs. Each sentence begins a line, as mdoc expects, and each macro has its own line.
    mutating func prose(_ text: some StringProtocol) {
        for (index, paragraph) in Prose(String(text)).paragraphs.enumerated() {
            if index > 0 { lines.append(".Pp") }
            var sentence: [String] = []
            for word in paragraph {
                switch word {
                case .plain(let text):
                    sentence.append(escaped(text))
                    if text.hasSuffix(".") || text.hasSuffix(":") { finish(&sentence) }
                case .option(let before, let name, let value, let after):
                    finish(&sentence)
                    let assignment = value.map { " Ns = Ns Cm \($0)" } ?? ""
                    macro("Fl -\(name)\(assignment)", before: before, after: after)
                case .literal(let before, let text, let after):
                    finish(&sentence)
                    macro("Ql \(quoted(text))", before: before, after: after)
                }
            }
            finish(&sentence)
        }
    }

    private mutating func finish(_ sentence: inout [String]) {
        if !sentence.isEmpty { lines += sentence.joined(separator: " ").wrapped(to: 78) }
        sentence = []
    }

    private mutating func macro(_ call: String, before: String, after: String) {
        let opening = before.isEmpty ? "" : before.map { "\($0) " }.joined()
        let name = call.prefix { $0 != " " }
        lines.append(".\(name) \(opening)\(call.dropFirst(name.count + 1))" + after.map { " \($0)" }.joined())
    }
}

/// Escapes text of a line without a macro, so that every output shows and copies the same characters.
private func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text {
        switch character {
        case "\\": escaped += "\\e"
        case "-": escaped += "\\-"
        case "'": escaped += "\\(aq"
        case "`": escaped += "\\(ga"
        case "^": escaped += "\\(ha"
        case "~": escaped += "\\(ti"
        default: escaped.append(character)
        }
    }
    return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
}

/// Returns the text as a single argument of a macro.
private func quoted(_ text: String) -> String {
    let escaped = text.replacing("\\", with: "\\e").replacing("\"", with: "\\(dq").replacing("-", with: "\\-")
    let isPunctuation = escaped.allSatisfy { ".,;:!?()|[]".contains($0) }
    return isPunctuation ? "\\&" + escaped : escaped.contains(" ") ? "\"\(escaped)\"" : escaped
}

extension String {
    fileprivate var capitalizedSentence: String {
        prefix(1).uppercased() + dropFirst() + "."
    }
}

extension Operands {
    /// The operands in the synopsis; `nil` if the command has none.
    fileprivate var macro: String? {
        switch self {
        case .none, .anything: nil
        case .files: ".Op Ar FILE ..."
        case .directory: ".Op Ar DIR"
        case .ids: ".Ar ID ..."
        case .optionalIDs, .selection, .optionalSelection: ".Op Ar ID ..."
        case .one(_, let placeholder): ".Ar \(placeholder)"
        case .optional(_, let placeholder): ".Op Ar \(placeholder)"
        case .answer: ".Op Ar STATUS | ERROR"
        }
    }
}

extension ExitStatus {
    /// The text of the manual for this status.
    var meaning: String {
        switch self {
        case .hungUp: "SIGHUP ended a wait"
        case .interrupted: "SIGINT ended a wait, or cut off a run as the second signal"
        case .terminated: "SIGTERM ended a wait, or cut off a run as the second signal"
        case .usage: "the command line is not valid; no attempt was made"
        case .configuration: "the configuration is not usable; no attempt was made"
        case .noInput: "there is no such queue, no id on standard input, or no operation that `drainq wait` names"
        case .permission: "no permission to read or write the queue; no attempt was made"
        case .internalError: "a defect in drainq; the work may be incomplete"
        case .inputOutput: "input or output failed (a full disk, or no reader); the other work was done"
        case .held:
            "a destination, or an operation that the command names, is held until a person acts or a credential changes"
        case .failed: "operations failed for good in this run; a warning of `drainq status --check`"
        case .critical:
            "`drainq status --check`: a destination is in trouble, the queue is full, nobody runs it, runs end with an error, or its configuration is broken"
        case .unknown: "`drainq status --check`: it is not known how the queue is"
        case .dataInvalid: "input was not an operation; add and import put it into quarantine, send and --atomic do not"
        case .deferred:
            "an operation was deferred, and a later run attempts it again; `drainq run --until-empty` ended before the queue was empty"
        case .ok:
            "every due operation that the run took (`--limit`) is delivered, no operation was due, or another run works on them"
        }
    }
}
