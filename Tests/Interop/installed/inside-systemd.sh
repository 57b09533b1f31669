#!/bin/bash
# Run by a systemd that has been booted (installed.sh): follows drainq-setup(7), and looks at what its units do. Prints
# `ok …` and `not ok …`, and `end` at its end.
where=systemd
source /setup/guest.bash

spool=/var/spool/drainq
runs() { journalctl --quiet --unit="drainq@$1.service" --output=cat | grep -c '^Starting' || true; }
told() { journalctl --quiet --unit="drainq-failed@$1.service" --output=cat | grep -c '^Starting' || true; }
property() { systemctl show --property="$1" --value "$2"; }
ended() { [[ $(property ActiveState "$1") =~ ^(inactive|failed)$ ]]; }

# Without a network nullmailer keeps the mails. Its sendmail needs what a sandbox does not give: to become another user.
mails=/var/spool/nullmailer/queue
# As Exim's sendmail: it goes on with a mail after its end.
mv /usr/sbin/sendmail /usr/sbin/sendmail.nullmailer
cat >/usr/sbin/sendmail <<'END'
#!/bin/bash
mail=$(cat)
(sleep 1 && printf '%s\n' "$mail" | /usr/sbin/sendmail.nullmailer "$@") >/dev/null 2>&1 </dev/null &
END
chmod 755 /usr/sbin/sendmail
# What the package of the node exporter makes.
mkdir -p /var/lib/prometheus/node-exporter
echo expired >/srv/token
drainq receive --json --port 8088 --max-time 10m --answer 'Authorization:"Bearer expired" 401 *1000' --answer '/refused 401 *1000' \
    --answer '/gone 404 *1000' --answer '/down 503 *1000' --answer '/slow 200 delay=6s *1000' --answer '200 *1000000' >/tmp/received &
server=$!
within 10 grep -q listening /tmp/received

# Meanwhile, and looked at last: a timer takes up to 80 s.
queue timed timed
add timed >/dev/null
systemctl start drainq@timed.timer

