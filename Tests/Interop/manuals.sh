#!/usr/bin/env bash
# Every example of the four manuals, taken from the pages as they are committed and run: a new one is run without a change
# here, and one that cannot be run is a failure. Prints `ok …` and `not ok …`, a line for each test.
source "$(dirname "${BASH_SOURCE[0]}")/documents.bash"

receiver '200 type=application/json ETag:"1" body={"id":7,"access_token":"token","token_type":"bearer","expires_in":3600,"result":{"success":true,"id":1},"items":[{"status":200},{"status":200}]}'

# --- drainq(1)

# entry ID STATE TYPE CREATED [PAYLOAD]: a line that `drainq import` takes.
entry() {
    jq -nc --arg id "$1" --arg state "$2" --arg type "$3" --arg created "$4" --argjson payload "${5:-{\}}" '
        { schema: 1, id: $id, state: $state, attempts: 1, header: { drainq: 1, id: $id, type: $type, createdAt: $created },
          payload: $payload } + if $state == "deferred" then { due: $created } else {} end
        + if $state == "new" then { attempts: 0 } else {} end'
}

# prepared: a world in which every example makes sense.
prepared() {
    local now then
    now=$(date -u +%FT%TZ) then=$(date -u --date '60 days ago' +%FT%TZ)
    rm -rf "$world"
    mkdir -p "$world"/home "$world"/var/{spool,lib/scans} "$world"/usr/local
    cd "$world"
    export HOME=$world/home DRAINQ_QUEUE=$world/home/.local/state/drainq
    {
        entry 6f9619ff-8b86-4011-b42d-00cf4fc964ff new note "$now"
        entry waits deferred crm "$now"
        entry failed-now failed crm "$now" '{"version":1}'
        entry failed-then failed note "$then" '{"version":1}'
    } >backup.ndjson
    local queue
    for queue in "$DRAINQ_QUEUE" "$world"/var/spool/{drainq,old,new,other}; do
        drainq init -q "$queue" --url "$url/{type}"
        printf '{ routes: { default: { url: "%s/in" } }, bodyFiles: ["%s"] }\n' "$url" "$world/var" >"$queue/drainq.json"
    done
    for queue in "$DRAINQ_QUEUE" "$world/var/spool/old"; do drainq import -q "$queue" backup.ndjson; done
    echo '{"n":1}' | tee update.json >order.json
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
    [$'printf \'{"query":"tea"}\\n\' | drainq send --type search --no-queue --timeout 2s --select /result --fallback \'[]\'']='grep -q success output && ! grep -q result output'
    ['drainq run']='(($(ids --state new) == 0))'
    ['drainq run 6f9619ff-8b86-4011-b42d-00cf4fc964ff']='(($(ids --state new) == 0 && $(ids --state deferred) == 1))'
    ['drainq run --until-empty --max-time 1h']='(($(ids --state new) == 0))'
    ['drainq run --now --until-empty --rate 5/s']='(($(ids --state new --state deferred) == 0))'
    ['drainq run --dry-run --json']='(($(wc -l <output) == 2 && $(ids --state new) == 1))'
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
    [$'drainq export --state failed | jq -c \'.payload.version = 2\' | drainq import --replace | drainq retry -']='(($(ids --state failed) == 0)) && drainq export | grep -c "\"version\":2" | grep -qx 2'
    ['drainq import -q /var/spool/new backup.ndjson']='(($(ids -q var/spool/new) == 4))'
    ['drainq export --type crm --to moved.ndjson --then-drop']='(($(ids) == 2 && $(wc -l <moved.ndjson) == 2))'
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
    # Somebody else's runs deliver meanwhile.
    *'drainq wait '* | *' --wait '*) typed "(for _ in {1..100}; do drainq run >/dev/null; sleep 0.1; done) & $local_line; waited=\$?; kill \$!; exit \$waited" ;;
    # To be ended by the person who looks.
    *--follow*) typed "timeout --signal INT 3 $local_line || ((\$? == 124))" ;;
    *--watch*) typed "timeout --signal INT 3 ${local_line/--interval 5s/--interval 1s} || ((\$? == 124))" ;;
    *) typed "$local_line" ;;
    esac
    cat "$work/errors" "$work/output"
    equal 0 "$status"
    ! grep -qi 'error' "$work/errors"
    [[ -z ${claims[$line]-} ]] || (cd "$world" && cp "$work/output" output && bash -c "$(localized <<<"${claims[$line]}")")
}

