#!/usr/bin/env bash
# drainq-apps(7), typed: the programs that add an operation, in the interpreters of Debian, and the lines for a shell. Needs
# mandoc, jq, node, php, ruby, gccgo and sqlite3. Prints `ok …` and `not ok …`, a line for each test.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# block N: the Nth display of the page, from 1, as a reader sees it.
block() {
    python3 - "$1" <<'END_OF_FILE'
import re, subprocess, sys
page = open("man/drainq-apps.7").read()
displays = re.findall(r"^\.Bd -literal -offset indent\n(.*?)^\.Ed", page, re.S | re.M)
text = displays[int(sys.argv[1]) - 1]
print(re.sub(r"\\\(dq", '"', re.sub(r"\\e", r"\\", text)), end="")
END_OF_FILE
}

# added LANGUAGE: the operation of a program is in the queue after a run, whole, and nothing is left in tmp/.
added() {
    equal 1 "$(find "$DRAINQ_QUEUE/new" -type f | wc -l)"
    equal 0 "$(find "$DRAINQ_QUEUE/tmp" -type f | wc -l)"
    ends 75 drainq run
    equal "$1 7 {\"n\":1}" "$(drainq export | jq -r '"\(.header.type) \(.header.key) \(.payload | tojson)"')"
}

# syncs COMMAND…: runs the command, and checks that it syncs the file, renames it, and then syncs the directory.
syncs() {
    strace -f -qq -o "$work/calls" -e trace=fsync,rename,renameat,renameat2 "$@"
    equal 'fsync rename fsync' "$(grep -oE 'fsync|rename[a-z0-9]*\("[^"]*/tmp/' "$work/calls" | sed 's/rename.*/rename/' |
        xargs)"
}

by_python() {
    queue http://127.0.0.1:9/
    { block 1; echo "enqueue('$DRAINQ_QUEUE', {'type': 'python', 'key': '7', 'payload': {'n': 1}})"; } >"$work/add.py"
    syncs python3 "$work/add.py"
    added python
}
by_node() {
    queue http://127.0.0.1:9/
    { block 2; echo "enqueue('$DRAINQ_QUEUE', { type: 'node', key: '7', payload: { n: 1 } })"; } >"$work/add.js"
    syncs node "$work/add.js"
    added node
}
by_php() {
    queue http://127.0.0.1:9/
    { echo '<?php'; block 3; echo "enqueue('$DRAINQ_QUEUE', ['type' => 'php', 'key' => '7', 'payload' => ['n' => 1]]);"; } \
        >"$work/add.php"
    syncs php "$work/add.php"
    added php
}
by_ruby() {
    queue http://127.0.0.1:9/
    { block 4; echo "enqueue('$DRAINQ_QUEUE', { type: 'ruby', key: '7', payload: { n: 1 } })"; } >"$work/add.rb"
    syncs ruby "$work/add.rb"
    added ruby
}
by_go() {
    queue http://127.0.0.1:9/
    {
        printf 'package main\n\nimport (\n\t"os"\n\t"path/filepath"\n)\n\n'
        block 5
        # shellcheck disable=SC2016
        printf 'func main() {\n\tif err := enqueue("%s", []byte(`{"drainq":1,"type":"go","key":"7","payload":{"n":1}}`)); err != nil {\n\t\tpanic(err)\n\t}\n}\n' \
            "$DRAINQ_QUEUE"
    } >"$work/add.go"
    gccgo -o "$work/add" "$work/add.go"
    syncs "$work/add"
    added go
}

edits() {
    queue http://127.0.0.1:9/
    local id
    id=$(echo '{"title":"coffee"}' | drainq add)
    block 6 | sed "s/ID/$id/" >"$work/line"
    # shellcheck disable=SC1091
    source "$work/line"
    equal tea "$(drainq export "$id" | jq -r .payload.title)"
    drainq drop "$id"
    ends 1 drainq wait "$id" --timeout 1s
}
badge() {
    queue http://127.0.0.1:9/
    echo 1 | drainq add --key 7
    block 7 >"$work/line"
    # shellcheck disable=SC1091
    equal $'1\nnew' "$(source "$work/line")"
}
migrates() {
    queue http://127.0.0.1:9/
    cd "$work"
    sqlite3 app.db "CREATE TABLE pending (id INTEGER PRIMARY KEY, created_at TEXT, kind TEXT, body TEXT);
        INSERT INTO pending VALUES (1, '2026-11-20 08:00:00', 'insert', '{\"n\":1}'), (2, '2026-11-20 08:00:01', 'insert', '{\"n\":2}');"
    (cd - >/dev/null && block 9) >line
    source ./line
    source ./line
    equal '1 2026-11-20T08:00:00Z 2 2026-11-20T08:00:01Z' \
        "$(drainq list --json | jq -r '"\(.id) \(.createdAt)"' | sort | xargs)"
}

for test in python node php ruby go; do
    test_that "drainq-apps(7): the program in $test adds an operation, durably" "by_$test"
done
test_that 'drainq-apps(7): the line for an edit changes what waits, and a drop cancels it' edits
test_that 'drainq-apps(7): the lines for a badge count what waits' badge
test_that 'drainq-apps(7): a table is migrated with its ids and times, and only once' migrates
exit "$failed"
