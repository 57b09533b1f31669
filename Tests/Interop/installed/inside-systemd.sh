#!/bin/bash
# Run by a systemd that has been booted (installed.sh). Prints `ok …` and `not ok …`, and `end` at its end.
set -u
test_that() {
    local name=$1
    shift
    if (set -e; "$@") >/tmp/log 2>&1; then echo "ok systemd: $name"; else
        echo "not ok systemd: $name"
        sed 's/^/    /' /tmp/log
        systemctl --no-pager status 'drainq*' 2>&1 | tail -40 | sed 's/^/    /'
    fi
}
# within SECONDS COMMAND…: until the command succeeds.
within() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do ((SECONDS < deadline)) || { echo "not within the time: $*"; return 1; }; sleep 0.2; done
}
as_drainq() { setpriv --reuid=drainq --regid=drainq --init-groups "$@"; }
runs() { journalctl --quiet --unit="drainq@$1.service" --output=cat | grep -c '^Starting' || true; }
received() { grep -c '"event":"request"' /tmp/received || true; }

drainq receive --json --port 8088 --max-time 10m --answer 'X-Refuse:yes 401 *1000' --answer '/down 503 *1000' --answer 200 >/tmp/received &
within 10 grep -q listening /tmp/received

queue() {
    as_drainq drainq init --queue "/var/spool/drainq/$1"
    echo "{ routes: { default: { url: \"http://127.0.0.1:8088/$2\", $3 } }, ${4:-} }" >"/var/spool/drainq/$1/drainq.json"
}
add() { echo '{"n":1}' | as_drainq drainq add --queue "/var/spool/drainq/$1"; }

a_path_unit_delivers_what_is_added() {
    queue path ok ''
    systemctl start drainq@path.path
    add path
    within 20 test "$(received)" -ge 1
    within 20 test -z "$(ls /var/spool/drainq/path/new)"
}
a_burst_does_not_stop_the_path_unit() {
    for n in $(seq 60); do add path >/dev/null; done
    within 60 sh -c '[ -z "$(ls /var/spool/drainq/path/new)" ] && [ "$(systemctl is-active drainq@path.path)" = active ]'
    add path
    within 60 sh -c '[ -z "$(ls /var/spool/drainq/path/new /var/spool/drainq/path/deferred)" ]' || true
    systemctl is-active drainq@path.path
}
a_timer_delivers_without_being_asked() {
    queue timer ok ''
    add timer
    systemctl start drainq@timer.timer
    within 100 sh -c '[ -z "$(ls /var/spool/drainq/timer/new)" ]'
}
a_credential_reaches_the_request() {
    install -d -m 700 /etc/drainq/credentials/secret
    echo s3cret >/etc/drainq/credentials/secret/api.token
    queue secret ok 'headers: { "X-Token": "${secret:api}" }' 'secrets: { api: { credential: "drainq_api.token" } }'
    add secret
    systemctl start drainq@secret.service
    grep -q s3cret /tmp/received
    ! grep -rq s3cret /var/spool/drainq
}
deferred_is_no_failure() {
    queue down down ''
    add down
    systemctl start drainq@down.service
    test "$(systemctl show --property=Result --value drainq@down.service)" = success
    test "$(systemctl show --property=ExecMainStatus --value drainq@down.service)" = 75
    test -n "$(ls /var/spool/drainq/down/deferred)"
}
a_held_destination_starts_no_run_after_run() {
    queue held ok 'headers: { "X-Refuse": "yes" }'
    systemctl start drainq@held.path
    add held
    within 20 sh -c 'drainq status --queue /var/spool/drainq/held --json | grep -q "\"holds\":\[{"'
    # What it put back into new/ by itself is no reason to run again.
    before=$(runs held)
    sleep 5
    test "$(runs held)" -le "$((before + 1))"
    test "$(systemctl is-active drainq@held.path)" = active
}
a_failure_is_told() {
    within 20 sh -c 'journalctl --quiet --priority=err --unit=drainq-failed@held.service --output=cat | grep -q held'
    test "$(systemctl show --property=ExecMainStatus --value drainq@held.service)" = 69
    # Once, however often it fails.
    told=$(journalctl --quiet --unit=drainq-failed@held.service --output=cat | grep -c '^Starting' || true)
    for n in 1 2 3; do systemctl start drainq@held.service || true; done
    test "$(journalctl --quiet --unit=drainq-failed@held.service --output=cat | grep -c '^Starting' || true)" = "$told"
}
the_sandbox_holds() {
    score=$(systemd-analyze security --no-pager drainq@path.service | sed -n 's/.*Overall exposure level.*: \([0-9.]*\) .*/\1/p')
    echo "exposure: $score"
    awk -v s="$score" 'BEGIN { exit !(s != "" && s <= 2.0) }'
}
a_queue_that_is_not_there_is_no_failure() {
    systemctl start drainq@nothing.service
    test "$(systemctl show --property=ConditionResult --value drainq@nothing.service)" = no
}

test_that 'a path unit delivers what is added' a_path_unit_delivers_what_is_added
test_that 'a burst of additions does not stop the path unit' a_burst_does_not_stop_the_path_unit
test_that 'a credential reaches the request, and nothing else' a_credential_reaches_the_request
test_that 'deferred is no failure' deferred_is_no_failure
test_that 'a held destination does not start run after run' a_held_destination_starts_no_run_after_run
test_that 'a failure is told in the journal, and once' a_failure_is_told
test_that 'the sandbox is at most 2.0 exposed' the_sandbox_holds
test_that 'a queue that is not there is no failure' a_queue_that_is_not_there_is_no_failure
test_that 'a timer delivers without being asked' a_timer_delivers_without_being_asked
kill %1
echo end
