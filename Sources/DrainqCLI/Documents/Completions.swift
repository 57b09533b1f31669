/// A shell that drainq has completions for.
package enum Shell: String, CaseIterable, Sendable {
    case bash
    case zsh
    case fish
}

/// Returns the completions for one shell: a script that asks `drainq complete` for candidates.
func completionScript(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletions
    case .zsh: zshCompletions
    case .fish: fishCompletions
    }
}

/// For bash 4.3, without another package. Bash splits words at `=` and `:`, and replaces only the last part.
private let bashCompletions = #"""
    # drainq: made by 'drainq completions', do not edit
    _drainq() {
        local last=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]/#\~\//$HOME/} line=() answer word kept
        COMPREPLY=()
        for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
            if ((${#line[@]} > 0)) && [[ $word == [=:]* || ${line[-1]} == *[=:] ]]; then
                line[-1]+=$word
            else
                line+=("$word")
            fi
        done
        kept=${line[-1]}
        [[ $last == [=:] ]] || kept=${kept%"$last"}
        mapfile -t answer < <("$program" complete -- "${line[@]//[\\\"\']/}" 2>/dev/null)
        case ${answer[0]-} in
            files) compopt -o default ;;
            directories) compopt -o dirnames ;;
            *)
                for word in "${answer[@]:1}"; do
                    printf -v word %q "${word%%$'\t'*}"
                    COMPREPLY+=("${word#"$kept"}")
                done
                ;;
        esac
    }
    complete -F _drainq drainq

    """#

/// For zsh, in `fpath` or sourced.
private let zshCompletions = #"""
    #compdef drainq
    # drainq: made by 'drainq completions', do not edit
    _drainq() {
        local program=${(Q)words[1]}
        local -a answer offers
        answer=("${(@f)$(${~program} complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
        case $answer[1] in
            (files|directories)
                [[ $PREFIX == -* ]] && compset -P '*='
                if [[ $answer[1] == files ]]; then _files; else _path_files -/; fi
                ;;
            (words)
                offers=("${(@)answer[2,-1]//:/\\:}")
                offers=("${(@)offers/$'\t'/:}")
                if [[ $PREFIX == -*=* ]]; then
                    offers=("${(@)offers#${PREFIX%%=*}=}")
                    compset -P '*='
                fi
                _describe -t values drainq offers
                ;;
        esac
    }
    if [[ $funcstack[1] == _drainq ]]; then
        _drainq "$@"
    else
        compdef _drainq drainq
    fi

    """#

/// For fish 3.
private let fishCompletions = #"""
    # drainq: made by 'drainq completions', do not edit
    # __drainq_ask: sets what `drainq complete` offers; false where it is files, which fish finds itself.
    function __drainq_ask
        set -l tokens (commandline -opc)
        set -l current (commandline -ct | string unescape)
        set -g __drainq_offers (command $tokens[1] complete -- $tokens[2..] "$current" 2>/dev/null)
        set -l kind $__drainq_offers[1]
        set -e __drainq_offers[1]
        if test "$kind" = directories
            set -l kept (string match -r '^-[^=]*=' -- $current)
            set -g __drainq_offers (__fish_complete_directories (string replace -r '^-[^=]*=' '' -- $current) '' |
                string replace -r '^' -- "$kept")
        end
        test "$kind" != files
    end
    complete -c drainq -e
    complete -c drainq -n __drainq_ask -f -a '$__drainq_offers'

    """#
