extension ManualPage {
    /// The page in mdoc(7), made from the tables.
    var text: String {
        switch self {
        case .drainq: return manualPage()
        case .json:
            var page = ManualWriter()
            page.outputs()
            return page.text
        }
    }
}

/// The manual page drainq(1) in mdoc(7), made from the tables.
func manualPage() -> String {
    var page = ManualWriter()
    page.head()
    page.commands()
    page.options()
    page.values()
    for chapter in ManualChapter.body { page.chapter(chapter) }
    page.surroundings()
    page.exitStatuses()
    page.examples()
    page.metrics()
    page.tail()
    page.chapter(.security)
    return page.text
}

struct ManualWriter {
    var lines: [String] = []

    var text: String { lines.joined(separator: "\n") + "\n" }

    mutating func head() {
        lines += [
            #".\" Made from the tables in Sources/DrainqCLI/CommandLine; DRAINQ_RECORD=1 swift test --filter DocumentTests"#,
            ".Dd November 21, 2026", ".Dt DRAINQ 1", ".Os", ".Sh NAME", ".Nm drainq",
            ".Nd store-and-forward for HTTP", ".Sh SYNOPSIS",
        ]
        for command in CommandDescription.visible {
            lines += [".Nm", ".Cm \(command.name.rawValue)"]
            if command.takesOptions { lines.append(".Op Ar options") }
            if let operands = command.operands.macro { lines.append(operands) }
        }
        lines.append(".Sh DESCRIPTION")
        prose(
            """
            A queue directory has one file for each operation. A run, started by cron, a systemd timer or a person, \
            takes the operations that are due, sends each to an HTTP server, and ends with an exit status that says \
            what happened. There is no daemon and no database: the directory is the database, the file name is the \
            index, rename is the transaction.

            drainq delivers an accepted operation at least once, or keeps it until a person drops it or a rule that \
            the user wrote ends it. Every attempt of one operation carries the same idempotency key.

            Options may stand anywhere after the command, as `--name value` or `--name=value`; short ones may be \
            bundled. After `--` everything is an operand. Results go to standard output, everything else to standard \
            error.
            """)
    }

    mutating func commands() {
        lines.append(".Sh COMMANDS")
        for command in CommandDescription.visible {
            lines.append(".Ss \(command.name.rawValue)")
            prose(command.details)
            let rows = OptionDescription.of(command.name).filter { $0.group == .own }
            let described = rows.filter { $0.home == command.name }
            if !described.isEmpty { list(described) }
            let pointers = pointers(to: OptionDescription.of(command.name), from: command.name)
            if !pointers.isEmpty {
                lines.append(".Pp")
                prose(pointers.joined(separator: " "))
            }
        }
    }

    /// Returns sentences that point to options explained with an earlier command, and to the section of the filters.
    private func pointers(to rows: [OptionDescription], from command: CommandName) -> [String] {
        let foreign = rows.filter { $0.group == .own && $0.home != command }
        let homes = CommandName.allCases.filter { home in foreign.contains { $0.home == home } }
        let sentences = homes.map { home in
            let names = foreign.filter { $0.home == home }.map(\.name.spelling)
            return "As with `drainq \(home.rawValue)`: \(names.joined(separator: ", "))."
        }
        return sentences + (rows.contains { $0.group == .filter } ? ["Filters are in FILTER OPTIONS."] : [])
    }

    mutating func options() {
        let filters = OptionDescription.table.filter { $0.group == .filter }
        let owners = CommandDescription.visible.map(\.name).filter { name in
            filters.contains { $0.commands.contains(name) }
        }
        lines.append(".Sh FILTER OPTIONS")
        prose(
            """
            Filters choose operations for \(owners.map { "`\($0.rawValue)`" }.joined(separator: ", ")). An operation \
            has to pass every given filter.
            """)
        list(filters)
        lines.append(".Sh GLOBAL OPTIONS")
        prose("Global options may also precede the command.")
        list(OptionDescription.table.filter { $0.group == .global })
    }

    mutating func values() {
        lines.append(".Sh VALUES")
        lines += [".Bl -tag -width Ds"]
        item(".It Ar D", "A duration: `500ms`, `90s`, `5m`, `2h`, `3d`, or several in falling order such as `1h30m`.")
        item(
            ".It Ar TIME",
            """
            A time as RFC 3339 has it, `2026-11-21T09:15:00Z`; a date alone, which is midnight UTC; `now`; or a duration \
            from now, `+5m` or `-2h`. Without a sign --since and --before look back, the others forward.
            """)
        item(".It Ar N", "A whole number.")
        item(".It Ar TYPE", "1 to 64 of `A-Z a-z 0-9 . _ -`, not beginning with a dot.")
        item(".It Ar ID", "1 to 64 of `A-Z a-z 0-9 _ -`; `-` alone reads ids from standard input, one on each line.")
        lines.append(".El")
    }