is_on_its_way_at_once() {
    within 20 has_received v1/order 1
    within 20 none_waits orders
}
a_foreign_file_is_delivered() {
    as_drainq sh -c 'echo "{}" >"$0/tmp/foreign" && mv "$0/tmp/foreign" "$0/new/"' $spool/orders
    within 20 has_received v1/default 1
}
a_burst_does_not_stop_the_path_unit() {
    local before n
    before=$(received v1/burst)
    for n in $(seq 60); do add orders --type burst >/dev/null; done
    # What comes between the last look of a run and its end is the timer's.
    within 100 none_waits orders
    [[ $(property ActiveState drainq@orders.path) == active ]]
    add orders --type burst
    within 100 has_received v1/burst $((before + 61))
}
an_expired_credential_holds_and_a_new_one_goes_on() {
    # One that is refused is parked; a second one shows that it is the credential.
    add orders --type held
    add orders --type held
    # The path unit takes a moment to start the run; what shows the hold is still running.
    within 20 sh -c "drainq status --queue $spool/orders --json | grep -q '\"holds\":\[{'"
    within 20 ended drainq@orders.service
    echo s3cret >/srv/token
    install -m 600 /srv/token /etc/drainq/credentials/orders/api.token
    systemctl start drainq@orders.service
    caught_up
    grep '/v1/held' /tmp/received | tail -n 1 | grep -q 'Bearer s3cret'
    none_waits orders
}
a_credential_is_nowhere_else() {
    not grep -rq s3cret $spool
    not grep -q s3cret <(journalctl --quiet)
    not as_drainq cat /etc/drainq/credentials/orders/api.token
}
deferred_is_no_failure_and_starts_no_run_after_run() {
    queue down down
    systemctl start drainq@down.path
    add down
    within 20 has_received down 1
    within 20 ended drainq@down.service
    [[ $(property Result drainq@down.service) == success && $(property ExecMainStatus drainq@down.service) == 75 ]]
    [[ -n $(ls $spool/down/deferred) ]]
    # A run that nobody's addition started, whose own renames the path unit sees.
    systemctl start drainq@down.service
    settles down
}
# settles QUEUE: its path unit starts at most one run after the last one, and goes on watching.
settles() {
    local before
    before=$(runs "$1")
    not within 8 bash -c "(( \$(journalctl --quiet --unit=drainq@$1.service --output=cat | grep -c ^Starting) > $before + 1 ))"
    [[ $(property ActiveState "drainq@$1.path") == active ]]
}
a_held_destination_starts_no_run_after_run() {
    queue refused refused
    systemctl start drainq@refused.path
    # One that is refused alone waits for another one to show who is to blame.
    add refused
    add refused
    within 20 has_received refused 2
    within 20 ended drainq@refused.service
    [[ $(property Result drainq@refused.service) == exit-code ]]
    settles refused
}
a_failure_is_told_and_once() {
    [[ $(property ExecMainStatus drainq@refused.service) == 69 ]]
    # What the run says itself, when the hold begins, …
    (($(journalctl --quiet --unit=drainq@refused.service --output=cat | grep -c '^drainq: error: .*is held: 401') == 1))
    # … and the state of the queue, as an error.
    within 20 sh -c 'journalctl --quiet --priority=err --unit=drainq-failed@refused.service --output=cat | grep -q held'
    for _ in 1 2 3; do not systemctl start drainq@refused.service; done
    (($(told refused) == 1))
    (($(journalctl --quiet --unit=drainq@refused.service --output=cat | grep -c '^drainq: error: .*is held: 401') == 1))
}
a_failure_is_mailed() {
    queue mailed refused
    add mailed
    add mailed
    not systemctl start drainq@mailed.service
    within 20 grep -rq '^Subject: drainq: mailed' $mails
    within 20 grep -rq 'held' $mails
}
# The sandbox keeps the hook itself from it, and lets what mails its lines be.
an_event_is_mailed() {
    queue direct gone '' 'hooks: { failed: ["mail", "-s", "from the sandbox", "root"] }'
    queue events gone '' 'hooks: { failed: ["tee", "-a", "events"] }'
    add direct
    add events
    not systemctl start drainq@direct.service drainq@events.service
    within 20 grep -rq '^Subject: drainq: events' $mails
    grep -rq '"event":"failed"' $mails
    grep -rq '^1 failed' $mails
    [[ ! -e $spool/events/events ]]
    not grep -rq 'from the sandbox' $mails
    journalctl --quiet --unit=drainq@direct.service --output=cat | grep -q "warning: the hook 'failed' ('mail')"
}
# A ping after a run that delivered, one after a run that deferred, none after a run that held.
a_heartbeat_follows_what_went_well() {
    add orders --type beating
    within 20 pinged orders
    systemctl start drainq@down.service
    [[ $(property Result drainq@down.service) == success ]]
    within 20 pinged down
    not systemctl start drainq@refused.service
    not pinged refused
}
pinged() { grep '"event":"request"' /tmp/received | grep '"method":"GET"' | grep -q "\"target\":\"/$1\""; }
metrics_are_where_the_exporter_reads() {
    add orders --type measured
    within 20 has_received v1/measured 1
    within 20 setpriv --reuid=nobody --clear-groups grep -q '^drainq_delivered_total' /var/lib/prometheus/node-exporter/orders.prom
}
# Two interfaces and their addresses, all within five seconds: one start of what has a timer.
the_network_is_back_once() {
    local before interface
    before=$(runs timed)
    for interface in eth0 wlan0; do
        CONNECTIVITY_STATE=FULL /usr/lib/NetworkManager/dispatcher.d/50-drainq $interface up
        CONNECTIVITY_STATE=FULL /usr/lib/NetworkManager/dispatcher.d/50-drainq $interface dhcp4-change
    done
    within 20 sh -c 'journalctl --quiet --unit=drainq-network.service --output=cat | grep -q "^Started"'
    within 20 bash -c "(( \$(journalctl --quiet --unit=drainq@timed.service --output=cat | grep -c ^Starting) > $before ))"
    (($(journalctl --quiet --unit=drainq-network.service --output=cat | grep -c '^Started') == 1))
}
the_timer_is_another() { property TimersCalendar drainq@orders.timer | grep -q '00/10'; }
the_sandbox_is_tight() {
    local score
    score=$(systemd-analyze security --no-pager drainq@orders.service | sed -n 's/.*Overall exposure level.*: \([0-9.]*\) .*/\1/p')
    echo "exposure: $score"
    awk -v score="$score" 'BEGIN { exit !(score != "" && score <= 2.0) }'
}
a_queue_that_is_not_there_is_no_failure() {
    systemctl start drainq@nothing.service
    [[ $(property ConditionResult drainq@nothing.service) == no ]]
}
a_run_goes_on() {
    queue slow slow '' "destinations: { \"$receiver\": { concurrency: 1 } }"
    add slow
    add slow
    systemctl start --no-block drainq@slow.service
    within 20 has_received slow 1
}
it_has_ended_well_and_the_next_is_new() {
    within 30 ended drainq@slow.service
    [[ $(property Result drainq@slow.service) == success ]]
    none_waits slow
    (($(received slow) == 2))
    dpkg-query --show drainq | grep -q '+1$'
    systemctl is-active drainq@orders.timer drainq@orders.path
}
the_timer_has_delivered() { within 100 none_waits timed; }
nothing_runs_and_queues_are_there() {
    [[ ! -e /usr/bin/drainq && -d $spool/orders/new && -f /etc/drainq/credentials/orders/api.token ]]
    [[ -z $(systemctl list-units --plain --no-legend 'drainq@*.timer' 'drainq@*.path') ]]
    not dpkg-query --show --showformat='${db:Status-Status}' drainq
}

