# Functions shared by the suites of this folder; each suite sources this file. Needs bash, jq and python3.

set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
binary=${DRAINQ:-$PWD/.build/debug/drainq}
work=$(mktemp -d)
# At the end of the suite, whatever the reason, ends the jobs that still run: the number of a process that has ended may be
# another process's by now.
trap 'kill $(jobs -rp) 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
unset http_proxy https_proxy all_proxy no_proxy HTTPS_PROXY ALL_PROXY NO_PROXY DRAINQ_QUEUE DRAINQ_TRANSPORT
failed=0

# test_that NAME COMMAND…: one test. The first failing command ends the test; the output is then shown.
test_that() {
    local name=$1 status
    shift
    # Not behind an `if` or `||`, because -e has no effect there.
    (set -e; "$@") >"$work/log" 2>&1
    status=$?
    cat "$work/log" >>"$work/logs"
    if ((status == 0)); then
        echo "ok $name"
    else
        echo "not ok $name"
        sed 's/^/    /' "$work/log"
        failed=1
    fi
}

# drainq ARGUMENT…: the program; also keeps its output in $work/said.
drainq() {
    local status=0 said=$work/said.$BASHPID errors=$work/errors.$BASHPID
    "$binary" "$@" >"$said" 2>"$errors" || status=$?
    cat "$said" "$errors" >>"$work/said"
    cat "$errors" >&2
    cat "$said"
    return "$status"
}

# ends STATUS COMMAND…: whether the command ends with the status.
ends() {
    local expected=$1 status=0
    shift
    "$@" || status=$?
    ((status == expected)) && return
    echo "status $status, not $expected: $*"
    return 1
}

# equal EXPECTED GOT
equal() {
    [[ $1 == "$2" ]] && return
    printf 'expected %q\ngot      %q\n' "$1" "$2"
    return 1
}

# says REGEX COMMAND…: whether the command's output, on either stream, matches; ignores the status.
says() {
    local regex=$1 said
    shift
    said=$("$@" 2>&1) || true
    [[ $said =~ $regex ]] && return
    printf 'expected to match %s\ngot %s\n' "$regex" "$said"
    return 1
}

# A port below the range of automatic assignment, so that no other process gets the port until a server listens there. Each
# call of a suite returns a new port.
free_port() {
    python3 - "$work" <<'END_OF_FILE'
import os, random, socket, sys
first = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
while True:
    port = random.randrange(min(10_000, first - 1000), first)
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
            os.mkdir(f"{sys.argv[1]}/port.{port}")
        except OSError:
            continue
    print(port)
    break
END_OF_FILE
}

# caught_up URL LOG: waits until the receiver at the URL has written down all requests that it answered before. The receiver
# writes after its answers, in the order of the requests: a new request is the last in the log.
caught_up() {
    local mark=/caught-up-$SRANDOM n
    curl --silent --output /dev/null "$1$mark" || true
    for ((n = 0; n < 400; n++)); do
        if grep -qF -- "$mark" "$2"; then return; fi
        sleep 0.05
    done
    echo "the receiver at $1 does not write down what it gets"
    return 1
}

# await PORT…: waits until servers listen on all of the ports.
await() {
    local port n
    for port; do
        for ((n = 0; n < 100; n++)); do
            if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then continue 2; fi
            sleep 0.1
        done
        echo "not ok nothing listens on port $port"
        return 1
    done
}

# queue URL [ROUTE [SETTINGS [MORE]]]: makes a new queue, with its directory in $DRAINQ_QUEUE. The default route goes to
# URL, with the keys ROUTE; the only destination is 'there', with the keys SETTINGS; MORE are keys of the configuration.
queue() {
    DRAINQ_QUEUE=$(mktemp -d "$work/queue.XXXXXX")/q
    export DRAINQ_QUEUE
    drainq init
    printf '{ routes: { default: { url: "%s", destination: "there", %s } }, destinations: { there: { %s } }, %s }\n' \
        "$1" "${2-}" "${3-}" "${4-}" >"$DRAINQ_QUEUE/drainq.json"
}

lines() { for n in $(seq "$1"); do printf '{"n":%d}\n' "$n"; done; }

state() { drainq list --json | jq -r .state | sort | uniq -c | awk '{ print $2 "=" $1 }' | paste -sd' '; }
