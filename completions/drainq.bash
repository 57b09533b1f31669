# drainq 0.1.0: made by 'drainq completions', do not edit
_drainq() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= options= words= i
    COMPREPLY=()
    # --name=value comes as three words
    if [[ $current == '=' ]]; then
        current=
    elif [[ $previous == '=' && COMP_CWORD -gt 1 ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            init|add|send|run|list|show|status|retry|drop|hold|release|pause|resume|export|import|check|explain|demo|receive|completions|manual|version|help)
                command=${COMP_WORDS[i]}
                break
                ;;
        esac
    done
    case $command:$previous in
        init:--url|add:--type|add:-t|send:--type|send:-t|add:--key|send:--key|add:--url|send:--url|add:--method|send:--method|add:--header|add:-H|send:--header|send:-H|add:--content-type|send:--content-type|add:--delay|add:--at|add:--expires|send:--expires|add:--id|send:--id|send:--timeout|send:--retry-within|send:--fallback|run:--limit|run:--concurrency|run:--max-time|run:--grace|run:--wait|run:--type|run:-t|run:--destination|run:--rate|retry:--rate|hold:--reason|status:--interval|explain:--type|explain:-t|pause:--destination|resume:--destination|list:--limit|retry:--limit|drop:--limit|hold:--limit|release:--limit|list:--destination|export:--destination|retry:--destination|drop:--destination|hold:--destination|release:--destination|list:--type|list:-t|export:--type|export:-t|retry:--type|retry:-t|drop:--type|drop:-t|hold:--type|hold:-t|release:--type|release:-t|list:--key|export:--key|retry:--key|drop:--key|hold:--key|release:--key|list:--since|export:--since|retry:--since|drop:--since|hold:--since|release:--since|list:--before|export:--before|retry:--before|drop:--before|hold:--before|release:--before|receive:--port|receive:--answer|receive:--count|receive:--max-time)
            return
            ;;
        add:--sync|import:--sync)
            mapfile -t COMPREPLY < <(compgen -W 'full none' -- "$current")
            return
            ;;
        add:--body-file|send:--body-file|receive:--url-file|*:--config)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        run:--progress)
            mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$current")
            return
            ;;
        run:--log)
            mapfile -t COMPREPLY < <(compgen -W 'auto text json journal' -- "$current")
            return
            ;;
        list:--state|export:--state|retry:--state|drop:--state|hold:--state|release:--state)
            mapfile -t COMPREPLY < <(compgen -W 'new deferred claimed held failed quarantined delivered' -- "$current")
            return
            ;;
        list:--status|export:--status|retry:--status|drop:--status|hold:--status|release:--status)
            mapfile -t COMPREPLY < <(compgen -W 'dns refused unreachable connect-timeout timeout deadline reset empty-answer truncated malformed-answer tls proxy bad-url offline body-file agent-died other CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED' -- "$current")
            return
            ;;
        *:--queue|*:-q)
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
            return
            ;;
    esac
    case $command in
        '')
            words='init add send run list show status retry drop hold release pause resume export import check explain demo receive completions manual version help'
            options='-q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        init)
            options='--url -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        add)
            options='-t --type --key --url --method -H --header --content-type --delay --at --expires --id --envelope --atomic --sync --body-file -q --queue --config --json -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
            ;;
        send)
            options='-t --type --key --url --method -H --header --content-type --expires --id --envelope --body-file --no-queue --timeout --retry-within --fallback -q --queue --config --json -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
            ;;
        run)
            options='--limit --concurrency --max-time --grace --wait --until-empty --now -t --type --destination --rate --fail-if-busy --progress --log -n --dry-run -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        list)
            options='--limit --state --destination -t --type --key --status --since --before -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        show)
            options='-q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        status)
            options='--prometheus --watch --interval -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        retry)
            options='--rate -n --dry-run --all --limit --state --destination -t --type --key --status --since --before -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        drop)
            options='-n --dry-run --all --limit --state --destination -t --type --key --status --since --before -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        hold)
            options='-n --dry-run --all --reason --limit --state --destination -t --type --key --status --since --before -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        release)
            options='-n --dry-run --all --limit --state --destination -t --type --key --status --since --before -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        pause)
            options='--destination -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        resume)
            options='--destination -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        export)
            options='--all --state --destination -t --type --key --status --since --before -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        import)
            options='--atomic --sync -q --queue --config --json -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
            ;;
        check)
            options='--repair -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        explain)
            options='-t --type -q --queue --config --json -v --verbose --quiet -h --help --version'
            words='dns refused unreachable connect-timeout timeout deadline reset empty-answer truncated malformed-answer tls proxy bad-url offline body-file agent-died other CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'
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
            ;;
        version)
            options='-h --help --version'
            ;;
        help)
            options='-h --help --version'
            words='init add send run list show status retry drop hold release pause resume export import explain check demo receive completions manual version help'
            ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    elif [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    fi
}
complete -o filenames -F _drainq drainq
