/// One `complete` for each option of each command, and a function that finds the command on the line.
func fishCompletions() -> String {
    let commands = CommandDescription.visible
    let names = commands.map(\.name.rawValue).joined(separator: " ")
    var lines = [
        completionsOrigin,
        "complete -c drainq -e",
        "complete -c drainq -f",
        "set -l commands \(names)",
    ]
    let before = "-n \"not __fish_seen_subcommand_from $commands\""
    lines += commands.map { "complete -c drainq \(before) -a \($0.name.rawValue) -d \(quoted($0.summary))" }
    for row in OptionDescription.table where row.group == .global {
        lines.append("complete -c drainq \(before) \(specification(of: row))")
    }
    for command in commands {
        let condition = "-n \(quoted("__fish_seen_subcommand_from \(command.name.rawValue)"))"
        for row in OptionDescription.of(command.name) {
            lines.append("complete -c drainq \(condition) \(specification(of: row))")
        }
        switch command.operands.candidates {
        case .none, .unknown, .directories: break
        case .files: lines.append("complete -c drainq \(condition) -F")
        case .words(let words):
            lines.append("complete -c drainq \(condition) -a \(quoted(words.joined(separator: " ")))")
        }
    }
    return lines.joined(separator: "\n") + "\n"
}

private func specification(of row: OptionDescription) -> String {
    let short = row.short.map { "-s \($0) " } ?? ""
    let value: String? =
        switch row.kind.candidates {
        case .none: nil
        case .unknown: "-x"
        case .files: "-r -F"
        case .directories: "-x -a '(__fish_complete_directories)'"
        case .words(let words): "-x -a \(quoted(words.joined(separator: " ")))"
        }
    return "\(short)-l \(row.name.rawValue) " + (value.map { $0 + " " } ?? "") + "-d \(quoted(row.summary))"
}

private func quoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
}
