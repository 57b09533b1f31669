#!/usr/bin/env bash
# Every example of the three manuals, taken from the pages as they are committed and run: a new one is run without a change
# here, and one that cannot be run is a failure. Prints `ok …` and `not ok …`, a line for each test.
source "$(dirname "${BASH_SOURCE[0]}")/documents.bash"

# displays FILE [SECTION]: the literal displays, each followed by a form feed, as a reader copies them.
displays() {
    awk -v section="${2-}" '
        /^\.Sh / { here = section == "" || $0 == ".Sh " section }
        /^\.Ed/ && shown { printf "\f"; shown = 0 }
        shown
        /^\.Bd -literal/ && here { shown = 1 }' "man/$1" |
        sed -E 's/^\\&//; s/\\\(dq/"/g; s/\\\(aq/'"'"'/g; s/\\\(ga/`/g; s/\\\(ha/^/g; s/\\\(ti/~/g; s/\\-/-/g; s/\\e/\\/g'
}

receiver '200 type=application/json body={"result":{"success":true,"id":1},"items":[{"status":200}]}'

# --- drainq(1)

# entry ID STATE TYPE CREATED [PAYLOAD]: a line that `drainq import` takes.
entry() {
    jq -nc --arg id "$1" --arg state "$2" --arg type "$3" --arg created "$4" --argjson payload "${5:-{\}}" '
        { schema: 1, id: $id, state: $state, attempts: 1, header: { drainq: 1, id: $id, type: $type, createdAt: $created },
          payload: $payload } + if $state == "deferred" then { due: (now + 3600 | todate) } else {} end
        + if $state == "new" then { attempts: 0 } else {} end'
}

# prepared: a world in which every example makes sense.
prepared() {
    local now
    now=$(date -u +%FT%TZ)
    rm -rf "$world"
    mkdir -p "$world"/home "$world"/var/{spool,lib/scans} "$world"/usr/local
    cd "$world"
    export HOME=$world/home DRAINQ_QUEUE=$world/home/.local/state/drainq
    {
        entry 6f9619ff-8b86-4011-b42d-00cf4fc964ff new note "$now"
        entry waits deferred crm "$now"
        entry failed-now failed crm "$now" '{"version":1}'
        entry failed-then failed note 2026-01-01T00:00:00Z '{"version":1}'
    } >backup.ndjson
    local queue
    for queue in "$DRAINQ_QUEUE" "$world"/var/spool/{drainq,old,new,other}; do
        drainq init -q "$queue" --url "$url/{type}"
        printf '{ routes: { default: { url: "%s/in" } }, bodyFiles: ["%s"] }\n' "$url" "$world/var" >"$queue/drainq.json"
    done
    for queue in "$DRAINQ_QUEUE" "$world/var/spool/old"; do drainq import -q "$queue" backup.ndjson; done
    echo '{"n":1}' >update.json
    echo 'n;1' >report.csv
    head -c 100000 /dev/urandom >var/lib/scans/1.tiff
    cp "$root/etc/drainq/examples/memory.json5" .
}
prepared >/dev/null 2>&1
cd "$root"
mv "$world" "$work/prepared"

