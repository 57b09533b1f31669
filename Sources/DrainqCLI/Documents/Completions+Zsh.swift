import Policy

/// Returns the script for zsh, for `fpath` or sourcing: `_arguments` with the options, and a state for each command.
func zshCompletions() -> String {
    let commands = CommandDescription.visible
    var lines = [
        "#compdef drainq", completionsOrigin, zshFunctions, "_drainq() {",
        "    local context state state_descr line",
        "    local -a whole=(\"${words[@]}\")",
        "    typeset -A opt_args",
        "    _arguments -C -s -S \\",
    ]
    lines += OptionDescription.table.filter { $0.group == .global }.flatMap(specifications).map { "        \($0) \\" }
    lines += ["        '(-)1:command:->command' '(-)*::operand:->operands'", "    case $state in", "        command)"]
    lines.append("            local -a commands=(")
    lines += commands.map { "                \(shellQuoted("\($0.name.rawValue):\($0.summary)"))" }
    lines += [
        "            )", "            _describe -t commands command commands", "            ;;", "        operands)",
        "            case $line[1] in",
    ]
    for command in commands {
        let specifications = OptionDescription.of(command.name).flatMap(specifications) + operands(of: command)
        lines.append("                \(command.name.rawValue))")
        lines.append("                    _arguments -s -S \\")
        lines.append(specifications.map { "                        \($0)" }.joined(separator: " \\\n"))
        lines.append("                    ;;")
    }
    lines += [
        "            esac", "            ;;", "    esac", "}",
        "if [[ $funcstack[1] == _drainq ]]; then", "    _drainq \"$@\"", "else", "    compdef _drainq drainq", "fi",
    ]
    return lines.joined(separator: "\n") + "\n"
}

/// The helper function. Uses the variable `whole` of `_drainq`: the unchanged words of the line.
private let zshFunctions = #"""
    # _drainq_queue FIELD ARGUMENT...: offers values of a field in the queue; none if there is no queue.
    _drainq_queue() {
        local field=$1 queue= word program=${(Q)whole[1]}
        local -a found
        shift
        for word in "${(@Q)whole[2,-1]}"; do
            case $queue in
                (-q|--queue) queue=$word; break ;;
            esac
            case $word in
                (-q|--queue) queue=$word ;;
                (-q=*|--queue=*) queue=${word#*=}; break ;;
            esac
        done
        [[ $queue == (-q|--queue) ]] && queue=
        found=(${(f)"$(${~program} "$@" ${queue:+--queue} ${queue:+${queue/#\~\//$HOME/}} --json 2>/dev/null |
            grep -o "\"$field\":\"[^\"\\]*\"" | cut -d '"' -f 4 | sort -u)"})
        _wanted ${field}s expl $field compadd -a found
    }
    """#

/// Returns a specification for each spelling. A spelling excludes the others unless the option may be repeated.
private func specifications(of row: OptionDescription) -> [String] {
    let spellings = (row.short.map { ["-\($0)"] } ?? []) + [row.name.spelling]
    let exclusion = row.repeats ? "*" : "(\(spellings.joined(separator: " ")))"
    let summary = bracketed(row.summary)
    let value = row.kind.placeholder.map { ":\(label($0)):\(action(row.kind.candidates))" } ?? ""
    return spellings.map { spelling in
        let attachment = row.kind == .flag ? "" : spelling.hasPrefix("--") ? "=" : "+"
        return shellQuoted("\(exclusion)\(spelling)\(attachment)[\(summary)]\(value)")
    }
}

private func operands(of command: CommandDescription) -> [String] {
    switch command.operands {
    case .none, .anything: []
    case .files: [shellQuoted("*:file:_files")]
    case .directory: [shellQuoted("1:directory:\(action(command.candidates))")]
    case .ids, .optionalIDs, .selection, .optionalSelection: [shellQuoted("*:id:\(action(command.candidates))")]
    case .answer: [shellQuoted("1:answer:\(action(command.candidates))")]
    case .one(_, let placeholder), .optional(_, let placeholder):
        [shellQuoted("1:\(label(placeholder)):\(action(command.candidates))")]
    }
}

private func action(_ candidates: Candidates) -> String {
    switch candidates {
    case .none, .unknown: " "
    case .files: "_files"
    case .directories: "_path_files -/"
    case .words(let words): "(\(words.joined(separator: " ")))"
    case .queue(let candidates): " _drainq_queue \(candidates.words)"
    }
}

private func label(_ placeholder: String) -> String {
    placeholder.contains("|") ? "value" : placeholder.lowercased()
}

private func bracketed(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("[", with: "\\[").replacing("]", with: "\\]").replacing(
        ":", with: "\\:")
}
