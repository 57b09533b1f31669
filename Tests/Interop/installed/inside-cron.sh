#!/bin/bash
# Run in a Debian without a systemd that runs (installed.sh): the line for cron and a person's own, under a real cron, whose
# mails are kept. Prints `ok …` and `not ok …`, and `end` at its end.
where=cron
source /setup/guest.bash

# A sendmail that keeps what it is given, a file a mail.
mkdir -m 1777 /mails
printf '#!/bin/sh\ncat >"$(mktemp /mails/XXXXXX)"\n' >/usr/sbin/sendmail
chmod 755 /usr/sbin/sendmail
mails() { find /mails -type f | wc -l; }

drainq receive --json --port 8088 --max-time 10m --answer '/bad 400 *1000' --answer '/down 503 *1000' --answer '200 *1000' >/tmp/received &
server=$!
within 10 grep -q listening /tmp/received

# A person whose queue is where drainq looks by itself.
useradd --create-home --shell /bin/bash ada
runuser --login ada --command "drainq init --quiet --url $receiver/ada; echo '{}' | drainq add" >/dev/null
a_persons_line() { runuser --login ada --command "$(cat "$1")"; }
for name in good down bad; do
    queue $name $name
    add $name >/dev/null
done

all_is_delivered() {
    within 70 has_received good 1
    within 20 has_received ada 1
    within 20 has_received down 1
    within 20 none_waits good
}
one_useful_mail() {
    within 70 sh -c '[ -n "$(ls /mails)" ]'
    cat /mails/*
    (($(mails) == 1))
    grep -q '^To: ops@example.com' /mails/*
    grep -q '^drainq: error: .*400' /mails/*
    # As words: an id may have these letters.
    not grep -qw 'good\|down\|ada' /mails/*
}
# Two minutes later, which have had a failed operation and a deferred one.
no_more_mails() {
    local before
    before=$(received down)
    add good
    within 130 has_received good 2
    within 130 has_received down $((before + 1))
    (($(mails) == 1))
}

for display in /setup/CRON.*; do
    case $(head -n 1 "$display") in
    *crontab*) test_that "drainq-setup(7), CRON: $(head -n 1 "$display")" a_persons_line "$display" ;;
    *) test_that "drainq-setup(7), CRON: $(head -n 1 "$display")" typed "$display" ;;
    esac
done
cron -f -L 0 &
cron=$!
test_that 'all queues are run, and a person'"'"'s own' all_is_delivered
test_that 'one useful mail when an operation failed, and none of the others' one_useful_mail
test_that 'no more mails when nothing is new' no_more_mails
kill $cron $server
test_that 'purged without a systemd that runs, queues stay' eval 'dpkg --purge drainq && [[ ! -e /etc/cron.d/drainq && -d /var/spool/drainq/bad/failed ]]'
echo end
