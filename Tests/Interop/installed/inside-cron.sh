#!/bin/bash
# Run in a Debian without a systemd that runs (installed.sh): the line for cron, under a real cron, whose mails are kept.
# Prints `ok …` and `not ok …`, and `end` at its end.
set -u
test_that() {
    local name=$1
    shift
    if (set -e; "$@") >/tmp/log 2>&1; then echo "ok cron: $name"; else
        echo "not ok cron: $name"
        sed 's/^/    /' /tmp/log
    fi
}
within() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do ((SECONDS < deadline)) || { echo "not within the time: $*"; return 1; }; sleep 0.5; done
}
as_drainq() { setpriv --reuid=drainq --regid=drainq --init-groups "$@"; }

# A sendmail that keeps what it is given, a file a mail.
mkdir -m 1777 /mails
printf '#!/bin/sh\ncat >"$(mktemp /mails/XXXXXX)"\n' >/usr/sbin/sendmail
chmod 755 /usr/sbin/sendmail
drainq receive --port 8089 --max-time 10m --answer '/bad 400 *1000' --answer '/down 503 *1000' --answer 200 >/tmp/received-by-cron &
receiver=$!
for path in good down; do
    as_drainq drainq init --quiet --queue /var/spool/drainq/$path --url http://127.0.0.1:8089/$path
    echo '{"n":1}' | as_drainq drainq add --queue /var/spool/drainq/$path >/dev/null
done
cron -f -L 0 &
cron=$!

silence_when_all_is_well() {
    within 130 sh -c '[ -z "$(ls /var/spool/drainq/good/new)" ] && [ -n "$(ls /var/spool/drainq/down/deferred)" ]'
    sleep 3
    test -z "$(ls /mails)"
}
one_useful_mail() {
    as_drainq drainq init --quiet --queue /var/spool/drainq/bad --url http://127.0.0.1:8089/bad
    # More than the storm guard lets through: a handful is enough.
    echo '{"n":1}' | as_drainq drainq add --id broken --queue /var/spool/drainq/bad
    within 130 sh -c '[ -n "$(ls /mails)" ]'
    cat /mails/*
    test "$(ls /mails | wc -l)" = 1
    grep -q "^drainq: error: .*broken" /mails/*
    grep -q 400 /mails/*
    # The next minutes have nothing to add.
    sleep 65
    test "$(ls /mails | wc -l)" = 1
}
test_that 'silence when all is delivered or deferred' silence_when_all_is_well
test_that 'one useful mail when an operation failed, and no more' one_useful_mail
kill $cron $receiver
echo end