# receives LINE: a receiver that is sent requests until it ends, or is ended. It is told to say where it is.
receives() {
    local process
    rm -f "$work/where"
    (cd "$world" && exec bash -c "exec $1 --url-file '$work/where'") >"$work/output" 2>"$work/errors" &
    process=$!
    until [[ -s $work/where ]]; do kill -0 "$process" || return; sleep 0.05; done
    for _ in 1 2 3; do curl -s -o /dev/null -d '{"n":1}' "$(<"$work/where")" || break; done
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

# --- drainq-config(5)

# configured CONFIGURATION: a whole one is in order, and a run by it delivers an operation of each of its types.
configured() {
    local types
    rm -rf "$world"
    mkdir -p "$world"/{etc/drainq,usr/local/bin,run,credentials,var/lib/prometheus/node-exporter}
    echo token | tee "$world"/etc/drainq/{api.token,aws.id,aws.key} >/dev/null
    echo token >"$world/credentials/report.token"
    echo open >"$world/credentials/client.passphrase"
    chmod 600 "$world"/etc/drainq/* "$world"/credentials/*
    printf '#!/bin/sh\necho token\n' | tee "$world"/usr/local/bin/{chat-token,proxy-token,notify} >/dev/null
    # A program without a path, which check looks for in PATH.
    printf '#!/bin/sh\ncat >/dev/null\n' >"$work/bin/mail"
    chmod +x "$world"/usr/local/bin/* "$work/bin/mail"
    export CREDENTIALS_DIRECTORY=$world/credentials CLIENT_SECRET=token TENANT=tenant DRAINQ_QUEUE=$world/queue
    drainq init
    localized <<<"$1" >"$DRAINQ_QUEUE/drainq.json"
    cp "$work"/client.{pem,key} "$DRAINQ_QUEUE"
    cp "$work/client.pem" "$DRAINQ_QUEUE/erp-ca.pem"
    ln -s "$work/collector.sock" "$world/run/collector.sock"
    ends 0 drainq check
    types=$(sed -nE 's/^    ([A-Za-z]+): \{.*/\1/p' <<<"$1" | sort -u)
    [[ $1 != *"routes: { default"* ]] || types=default
    # What only says what the others have in common is no type.
    [[ $1 =~ default:\ \{[^}]*url: ]] || types=$(grep -vx default <<<"$types")
    [[ $types ]]
    for type in $types; do
        echo '{"user":{"id":"7"},"content":"x","conversation":"c","localId":"7"}' | drainq add --type "$type" --key k
        echo '{"user":{"id":"8"},"content":"y","conversation":"d","localId":"8"}' | drainq add --type "$type" --key l
    done
    ends 0 drainq run --until-empty --max-time 50s -v
    equal '' "$(drainq list)"
}

# shared DISPLAY: after these commands somebody without rights of his own can submit, and the queue is in order.
shared() {
    queue "$url/in"
    chmod 711 "$work" "${DRAINQ_QUEUE%/q}"
    QUEUE=$DRAINQ_QUEUE sh -eu -c "${1/ submit / nogroup }"
    setpriv --reuid=nobody --regid=nogroup --clear-groups \
        sh -eu -c 'umask 027; echo "{\"n\":1}" >"$1/tmp/n"; mv "$1/tmp/n" "$1/new/n"' - "$DRAINQ_QUEUE"
    drainq check
    ends 0 drainq run -v
    equal '' "$(drainq list)"
}

# checksum DISPLAY: whether its checksum is that of the file, whose header line is broken into two.
checksum() {
    python3 - "$1" <<'PYTHON'
import re, sys

first, second, body = sys.argv[1].split("\n")[:3]
file = (first + second + "\n" + body).encode()
shown = re.search(rb'"crc32c":"([0-9a-f]{8})"}\n', file)
crc = 0xFFFFFFFF
for byte in file[: shown.start(1)] + file[shown.end(1) :]:
    crc ^= byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
assert f"{crc ^ 0xFFFFFFFF:08x}".encode() == shown[1], f"{crc ^ 0xFFFFFFFF:08x}"
PYTHON
}

# kind DISPLAY: what a display of the two manuals about files is.
kind() {
    case $1 in
    $'{\n'*) echo configuration ;;
    'file=$(mktemp'*) echo shell ;;
    'import json, os'*) echo python ;;
    'file, err := os'*) echo go ;;
    'chmod '*'"$QUEUE'* | 'chgrp '*'"$QUEUE'*) echo sharing ;;
    '{"drainq":1,'*'"crc32c":'*) echo checksum ;;
    # shown, not to be typed: protocol, grammar and vectors
    '{"bodyLength"'* | webhook-timestamp* | name\ * | valid\ *) echo shown ;;
    *) echo unknown ;;
    esac
}

openssl req -x509 -newkey rsa:2048 -days 2 -subj /CN=client -passout pass:open -keyout "$work/client.key" \
    -out "$work/client.pem" 2>/dev/null
# A collector on a socket: the receiver, behind a relay.
python3 - "$work/collector.sock" "$address" <<'PYTHON' &
import asyncio, sys