    mutating func chapter(_ chapter: ManualChapter) {
        lines.append(".Sh \(chapter.title)")
        for (index, block) in chapter.blocks.enumerated() {
            switch block {
            case .text(let text):
                if index > 0 { lines.append(".Pp") }
                prose(text)
            case .list(let items):
                lines += [".Bl -tag -width Ds"]
                for (term, text) in items { item(".It Sy \(term)", text) }
                lines.append(".El")
            }
        }
    }

    mutating func metrics() {
        lines.append(".Sh METRICS")
        prose(
            """
            `drainq status --prometheus` prints these metrics, and each run writes them to the file that \
            `metrics.textfile` of the configuration names. Every series has the label `queue`, the path of the queue \
            directory. Operations of no destination, or of one beyond the thousand with the most operations, have an \
            empty `destination`, so that sums are right. Runs keep the counters in the queue directory.
            """)
        lines += [".Bl -tag -width Ds"]
        for family in MetricFamily.table {
            let labels = family.labels.isEmpty ? "" : " Brq " + family.labels.joined(separator: " , ")
            item(".It Ic \(family.name)\(labels)", family.help)
        }
        lines.append(".El")
    }

    mutating func surroundings() {
        lines += [".Sh ENVIRONMENT", ".Bl -tag -width Ds"]
        item(".It Ev DRAINQ_QUEUE", "The queue directory, unless --queue is given.")
        item(
            ".It Ev DRAINQ_TRANSPORT",
            "`urlsession` or `libcurl`: the transport of destinations whose `transport` is `auto` or not set; see "
                + "TRANSPORTS in drainq-config(5). Another value is a usage error.")
        item(
            ".It Ev XDG_STATE_HOME",
            """
            The directory of the queue directory `drainq` if neither --queue nor DRAINQ_QUEUE is given; \
            `~/.local/state` unless it is set.
            """)
        item(
            ".It Ev JOURNAL_STREAM",
            "The device and inode of a stream to the journal, as systemd sets it; so that each line begins with its priority."
        )
        item(
            ".It Ev COLUMNS",
            """
            The width of the terminal, instead of the width that it reports. Only output to a terminal is cut to a \
            width.
            """
        )
        item(
            ".It Ev NO_COLOR",
            """
            If it is set and not empty, output has no colour. Without a terminal, or with TERM `dumb`, there is no \
            colour.
            """)
        lines += [".El", ".Sh FILES", ".Bl -tag -width Ds"]
        item(".It Pa ~/.local/state/drainq", "The queue directory, unless another is named.")
        item(".It Pa drainq.json", "The configuration, in the queue directory.")
        lines.append(".El")
    }

    mutating func exitStatuses() {
        lines.append(".Sh EXIT STATUS")
        prose("The first status of this list that applies:")
        lines.append(".Bl -tag -width 123")
        for status in ExitStatus.allCases {
            item(".It \(status.rawValue)", status.meaning.capitalizedSentence)
        }
        lines.append(".El")
    }

    /// Adds a block for each command. Each line stands below its explanation and can be pasted into a shell.
    mutating func examples() {
        lines.append(".Sh EXAMPLES")
        for command in CommandDescription.visible where !command.examples.isEmpty {
            lines.append(".Bd -literal")
            for example in command.examples {
                lines += ["# " + escaped(example.explanation), escaped(example.line)]
            }
            lines.append(".Ed")
        }
    }

    mutating func tail() {
        lines += [
            ".Sh SEE ALSO", ".Xr drainq-config 5 ,", ".Xr drainq-json 5 ,", ".Xr drainq-queue 5 ,",
            ".Xr drainq-setup 7 ,", ".Xr drainq-sizing 7",
        ]
    }

    // MARK: - Parts

    private mutating func list(_ rows: [OptionDescription]) {
        lines += [".Bl -tag -width Ds"]
        for row in rows {
            let value = row.kind.placeholder.map { " Ar " + $0.split(separator: "|").joined(separator: " | ") } ?? ""
            let short = row.short.map { "Fl \($0) , " } ?? ""
            var details = row.details
            if row.group == .global, let reach = row.reach {
                let names = reach.commands.map { "`\($0.rawValue)`" }.joined(separator: ", ")
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

    /// Adds paragraphs. Each sentence begins a line, as mdoc expects, and each macro has a line of its own.
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
        lines += wrap(sentence, width: 78)
        sentence = []
    }

    private mutating func macro(_ call: String, before: String, after: String) {
        let opening = before.isEmpty ? "" : before.map { "\($0) " }.joined()
        let name = call.prefix { $0 != " " }
        lines.append(".\(name) \(opening)\(call.dropFirst(name.count + 1))" + after.map { " \($0)" }.joined())
    }
}

/// Escapes text of a line that is no macro, so that every output shows the same characters and copies them unchanged.
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

/// Returns the text as one argument of a macro.
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