follow 'A QUEUE'
test_that 'what is added is on its way at once' is_on_its_way_at_once
test_that 'so is a file that another program renames into new/' a_foreign_file_is_delivered
test_that 'a burst of additions does not stop the path unit' a_burst_does_not_stop_the_path_unit
follow CREDENTIALS
test_that 'an expired credential holds, and the new one goes on' an_expired_credential_holds_and_a_new_one_goes_on
test_that 'a credential is in no file of the queue, no journal, and not for the user that runs' a_credential_is_nowhere_else
follow 'WHEN IT RUNS'
test_that 'the drop-in has changed the timer' the_timer_is_another
test_that 'deferred is no failure, and starts no run after run' deferred_is_no_failure_and_starts_no_run_after_run
test_that 'a held destination starts no run after run' a_held_destination_starts_no_run_after_run
test_that 'a failure is told in the journal, and once' a_failure_is_told_and_once
follow 'MESSAGES'
test_that 'a failure is mailed' a_failure_is_mailed
test_that 'an event is mailed, as drainq-setup(7) says and not by the hook itself' an_event_is_mailed
test_that 'a heartbeat follows a run that ended with 0 or 75, and no other' a_heartbeat_follows_what_went_well
follow METRICS
test_that 'metrics are where the exporter reads them' metrics_are_where_the_exporter_reads
follow 'AFTER AN OUTAGE'
test_that 'the sandbox is at most 2.0 exposed' the_sandbox_is_tight
test_that 'a queue that is not there is no failure' a_queue_that_is_not_there_is_no_failure
test_that 'when the network is back, queues are run once' the_network_is_back_once
test_that 'a run goes on' a_run_goes_on
follow UPGRADING
test_that 'the run has ended well, and the units are as they were' it_has_ended_well_and_the_next_is_new
test_that 'a timer delivers without being asked' the_timer_has_delivered
kill $server
follow REMOVING
test_that 'nothing runs any more, and queues and credentials are there' nothing_runs_and_queues_are_there
echo end