# What examples claim beyond ending well: after the line, with its output in the file `output`, the test is true.
declare -A claims=(
    ['drainq init --url https://api.example.com/v1/events']='[[ -s $DRAINQ_QUEUE/drainq.json ]]'
    [$'printf \'{"n":1}\\n{"n":2}\\n\' | drainq add --type t']='(($(ids --type t) == 2 && $(wc -l <output) == 2))'
    ['drainq add --type crm --key customer-7 --delay 5m update.json']='(($(ids --key customer-7) == 1))'
    ['drainq add --content-type text/csv --expires 7d report.csv']='drainq export | grep -q text/csv'
    ['drainq add --type scan --body-file /var/lib/scans/1.tiff --content-type image/tiff']='drainq run && (($(ids --type scan) == 0))'
    [$'printf \'{"query":"tea"}\\n\' | drainq send --type search --no-queue --timeout 2s --fallback \'[]\'']='grep -q success output'
    ['drainq run']='(($(ids --state new) == 0))'
    ['drainq run --until-empty --max-time 1h']='(($(ids --state new) == 0))'
    ['drainq run --now --until-empty --rate 5/s']='(($(ids --state new --state deferred) == 0))'
    ['drainq run --dry-run --json']='(($(wc -l <output) == 1 && $(ids --state new) == 1))'
    ['drainq list --state failed']='grep -q failed-now output && ! grep -q waits output'
    ['drainq list --type crm --since 2h --json']='(($(jq -s length output) == 2))'
    ['drainq show 6f9619ff-8b86-4011-b42d-00cf4fc964ff']='grep -q 6f9619ff output'
    ['drainq list --state failed --json | jq -r .id | drainq show -']='grep -q failed-now output && grep -q failed-then output'
    ['drainq status --json']='jq -e "(.states.failed) == 2" output'
    ['drainq status --prometheus']='grep -q ^drainq_operations output'
    ['drainq retry --state failed --type crm']='(($(ids --state failed) == 1))'
    ['drainq retry --all --dry-run']='(($(ids --state failed) == 2))'
    ['drainq retry --all --rate 20/s']='(($(ids --state failed) == 0))'
    ['drainq list --state failed --json | jq -r .id | drainq retry -']='(($(ids --state failed) == 0))'
    ['drainq drop 6f9619ff-8b86-4011-b42d-00cf4fc964ff']='(($(ids) == 3))'
    ['drainq drop --state failed --before 30d --dry-run']='grep -q failed-then output && ! grep -q failed-now output && (($(ids) == 4))'
    ['drainq hold 6f9619ff-8b86-4011-b42d-00cf4fc964ff']='(($(ids --state held) == 1))'
    ['drainq hold --destination https://api.example.com --reason '"'moving to a new server'"]='drainq status | grep -q moving'
    ['drainq pause']='drainq run && (($(ids --state new) == 1))'
    ['drainq pause --destination https://api.example.com']='drainq run && (($(ids --state new) == 1))'
    ['drainq export > backup.ndjson']='(($(jq -s length backup.ndjson) == 4))'
    [$'drainq export --state failed | jq -c \'.payload.version = 2\' | drainq import -q /var/spool/other']='(($(ids -q var/spool/other) == 2)) && drainq export -q var/spool/other | grep -q "\"version\":2"'
    ['drainq export --type crm | tee moved.ndjson | drainq drop -']='(($(ids) == 2 && $(wc -l <moved.ndjson) == 2))'
    ['drainq export -q /var/spool/old | drainq import -q /var/spool/new']='(($(ids -q var/spool/new) == 4))'
    ['drainq explain 401']='grep -q held output'
    ['drainq explain timeout --type crm']='grep -q deferred output'
    ['drainq completions bash | install -D /dev/stdin ~/.local/share/bash-completion/completions/drainq']='bash -n ~/.local/share/bash-completion/completions/drainq'
)
ids() { drainq list --json "$@" | grep -c '"id"'; }
export -f ids

# goes_well LINE: ends with 0, says nothing of errors, prints something unless it only acts, and keeps what it claims.
goes_well() {
    local line=$1 local_line
    rm -rf "$world"
    cp -a "$work/prepared" "$world"
    local_line=$(localized <<<"$line")
    case $line in
    'drainq init '*) rm -rf "$DRAINQ_QUEUE" "$world/var/spool"; typed "$local_line" ;;
    'drainq receive '*) receives "$local_line" ;;
    # To be ended by the person who looks.
    *--watch*) typed "timeout --signal INT 3 ${local_line/--interval 5s/--interval 1s} || ((\$? == 124))" ;;
    *) typed "$local_line" ;;
    esac
    cat "$work/errors" "$work/output"
    equal 0 "$status"
    ! grep -qi 'error' "$work/errors"
    [[ -z ${claims[$line]-} ]] || (cd "$world" && cp "$work/output" output && bash -c "$(localized <<<"${claims[$line]}")")
}

# receives LINE: a receiver that is sent requests until it ends, or is ended.
receives() {
    local where= process
    (cd "$world" && exec bash -c "exec $1") >"$work/output" 2>"$work/errors" &
    process=$!
    until where=$(grep -ohE 'http://127.0.0.1:[0-9]+' "$work/output" "$work/errors" | head -n 1) && [[ -n $where ]]; do
        kill -0 "$process" || return
        sleep 0.05
    done
    for _ in 1 2 3; do curl -s -o /dev/null -d '{"n":1}' "$where" || break; done
    kill -INT "$process" 2>/dev/null || true
    status=0
    wait "$process" || status=$?
}

known=()
while IFS= read -r line; do
    [[ $line && $line != '# '* ]] || continue
    test_that "drainq(1): $line" goes_well "$line"
    known+=("$line")
done < <(displays drainq.1 EXAMPLES | tr -d '\f')
test_that 'drainq(1): there are examples' test "${#known[@]}" -gt 50
test_that 'drainq(1): nothing is claimed of an example that is not there' equal '' \
    "$(printf '%s\n' "${!claims[@]}" | grep -vxF -f <(printf '%s\n' "${known[@]}"))"
exit "$failed"
