/// A function that finds the command among the words and offers what belongs to it; bash 4 and no helper functions.
func bashCompletions() -> String {
    let commands = CommandDescription.visible
    var lines = [
        completionsOrigin,
        "_drainq() {",
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= options= words= i",
        "    COMPREPLY=()",
        "    # --name=value comes as three words",
        "    if [[ $current == '=' ]]; then",
        "        current=",
        "    elif [[ $previous == '=' && COMP_CWORD -gt 1 ]]; then",
        "        previous=${COMP_WORDS[COMP_CWORD - 2]}",
        "    fi",
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        "        case ${COMP_WORDS[i]} in",
        "            \(commands.map(\.name.rawValue).joined(separator: "|")))",
        "                command=${COMP_WORDS[i]}",
        "                break",
        "                ;;",
        "        esac",
        "    done",
        "    case $command:$previous in",
    ]
    for (candidates, patterns) in valuePatterns() {
        lines.append("        \(patterns.joined(separator: "|")))")
        lines += reply(candidates, indent: "            ")
        lines += ["            return", "            ;;"]
    }
    lines += ["    esac", "    case $command in", "        '')"]
    lines.append("            words='\(commands.map(\.name.rawValue).joined(separator: " "))'")
    lines.append("            options='\(optionWords(OptionDescription.table.filter { $0.group == .global }))'")
    lines.append("            ;;")
    for command in commands {
        lines.append("        \(command.name.rawValue))")
        lines.append("            options='\(optionWords(OptionDescription.of(command.name)))'")
        switch command.operands.candidates {
        case .words(let words): lines.append("            words='\(words.joined(separator: " "))'")
        case .files:
            lines.append("            [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- \"$current\")")
        case .none, .unknown, .directories: break
        }
        lines.append("            ;;")
    }
    lines += [
        "    esac",
        "    if [[ $current == -* ]]; then",
        "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")",
        "    elif [[ -n $words ]]; then",
        "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")",
        "    fi",
        "}",
        "complete -o filenames -F _drainq drainq",
    ]
    return lines.joined(separator: "\n") + "\n"
}

/// The values of options: the same candidates in one arm, `command:option` as the pattern.
private func valuePatterns() -> [(candidates: Candidates, patterns: [String])] {
    var arms: [(candidates: Candidates, patterns: [String])] = []
    for row in OptionDescription.table where row.kind != .flag {
        let commands = row.group == .global ? ["*"] : row.commands.map(\.rawValue)
        let spellings = [row.name.spelling] + (row.short.map { ["-\($0)"] } ?? [])
        let patterns = commands.flatMap { command in spellings.map { "\(command):\($0)" } }
        if let index = arms.firstIndex(where: { $0.candidates == row.kind.candidates }) {
            arms[index].patterns += patterns
        } else {
            arms.append((row.kind.candidates, patterns))
        }
    }
    return arms
}

private func reply(_ candidates: Candidates, indent: String) -> [String] {
    switch candidates {
    case .none, .unknown: []
    case .files: ["\(indent)mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"]
    case .directories: ["\(indent)mapfile -t COMPREPLY < <(compgen -d -- \"$current\")"]
    case .words(let words):
        ["\(indent)mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$current\")"]
    }
}

private func optionWords(_ rows: [OptionDescription]) -> String {
    rows.flatMap { row in (row.short.map { ["-\($0)"] } ?? []) + [row.name.spelling] }.joined(separator: " ")
}
