#!/usr/bin/env bash
# Every command that a message, a status or a story proposes is pasted into a shell as it stands, with a queue and a
# destination whose names have blanks in them: none is a wrong command line (64), and none is unknown (127). Prints `ok …`
# or `not ok …`, a line for each test.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

queue="$work/a queue"
mkdir "$work/bin"
ln -s "$binary" "$work/bin/drainq"
PATH=$work/bin:$PATH
"$binary" init -q "$queue" 2>/dev/null

# proposed: what stands in quotes and begins with drainq or chmod in standard input, and hints that begin so.
proposed() {
    python3 -c '
import re, sys
for line in sys.stdin:
    line = line.rstrip("\n")
    hint = re.match(r"drainq: hint: ((?:drainq|chmod) .*)$", line)
    if hint:
        print(hint[1])
        continue
    # No word of a command has quotes: the next one that follows no backslash ends it.
    for command in re.findall(r"\x27(drainq (?:[^\x27\\]|\\.)*)\x27", line):
        print(command)
'
}

# pasted MINIMUM COMMAND…: what the command proposes, at least so many, works.
pasted() {
    local minimum=$1 line count=0 status
    shift
    "$@" >"$work/says" 2>&1 </dev/null || true
    proposed <"$work/says" >"$work/proposed"
    while IFS= read -r line; do
        count=$((count + 1))
        status=0
        # From the directory and with the environment that the message was made in.
        timeout 5 bash -c "$line" >"$work/pasted" 2>&1 </dev/null || status=$?
        # What goes on until a person ends it.
        if [[ $line == *--watch* ]] && ((status == 124)); then status=0; fi
        if ((status == 64 || status >= 126)); then
            echo "status $status: $line"
            cat "$work/pasted"
            return 1
        fi
    done <"$work/proposed"
    ((count >= minimum)) || { echo "only $count commands in:"; cat "$work/says"; return 1; }
}

d() { "$binary" "$@" --queue "$queue"; }

test_that "where there is no queue" pasted 1 "$binary" status --queue "$work/no queue"

cat >"$queue/drainq.json" <<END_OF_FILE
{
  routes: {
    default: {},
    note: { url: "http://127.0.0.1:1/note", destination: "notes" },
    other: { method: "PUT" },
    lost: { url: "http://127.0.0.1:1/lost", retry: { attempts: 1, base: "1s" } },
  },
}
END_OF_FILE
homeless=$(printf '{"n":1}\n' | d add --type other)
waiting=$(printf '{"n":1}\n' | d add --type note)
held=$(printf '{"n":1}\n' | d add --type note)
d hold "$held" >/dev/null
gone=$(printf '{"n":1}\n' | d add --type lost)
d run >/dev/null 2>&1
printf '{"n":\n' | d add --type note >/dev/null 2>&1


# What is pasted changes the queue: each test has one as it was here.
cp -a "$queue" "$work/prepared"
fresh() {
    rm -rf "$queue"
    cp -a "$work/prepared" "$queue"
}

# The first failure of this cause, as far as anybody was told.
rm "$queue/state/reports.json"
printf '{"n":1}\n' | d add --type lost >/dev/null
test_that "the run, the mail of cron" pasted 1 d run
fresh
test_that "the status" pasted 3 d status
fresh
test_that "the story of one that failed" pasted 1 d show "$gone"
test_that "the story of one that is held" pasted 1 d show "$held"
fresh
d hold --destination notes >/dev/null
test_that "the story of one whose destination is held" pasted 1 d show "$waiting"
test_that "the story of one without a destination" pasted 0 d show "$homeless"
fresh
d pause >/dev/null 2>&1
test_that "the story of one in a queue that is paused" pasted 0 d show "$waiting"
d pause >/dev/null 2>&1
test_that "the status of a queue that is paused" pasted 3 d status
fresh
test_that "files in quarantine" pasted 2 d show "$(cd "$queue" && find quarantine -type f ! -name "*.reason")"
test_that "an id that is nobody's" pasted 1 d show nobody
test_that "what an answer would mean" pasted 1 d explain 403 --type note
rm -f "$queue"/quarantine/*.reason
test_that "what cannot be exported" pasted 1 d export nobody
test_that "the check" pasted 0 d check

rm -rf "$queue/delivered"
chmod 755 "$queue/failed"
test_that "the check of what is damaged" pasted 1 d check
chmod o+w "$queue/failed"
test_that "a directory that others may write to" pasted 1 d status
test_that "and after that it works" d status
chmod o+w "$queue/drainq.json"
test_that "a configuration that others may write to" pasted 1 d run
test_that "a destination that is not known is one that is near" says "did you mean 'notes'\\?" d hold --destination note
test_that "an origin that nothing is known of is an error" ends 64 d pause --destination https://nobody.example

# Wrong command lines, one a line: whatever they propose works, and a usage that is shown is called that.
fresh
d hold --destination notes >/dev/null
while IFS= read -r wrong; do
    test_that "a wrong command line: $wrong" pasted 0 bash -c "DRAINQ_QUEUE='$queue' drainq $wrong"
done <<'END_OF_LINES'
show
show nobody
list everything
list --frob
frob
completions
manual drainq-jsn
explain 6f9619ff-8b86-4011-b42d-00cf4fc964ff
explain tmeout
run nobody
retry
retry nobody
drop nobody
hold --reason moving
hold --destination nowhere
release nobody
export nobody
status --interval 3s
receive --answer nonsense
send --type note --no-queue <<<'{"n":1}'
import --replace /dev/null
add --at yesterday
END_OF_LINES
test_that "an unknown destination is one that status lists" pasted 1 d pause --destination https://nowhere.example
test_that "what is held is not sent, and the status says why" pasted 1 bash -c "echo '{}' | drainq send --no-queue --type note --queue '$queue'"
test_that "an import of what is there already says how it is replaced" \
    pasted 1 bash -c "drainq export --queue '$queue' | drainq import --queue '$queue'"
test_that "every object of list has an id or a path" \
    bash -c "drainq list --json --queue '$queue' | jq -es 'length > 3 and all(.id or .path)'"
test_that "a member of an envelope that is near a field names it" \
    says "did you mean 'type'\\?" bash -c "echo '{\"typ\":\"note\",\"payload\":1}' | drainq add --envelope --queue '$queue'"
test_that "how many attempts there are is explained" says "fails for good when 1 (has|have) been counted|1 of 1" d show "$gone"
test_that "a count of attempts leads to the schedule" pasted 1 d show "$waiting"

echo '{ routes: { defualt: { url: "http://127.0.0.1:1/" } } }' >"$queue/drainq.json"
names_its_place() {
    says "drainq: error: $queue/drainq.json:1:13: .*did you mean 'default'\\?" d run
    ! d check 2>&1 | grep -q 'no url'
}
test_that "an error of the configuration names the file, and check blames nothing else on it" names_its_place

exit "$failed"
