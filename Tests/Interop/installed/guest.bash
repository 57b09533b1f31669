# What inside-systemd.sh and inside-cron.sh share: the side of installed.sh that is in the Debian. /setup has the displays of
# drainq-setup(7), each as a file `SECTION.NUMBER`; what they find is in /srv.
set -u
receiver=http://127.0.0.1:8088

# test_that NAME COMMAND…: one test, as in common.bash.
test_that() {
    local name=$1 status
    shift
    (set -e; "$@") >/tmp/log 2>&1
    status=$?
    if ((status == 0)); then echo "ok $where: $name"; else
        echo "not ok $where: $name"
        sed 's/^/    /' /tmp/log
    fi
}

# follow SECTION: types what the section shows, each display a test.
follow() {
    local display
    for display in /setup/"$1".*; do
        test_that "drainq-setup(7), $1: $(head -n 1 "$display")" typed "$display"
    done
}

# typed FILE: a display that is a configuration is that of the queue "orders"; others are commands.
typed() {
    cat "$1"
    if [[ $(head -n 1 "$1") == '{' ]]; then cat "$1" >/var/spool/drainq/orders/drainq.json; else (cd /srv && bash -euo pipefail "$1"); fi
}

# not COMMAND…: -e looks at it, as it does not at `!`.
not() { ! "$@"; }

# within SECONDS COMMAND…: until the command succeeds.
within() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do ((SECONDS < deadline)) || { echo "not within the time: $*"; return 1; }; sleep 0.2; done
}

as_drainq() { setpriv --reuid=drainq --regid=drainq --init-groups "$@"; }

# queue NAME PATH [ROUTE [MORE]]: a queue of that name, to that path of the receiver, with more keys of its route or at all.
queue() {
    as_drainq drainq init --quiet --queue "/var/spool/drainq/$1"
    echo "{ routes: { default: { url: \"$receiver/$2\", ${3-} } }, ${4-} }" >"/var/spool/drainq/$1/drainq.json"
}

add() { echo '{"n":1}' | as_drainq drainq add --queue "/var/spool/drainq/$1" "${@:2}"; }

# waiting QUEUE: how many operations are to be delivered.
waiting() { find "/var/spool/drainq/$1"/{new,deferred,claimed} -name '*.json' | wc -l; }
none_waits() { (($(waiting "$1") == 0)); }

# caught_up: until the receiver has written down what it answered before. It does so behind its answers, in the order in which
# requests came: one that comes now is the last.
caught_up() {
    local mark=/caught-up-$SRANDOM
    curl --silent --output /dev/null "$receiver$mark" || true
    within 20 grep -qF -- "$mark" /tmp/received
}

# received PATH: how many operations went there; a heartbeat is none.
received() { caught_up && grep '"event":"request"' /tmp/received | grep '"method":"POST"' | grep -c "\"target\":\"/$1\"" || true; }
has_received() { (($(received "$1") >= $2)); }
