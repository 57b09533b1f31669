# drainq 0.1.0: made by 'drainq completions', do not edit
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
            init|add|send|wait|run|list|show|status|log|retry|drop|hold|release|pause|resume|export|import|check|explain|demo|receive|completions|manual|schema|version|help)
                command=${command:-${line[i]}}
                ;;
        esac
    done
    case $command:$previous in
        init:--url|init:--example|add:--key|send:--key|add:--url|send:--url|add:--method|send:--method|add:--header|add:-H|send:--header|send:-H|add:--content-type|send:--content-type|add:--expires|send:--expires|add:--id|send:--id|add:--delay|add:--at|add:--timeout|send:--timeout|send:--retry-within|send:--fallback|send:--select|wait:--timeout|run:--limit|run:--max-time|run:--grace|run:--wait|run:--rate|list:--limit|status:--interval|retry:--rate|retry:--limit|drop:--limit|hold:--limit|release:--limit|hold:--reason|explain:--key|receive:--port|receive:--answer|receive:--count|receive:--max-time|list:--key|retry:--key|drop:--key|hold:--key|release:--key|export:--key|log:--id|list:--since|retry:--since|drop:--since|hold:--since|release:--since|export:--since|log:--since|list:--before|retry:--before|drop:--before|hold:--before|release:--before|export:--before|log:--until)
            return
            ;;
        add:--type|add:-t|send:--type|send:-t|run:--type|run:-t|explain:--type|explain:-t|list:--type|list:-t|retry:--type|retry:-t|drop:--type|drop:-t|hold:--type|hold:-t|release:--type|release:-t|export:--type|export:-t|log:--type|log:-t)
            _drainq_queue type list --limit 1000
            return
            ;;
        add:--body-file|send:--body-file|export:--to|explain:--answer|receive:--url-file|*:--config)
            compopt -o default
            return
            ;;
        add:--sync|import:--sync)
            _drainq_words 'full none'
            return
            ;;
        run:--concurrency)
            _drainq_words 'auto'
            return
            ;;
        run:--destination|pause:--destination|resume:--destination|list:--destination|retry:--destination|drop:--destination|hold:--destination|release:--destination|export:--destination|log:--destination)
            _drainq_queue destination status
            return
            ;;
        run:--progress)
            _drainq_words 'auto always never'
            return
            ;;
        list:--state|retry:--state|drop:--state|hold:--state|release:--state|export:--state)
            _drainq_words 'new deferred claimed held failed quarantined delivered'
            return
            ;;
        list:--status|retry:--status|drop:--status|hold:--status|release:--status|export:--status)
            _drainq_words 'dns refused unreachable connect-timeout timeout deadline reset empty-answer truncated malformed-answer tls proxy bad-url offline machine shortage body-file agent-died other CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'
            return
            ;;
        *:--queue|*:-q)
            compopt -o dirnames
            return
            ;;
    esac
    case $command in
        '')
            words='init add send wait run list show status log retry drop hold release pause resume export import check explain demo receive completions manual schema version help'
            options='-q --queue --config -v --verbose --quiet --json -h --help --version'
            ;;
        init)
            options='--url --example -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        add)
            options='-t --type --key --url --method -H --header --content-type --body-file --expires --id --envelope --delay --at --wait --timeout --atomic --sync --json -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || compopt -o default
            ;;
        send)
            options='-t --type --key --url --method -H --header --content-type --body-file --expires --id --envelope --no-queue --timeout --retry-within --fallback --select --json -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || compopt -o default
            ;;
        wait)
            options='--timeout --json -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || _drainq_queue id list --limit 100
            ;;
        run)
            options='--limit --concurrency --max-time --grace --wait --until-empty --now -t --type --destination --rate --fail-if-busy --stats --progress -n --dry-run --request --curl --json -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || _drainq_queue id list --limit 100 --state new --state deferred
            ;;
        list)
            options='--limit --state --destination -t --type --key --status --since --before --json -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        show)
            options='--request --curl --json -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || _drainq_queue id list --limit 100
            ;;
        status)
            options='--prometheus --watch --interval --json -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        log)
            options='--since --until --destination -t --type --id -f --follow --json -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        retry)
            options='--rate --as-newest --all --limit -n --dry-run --state --destination -t --type --key --status --since --before --json -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || _drainq_queue id list --limit 100 --state failed --state deferred --state held
            ;;
        drop)
            options='--followers --all --limit -n --dry-run --state --destination -t --type --key --status --since --before --json -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || _drainq_queue id list --limit 100
            ;;
        hold)
            options='--reason --all --limit -n --dry-run --state --destination -t --type --key --status --since --before --json -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || _drainq_queue id list --limit 100 --state new --state deferred
            ;;
        release)
            options='--all --limit -n --dry-run --state --destination -t --type --key --status --since --before --json -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || _drainq_queue id list --limit 100 --state held
            ;;
        pause)
            options='--destination -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        resume)
            options='--destination -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        export)
            options='--all --to --then-drop --state --destination -t --type --key --status --since --before -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || _drainq_queue id list --limit 100
            ;;
        import)
            options='--atomic --replace --sync --json -q --queue --config -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || compopt -o default
            ;;
        check)
            options='--repair --json -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        explain)
            options='-t --type --answer --key --json -q --queue --config -v --verbose --quiet -h --help --version'
            words='dns refused unreachable connect-timeout timeout deadline reset empty-answer truncated malformed-answer tls proxy bad-url offline machine shortage body-file agent-died other CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'
            ;;
        demo)
            options='-v --verbose --quiet -h --help --version'
            ;;
        receive)
            options='--port --answer --count --max-time --bodies --url-file --json -v --verbose --quiet -h --help --version'
            ;;
        completions)
            options='-h --help --version'
            words='bash zsh fish'
            ;;
        manual)
            options='-h --help --version'
            words='drainq drainq-json'
            ;;
        schema)
            options='-h --help --version'
            ;;
        version)
            options='-h --help --version'
            ;;
        help)
            options='-h --help --version'
            words='init add send wait run list show status log retry drop hold release pause resume export import check explain demo receive completions manual schema version help'
            ;;
    esac
    [[ $current == -* ]] && words=$options
    [[ -z $words ]] || _drainq_words "$words"
}
complete -F _drainq drainq
