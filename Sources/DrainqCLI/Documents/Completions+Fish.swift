/// Returns the script for fish: one `complete` for each option, under a condition that finds the command on the line.
func fishCompletions() -> String {
    let commands = CommandDescription.visible
    var lines = [completionsOrigin, fishFunctions, "complete -c drainq -e", "complete -c drainq -f"]
    lines += commands.map {
        "complete -c drainq \(condition([])) -a \($0.name.rawValue) -d \(quoted($0.summary))"
    }
    for row in OptionDescription.table {
        let before = row.group == .global ? [""] : []
        lines.append(
            "complete -c drainq \(condition(before + row.commands.map(\.rawValue))) \(specification(of: row))")
    }
    for command in commands {
        let condition = condition([command.name.rawValue])
        switch command.candidates {
        case .none, .unknown, .directories: break
        case .files: lines.append("complete -c drainq \(condition) -F")
        case .words(let words):
            lines.append("complete -c drainq \(condition) -a \(quoted(words.joined(separator: " ")))")
        case .queue(let candidates):
            lines.append("complete -c drainq \(condition) -a '(__drainq_queue \(candidates.words))'")
        }
    }
    return lines.joined(separator: "\n") + "\n"
}

private let fishFunctions = #"""
    # __drainq_is COMMAND...: whether the command on the line is one of these; '' means no command.
    function __drainq_is
        set -l tokens (commandline -opc)
        set -e tokens[1]
        while set -q tokens[1]
            switch $tokens[1]
                case -q --queue --config
                    set -e tokens[1]
                case '-*'
                case '*'
                    break
            end
            set -e tokens[1]
        end
        contains -- "$tokens[1]" $argv
    end
    # __drainq_queue FIELD ARGUMENT...: prints values of a field in the queue; none if there is no queue.
    function __drainq_queue
        set -l tokens (commandline -opc)
        set -l program $tokens[1]
        set -l queue
        while set -q tokens[1]
            switch $tokens[1]
                case -q --queue
                    set queue $tokens[2]
                case '-q=*' '--queue=*'
                    set queue (string split -m 1 = -- $tokens[1])[2]
            end
            set -e tokens[1]
        end
        set -q queue[1]; and set queue --queue (string replace -r '^~/' $HOME/ -- $queue)
        command $program $argv[2..] $queue --json 2>/dev/null |
            string match -arg "\"$argv[1]\":\"([^\"\\\\]*)\"" | sort -u
    end
    """#

private func condition(_ commands: [String]) -> String {
    "-n \(quoted("__drainq_is " + (commands.isEmpty ? [""] : commands).map { $0.isEmpty ? "\"\"" : $0 }.joined(separator: " ")))"
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
        case .queue(let candidates): "-x -a '(__drainq_queue \(candidates.words))'"
        }
    return "\(short)-l \(row.name.rawValue) " + (value.map { $0 + " " } ?? "") + "-d \(quoted(row.summary))"
}

private func quoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
}
