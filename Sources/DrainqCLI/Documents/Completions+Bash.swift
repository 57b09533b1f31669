/// Returns the script for bash (4.3, no other package): a function finds the command and offers candidates.
func bashCompletions() -> String {
    let commands = CommandDescription.visible
    var lines = [
        completionsOrigin, bashOpening, "            \(commands.map(\.name.rawValue).joined(separator: "|")))",
    ]
    lines += [bashReading, "    case $command:$previous in"]
    for (candidates, patterns) in valuePatterns() {
        lines.append("        \(patterns.joined(separator: "|")))")
        lines += offer(candidates).map { "            \($0)" }
        lines += ["            return", "            ;;"]
    }
    lines += ["    esac", "    case $command in", "        '')"]
    lines.append("            words='\(commands.map(\.name.rawValue).joined(separator: " "))'")
    lines.append("            options='\(optionWords(OptionDescription.table.filter { $0.group == .global }))'")
    lines.append("            ;;")
    for command in commands {
        lines.append("        \(command.name.rawValue))")
        lines.append("            options='\(optionWords(OptionDescription.of(command.name)))'")
        switch command.candidates {
        case .words(let words): lines.append("            words='\(words.joined(separator: " "))'")
        case .files, .queue:
            lines += offer(command.candidates).map { "            [[ $current == -* ]] || \($0)" }
        case .none, .unknown, .directories: break
        }
        lines.append("            ;;")
    }
    lines += [
        "    esac", "    [[ $current == -* ]] && words=$options", "    [[ -z $words ]] || _drainq_words \"$words\"",
    ]
    lines += ["}", "complete -F _drainq drainq"]
    return lines.joined(separator: "\n") + "\n"
}

/// The helper functions. All of them use the variables of `_drainq`.
private let bashOpening = #"""
    # _drainq_words 'WORD WORD...': offers the words that begin with the current one.
    _drainq_words() {
        mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
        COMPREPLY=("${COMPREPLY[@]/#/$attached}")
    }
    # _drainq_queue FIELD ARGUMENT...: offers values of a field in the queue; none if there is no queue.
    _drainq_queue() {
        local field=$1 word
        shift
        queue=${queue//[\\\"\']/}
        while IFS= read -r word; do
            [[ $word == "$current"* ]] || continue
            printf -v word %q "$word"
            # bash replaces only the text after the last colon
            COMPREPLY+=("$attached${word#"${current%"$last"}"}")
        done < <("$program" "$@" ${queue:+--queue "${queue/#\~\//$HOME/}"} --json 2>/dev/null |
            grep -o "\"$field\":\"[^\"\\]*\"" | cut -d '"' -f 4 | sort -u)
    }
    _drainq() {
        local last=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]/#\~\//$HOME/}
        local line=() word current previous attached= command= queue= options= words= i
        COMPREPLY=()
        # bash splits words at = and :
        for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
            if ((${#line[@]} > 1)) && [[ $word == [=:]* || ${line[-1]} == *[=:] ]]; then
                line[-1]+=$word
            else
                line+=("$word")
            fi
        done
        current=${line[-1]} previous=${line[-2]}
        if [[ $current == -*=* ]]; then
            # unless COMP_WORDBREAKS differs
            [[ $last == -*=* ]] && attached=${last%%=*}=
            previous=${current%%=*} current=${current#*=}
        fi
        [[ $last == [=:] || -n $attached ]] && last=${current##*:}
        for ((i = 1; i < ${#line[@]} - 1; i++)); do
            case ${line[i]} in
                -q|--queue)
                    queue=${line[++i]}
                    ;;
                -q=*|--queue=*)
                    queue=${line[i]#*=}
                    ;;
                --config)
                    ((i++))
                    ;;
    """#

private let bashReading = #"""
                    command=${command:-${line[i]}}
                    ;;
            esac
        done
    """#

/// Returns the candidates for values of options, each with the patterns `command:option` that offer them.
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

/// Returns the lines that offer the candidates. bash itself completes file names: it handles quotes, tildes and blanks.
private func offer(_ candidates: Candidates) -> [String] {
    switch candidates {
    case .none, .unknown: []
    case .files: ["compopt -o default"]
    case .directories: ["compopt -o dirnames"]
    case .words(let words): ["_drainq_words '\(words.joined(separator: " "))'"]
    case .queue(let candidates): ["_drainq_queue \(candidates.words)"]
    }
}

private func optionWords(_ rows: [OptionDescription]) -> String {
    rows.flatMap { row in (row.short.map { ["-\($0)"] } ?? []) + [row.name.spelling] }.joined(separator: " ")
}
