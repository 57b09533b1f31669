private let width = 80
private let column = 30

/// Returns the output of `drainq help`.
func helpOverview() -> String {
    var lines = [
        "drainq: store-and-forward for HTTP, without a daemon and without a database", "",
        "usage: drainq COMMAND [OPTIONS]", "", "commands:",
    ]
    lines += CommandDescription.visible.flatMap { entry($0.name, $0.summary, column: 16) }
    lines += ["", "global options:"]
    for var row in OptionDescription.table where row.group == .global {
        if let reach = row.reach {
            let names = reach.commands.joined(separator: ", ")
            row.summary += "; \(reach.isOnly ? "only" : "not") for \(names)"
        }
        lines += options([row])
    }
    lines += ["", "'drainq help COMMAND' explains a command", "'drainq manual | man -l -' shows the manual"]
    return lines.joined(separator: "\n") + "\n"
}

/// Returns the output of `drainq COMMAND --help`.
func helpText(of command: CommandDescription) -> String {
    var lines = ["drainq \(command.name): \(command.summary)", "", "usage: \(command.usage)", ""]
    lines += wrap(prose: command.details, width: width)
    for group in OptionGroup.allCases {
        let rows = command.options.filter { $0.group == group }
        if !rows.isEmpty { lines += ["", group.title + ":"] + options(rows) }
    }
    if !command.examples.isEmpty {
        lines += ["", "examples:"]
        for example in command.examples {
            lines += ["  " + example.line, "      " + example.explanation]
        }
    }
    return lines.joined(separator: "\n") + "\n"
}

private func options(_ rows: [OptionDescription]) -> [String] {
    rows.flatMap { row in
        let indent = row.short == nil ? "    " : ""
        let initial = row.initial.map { " [default: \($0)]" } ?? ""
        return entry(indent + row.usage, row.summary + initial, column: column)
    }
}

/// Returns the lines of a term and its meaning: beside the term if there is room, else below it.
private func entry(_ term: String, _ meaning: String, column: Int) -> [String] {
    let indent = String(repeating: " ", count: column)
    var lines = meaning.wrapped(to: width - column).map { indent + $0 }
    let head = "  " + term
    if head.count + 2 <= column, let first = lines.first {
        lines[0] = head + first.dropFirst(head.count)
    } else {
        lines.insert(head, at: 0)
    }
    return lines
}

/// Returns a text in lines of at most `width` columns, unless a single word is longer. Text between grave accents stays
/// on one line, in quotation marks if it has a blank.
func wrap(prose: String, width: Int) -> [String] {
    let paragraphs = prose.split(separator: "\n\n").map { paragraph in
        let words = paragraph.replacing("\n", with: " ").replacing(/`([^`]*)`/) { literal in
            literal.1.contains(" ") ? "'\(literal.1.replacing(" ", with: "\u{A0}"))'" : String(literal.1)
        }
        return words.wrapped(to: width)
    }
    return paragraphs.joined(separator: [""]).map { $0.replacing("\u{A0}", with: " ") }
}
