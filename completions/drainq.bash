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
            init|add|run|list|show|status|retry|drop|check|demo|receive|completions|manual|version|help)
                command=${COMP_WORDS[i]}
                break
                ;;
        esac
    done
    case $command:$previous in
        init:--url|add:--type|add:-t|add:--key|add:--url|add:--method|add:--header|add:-H|add:--content-type|add:--delay|add:--at|add:--expires|add:--id|run:--limit|run:--concurrency|run:--max-time|run:--grace|run:--wait|run:--type|run:-t|list:--limit|list:--type|list:-t|retry:--type|retry:-t|drop:--type|drop:-t|list:--key|retry:--key|drop:--key|list:--since|retry:--since|drop:--since|list:--before|retry:--before|drop:--before|receive:--port|receive:--answer|receive:--count|receive:--max-time)
            return
            ;;
        add:--sync)
            mapfile -t COMPREPLY < <(compgen -W 'full none' -- "$current")
            return
            ;;
        list:--state|retry:--state|drop:--state)
            mapfile -t COMPREPLY < <(compgen -W 'new deferred claimed failed quarantined delivered' -- "$current")
            return
            ;;
        receive:--url-file|*:--config)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        *:--queue|*:-q)
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
            return
            ;;
    esac
    case $command in
        '')
            words='init add run list show status retry drop check demo receive completions manual version help'
            options='-q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        init)
            options='--url -q --queue --config -v --verbose --quiet -h --help --version'
            ;;
        add)
            options='-t --type --key --url --method -H --header --content-type --delay --at --expires --id --envelope --atomic --sync -q --queue --config --json -v --verbose --quiet -h --help --version'
            [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
            ;;
        run)
            options='--limit --concurrency --max-time --grace --wait --until-empty --now -t --type -n --dry-run -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        list)
            options='--limit --state -t --type --key --since --before -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        show)
            options='-q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        status)
            options='-q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        retry)
            options='-n --dry-run --all --state -t --type --key --since --before -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        drop)
            options='-n --dry-run --all --state -t --type --key --since --before -q --queue --config --json -v --verbose --quiet -h --help --version'
            ;;
        check)
            options='-q --queue --config --json -v --verbose --quiet -h --help --version'
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
            words='init add run list show status retry drop check demo receive completions manual version help'
            ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    elif [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    fi
}
complete -o filenames -F _drainq drainq
