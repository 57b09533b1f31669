#!/usr/bin/env bash
# The completions of completions/ in the shells that they are for: bash and zsh at a terminal (Tests/Interop/typed.py
# types and presses Tab), and fish, which answers by itself. Prints `ok …` or `not ok …`, a line for each test.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
scripts=$PWD/completions typed=$PWD/Tests/Interop/typed.py

# What there is to be found: a queue with an operation that waits and one that has failed, and a directory with names
# that a shell has to quote, or that look like a command.
mkdir "$work/bin" "$work/here" "$work/home"
ln -s "$(realpath "$binary")" "$work/bin/drainq"
export PATH=$work/bin:$PATH HOME=$work/home ZDOTDIR=$work/home XDG_CONFIG_HOME=$work/home XDG_DATA_HOME=$work/home
unset XDG_STATE_HOME
queue https://api.example.com/in
printf '{ routes: { default: { url: "https://api.example.com/in" }, crm: { url: "https://crm.example.net:8443/in" } } }' \
    >"$DRAINQ_QUEUE/drainq.json"
printf '%s\n' '{"schema":1,"id":"first-waits","state":"new","attempts":0,"header":{"drainq":1,"id":"first-waits","type":"note","createdAt":"2026-11-21T09:15:00Z"},"payload":1}' \
    '{"schema":1,"id":"second-failed","state":"failed","attempts":1,"header":{"drainq":1,"id":"second-failed","type":"crm","createdAt":"2026-11-21T09:15:01Z"},"payload":2}' |
    drainq import >/dev/null
mv "$DRAINQ_QUEUE" "$work/here/the queue"
DRAINQ_QUEUE="$work/here/the queue"
cd "$work/here" || exit
mkdir run 'with blank' "it's"
touch -- report.json '$(touch hit).json' 'a;b.json' '-n.json'

# in_SHELL LINE: `LINE=` and what the line is after a Tab, then all that is offered, a word on each line. fish only offers.
in_bash() { "$typed" bash "${setup-}source '$scripts/drainq.bash'" "$1"; }
in_zsh() { "$typed" zsh "fpath=('$scripts' \$fpath); autoload -Uz compinit; compinit -u -d '$work/zcompdump'" "$1"; }
in_fish() { fish --no-config -c "source '$scripts/drainq.fish'; complete -C \$argv[1]" -- "$1" 2>&1 | cut -f 1; }

# offers SHELL LINE WORD…: the words are offered, and those that begin with ! are not; nothing is said besides.
offers() {
    local shell=$1 line=$2 word got
    shift 2
    got=$("in_$shell" "$line")
    for word; do
        if [[ $word == !* ]]; then ! grep -qxF -e "${word#!}"; else grep -qxF -e "$word"; fi <<<"$got" ||
            { printf '%s\nexpected %s, got\n%s\n' "$line" "$word" "$got"; return 1; }
    done
    if grep -iE 'error|warning|drainq:|bash:' <<<"$got"; then return 1; fi
}

# becomes SHELL LINE COMPLETED: the line after a Tab, and for fish the last word of it.
becomes() {
    local shell=$1 line=$2 completed=$3
    if [[ $shell == fish ]]; then
        offers fish "$line" "$4"
    else
        equal "LINE=$completed" "$("in_$shell" "$line" | head -n 1)"
    fi
}

all_ids=(first-waits second-failed)
for shell in bash zsh fish; do
    offer() { test_that "$shell: $1" offers "$shell" "${@:2}"; }
    become() { test_that "$shell: $1" becomes "$shell" "${@:2}"; }

    offer 'the commands' 'drainq re' receive release resume retry '!run'
    become 'a command, where a directory is called like it' 'drainq ru' 'drainq run ' run
    offer 'no command after a command' 'drainq run re' '!retry' '!receive'
    offer 'the options of the command alone' 'drainq run --' --limit --until-empty --queue '!--state' '!--envelope'
    offer 'global options before the command' 'drainq --' --queue --verbose '!--limit'
    offer 'the options of the command after one of its own' 'drainq run --limit 5 --d' --destination --dry-run '!--delay'
    offer 'a command that is the value of an option is none' 'drainq -q run l' list '!--limit'
    offer 'a command that is an operand is none' 'drainq help run --' '!--limit'
    offer 'states' 'drainq list --state ' failed held '!first-waits'
    become 'a state behind =' 'drainq list --state=fa' 'drainq list --state=failed ' --state=failed
    offer 'all values behind =' 'drainq run --progress=' "$([[ $shell == fish ]] && echo --progress=)auto" '!auto auto'
    become 'an option of the log' 'drainq log --fol' 'drainq log --follow ' --follow
    become 'shells' 'drainq completions z' 'drainq completions zsh ' zsh
    become 'errors' 'drainq explain UNAV' 'drainq explain UNAVAILABLE ' UNAVAILABLE
    offer 'statuses' 'drainq explain 4' 422 429 '!503'
    offer 'statuses behind an option' 'drainq list --status 5' 5xx 503 '!404'
    become 'an example' 'drainq init --example sla' 'drainq init --example slack ' slack
    become 'files' 'drainq add rep' 'drainq add report.json ' report.json
    become 'files behind an option' 'drainq send --body-file rep' 'drainq send --body-file report.json ' report.json
    become 'no files for the queue' 'drainq status --queue rep' 'drainq status --queue rep' '!report.json'
    become 'directories for the queue' 'drainq status -q wi' 'drainq status -q with\ blank/' 'with blank/'
    become 'directories behind =' 'drainq status --queue=wi' 'drainq status --queue=with\ blank/' '--queue=with blank/'
    offer 'names that a shell must not believe' 'drainq add ' report.json
    offer 'ids' 'drainq show ' "${all_ids[@]}"
    become 'an id' 'drainq show fi' 'drainq show first-waits ' first-waits
    become 'ids of what can be retried' 'drainq retry ' 'drainq retry second-failed ' second-failed
    become 'types of the queue' 'drainq list --type cr' 'drainq list --type crm ' crm
    become 'destinations' 'drainq hold --destination https://crm' \
        'drainq hold --destination https://crm.example.net:8443 ' https://crm.example.net:8443
    become 'destinations behind =' 'drainq hold --destination=https://crm.example.net:8' \
        'drainq hold --destination=https://crm.example.net:8443 ' --destination=https://crm.example.net:8443
    (
        unset DRAINQ_QUEUE
        become 'ids of the queue on the line' "drainq -q 'the queue' show se" "drainq -q 'the queue' show second-failed " \
            second-failed
        become 'ids of a queue that is named behind =' 'drainq show --queue=the\ queue se' \
            'drainq show --queue=the\ queue second-failed ' second-failed
        offer 'nothing, silently, where there is no queue' 'drainq show ' '!first-waits'
        ! [[ -e $HOME/.local ]] || { echo "not ok $shell: a queue was made by asking for it"; exit 1; }
        exit "$failed"
    ) || failed=1
    test_that "$shell: nothing was run by a name" test ! -e hit
done

setup="COMP_WORDBREAKS=' '; "
test_that 'bash: values where = and : do not break words' becomes bash 'drainq list --state=fa' 'drainq list --state=failed '
test_that 'bash: destinations where = and : do not break words' becomes bash 'drainq hold --destination https://crm' \
    'drainq hold --destination https://crm.example.net:8443 '
exit "$failed"