async def carry(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()

async def relay(reader, writer):
    there = await asyncio.open_connection(*sys.argv[2].split(":"))
    await asyncio.gather(carry(reader, there[1]), carry(there[0], writer))

async def main():
    await (await asyncio.start_unix_server(relay, sys.argv[1])).serve_forever()

asyncio.run(main())
PYTHON
snippets=()
for page in drainq-config.5 drainq-queue.5; do
    number=0
    while IFS= read -r -d $'\f' display; do
        number=$((number + 1))
        case $(kind "$display") in
        configuration)
            title=$(grep -m 1 -oE '[a-zA-Z]+: .*' <<<"$(sed 1,2d <<<"$display")")
            test_that "$page: configuration $number works (${title:0:40})" configured "$display"
            ;;
        checksum) test_that "$page: another language computes the checksum that is shown" checksum "$display" ;;
        sharing) test_that "$page: what a stranger drops is delivered (${display%%$'\n'*})" shared "$display" ;;
        shown) ;;
        unknown) test_that "$page: display $number is run by this suite" false ;;
        *)
            snippets+=("$(kind "$display")")
            printf %s "$display" >"$work/snippet.${snippets[-1]}"
            ;;
        esac
    done < <(displays "$page")
done

# --- drainq-queue(5)

# in_LANGUAGE: runs the snippet of that language, with the payload {"n":1}, on the queue.
in_shell() { QUEUE=$DRAINQ_QUEUE payload='{"n":1}' "${1:-sh}" -eu "$work/snippet.shell"; }
in_python() { python3 -c "queue, payload = '$DRAINQ_QUEUE', {'n': 1}"$'\n'"$(<"$work/snippet.python")"; }
in_go() {
    local main=$work/enqueue.go
    {
        printf 'package main\nimport ("os"; "path/filepath")\nfunc enqueue(queue string, payload []byte) error {\n'
        cat "$work/snippet.go"
        printf 'return err\n}\nfunc main() { if enqueue(os.Args[1], []byte(os.Args[2])) != nil { os.Exit(1) } }\n'
    } >"$main"
    [[ -x $work/enqueue ]] || gccgo -o "$work/enqueue" "$main"
    "$work/enqueue" "$DRAINQ_QUEUE" '{"n":1}'
}

# enqueues COMMAND…: what the command puts into the queue is delivered; where it cannot, it says so by its status.
enqueues() {
    local before
    queue "$url/in"
    caught_up "$url" "$work/received"
    before=$(grep -c POST "$work/received")
    "$@"
    equal 0 "$(find "$DRAINQ_QUEUE/tmp" -type f | wc -l)"
    ends 0 drainq run
    caught_up "$url" "$work/received"
    equal $((before + 1)) "$(grep -c POST "$work/received")"
    rm -r "$DRAINQ_QUEUE/new"
    ! "$@"
}

# syncs COMMAND…: the file is synced, then renamed, then the directory is synced.
syncs() {
    queue "$url/in"
    strace -f -qq -e trace=fsync,rename,renameat,renameat2 -o "$work/calls" "${BASH:-bash}" -c "$(declare -f "$1"); work=$work; $*"
    equal fsync,rename,fsync "$(grep ' = 0$' "$work/calls" | grep -oE '\b(fsync|rename)' | paste -sd,)"
}

test_that 'drainq-queue(5): there are a shell, a Python and a Go snippet' equal 'shell python go' "${snippets[*]}"
test_that 'drainq-queue(5): a snippet has at most five lines' \
    bash -c 'for file; do (($(grep -vc "^import" "$file") <= 5)) || exit 1; done' - "$work"/snippet.*
for language in shell python go; do
    test_that "drainq-queue(5): what $language enqueues is delivered" enqueues "in_$language"
    test_that "drainq-queue(5): $language syncs the file, renames it, and syncs the directory" syncs "in_$language"
done
test_that 'drainq-queue(5): what dash enqueues is delivered' enqueues in_shell dash

# --- drainq-sizing(7)

claims['drainq status --json | jq -r .oldest']='[[ $(<output) == 20*Z ]]'
claims['for queue in /var/spool/drainq/*/; do drainq run -q "$queue"; done']='(($(ids -q var/spool/drainq/old --state new) == 0))'
# There the queues lie side by side.
rm -r "$work/prepared/var/spool/drainq"
mkdir "$work/prepared/var/spool/drainq"
mv "$work"/prepared/var/spool/{old,new,other} "$work/prepared/var/spool/drainq"
while IFS= read -r line; do
    test_that "drainq-sizing(7): $line" goes_well "$line"
done < <(displays drainq-sizing.7 | tr -d '\f')

# recorded: the command that the page names measures, and puts a table into the page.
recorded() {
    cp man/drainq-sizing.7 "$work"
    DRAINQ=$(type -P drainq) Tests/Benchmarks/sizing.py --quick --here "$work" --record "$work/drainq-sizing.7"
    grep -v 'referenced manual not found' <<<"$(mandoc -T lint "$work/drainq-sizing.7")" && return 1
    grep -q 'choosing out of 1,000' "$work/drainq-sizing.7"
    (($(grep -c '^\.It' "$work/drainq-sizing.7") > 10))
}
test_that 'drainq-sizing(7): its figures can be measured again, by the command that it names' recorded
exit "$failed"
