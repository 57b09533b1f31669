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
