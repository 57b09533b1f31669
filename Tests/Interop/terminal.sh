#!/usr/bin/env bash
# The output that an operator sees in a real terminal: tmux, 80 and 40 columns wide. Prints `ok …` and `not ok …`.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

if ! command -v tmux >/dev/null; then
    [[ -z ${CI-} ]] || { echo 'not ok terminal: tmux is not installed'; exit 1; }
    echo 'ok terminal # SKIP tmux is not installed'
    exit 0
fi
unset NO_COLOR COLUMNS TMUX
export LC_ALL=C.UTF-8 TMUX_TMPDIR=$work
title='a title of our own'

tmux_here() { command tmux -L "drainq-$$" -f /dev/null "$@"; }
# The server is a job of the suite, and stays between two terminals.
tmux -L "drainq-$$" -f /dev/null -D >"$work/tmux" 2>&1 &
until tmux_here list-sessions -F '' 2>/dev/null; do kill -0 $! || exit; sleep 0.05; done

# terminal COLUMNS: opens a new terminal with the program `drainq`.
terminal() {
    columns=$1
    tmux_here kill-session 2>/dev/null || true
    tmux_here new-session -d -x "$columns" -y 50 -e "drainq=$binary" -e "DRAINQ_QUEUE=${DRAINQ_QUEUE-}" \
        'PS1= exec bash --norc --noprofile'
    tmux_here select-pane -T "$title"
    type_in 'drainq() { "$drainq" "$@"; }'
    finish
}

# type_in LINE: types the line on an empty screen, and a mark that appears when the command is done.
type_in() {
    turn=$SRANDOM
    tmux_here send-keys -l "clear; $1; echo \"[\$?] mark\" $turn"
    tmux_here send-keys Enter
}

screen() { tmux_here capture-pane -p "$@"; }

# until_seen REGEX: waits, ten seconds at most, until a line of the screen matches; the screen is then in $work/seen.
until_seen() {
    local n
    for ((n = 0; n < 200; n++)); do
        screen >"$work/seen"
        if grep -qE -- "$1" "$work/seen"; then return; fi
        sleep 0.05
    done
    echo "not seen: $1"
    grep . "$work/seen"
    return 1
}

# has REGEX FILE, lacks REGEX FILE: whether a line matches.
has() {
    if grep -qE -- "$1" "$2"; then return; fi
    echo "no line has: $1"
    cat "$2"
    return 1
}

lacks() {
    if grep -E -- "$1" "$2"; then return 1; fi
}

finish() { until_seen "^\\[[0-9]+\\] mark $turn\$"; }

# shown COMMAND: prints the screen after the command, without the mark. Joins lines that the terminal had to break.
shown() {
    type_in "$1"
    finish || return
    screen -J | sed -e "/^\\[[0-9]*\\] mark $turn *\$/,\$d" -e 's/ *$//'
}

# fits COMMAND: no line of the output is longer than the terminal is wide.
fits() {
    local broken
    type_in "$1"
    finish
    # A user copies a proposed command, so the command is one line, and the terminal may break the line.
    broken=$(screen -J | awk -v w="$columns" -v command="'drainq " \
        'index($0, command) && length > w { n += int((length - 1) / w) } END { print n + 0 }')
    equal "$(screen | wc -l)" "$(($(screen -J | wc -l) + broken))"
    [[ -n $(screen | head -n 1) ]]
}

# follows_a_file: as drainq(1) says, until the pipe is closed.
follows_a_file() {
    local log=$work/app.log followed=$work/followed follower n
    DRAINQ_QUEUE=$followed drainq init
    : >"$log"
    tail -n 0 -F "$log" 2>/dev/null > >(DRAINQ_QUEUE=$followed "$binary" add --type log >"$work/followed.ids") &
    follower=$!
    for n in 1 2 3; do
        # tail opens the file when it has begun, and looks for a new one once a second.
        local tries=0
        until (($(wc -l <"$work/followed.ids" 2>/dev/null || echo 0) >= n)); do
            ((tries++ % 20)) || echo "{\"n\":$n}" >>"$log"
            ((tries < 200)) || return 1
            sleep 0.1
        done
        mv "$log" "$log.$n"
        : >"$log"
    done
    kill "$follower"
    # Each written line has an id, and each id has a file.
    (($(find "$followed/new" -type f | wc -l) >= 3))
    equal "$(sort "$work/followed.ids")" "$(find "$followed/new" -name '*.json' | sed -E 's/.*Z-([^,]*),.*/\1/' | sort)"
}

# columns_of TEXT: prints the number of columns that tmux gives the text.
columns_of() {
    tmux_here set-option -g @text "$1"
    tmux_here display-message -p '#{w:@text}'
}

# --- what there is to see ---

receive() {
    rm -f "$work/url"
    "$binary" receive --url-file "$work/url" "$@" >/dev/null 2>&1 &
    receiver=$!
    until [[ -s $work/url ]]; do sleep 0.05; done
    url=$(<"$work/url")
}

hostile='\x1b]0;owned\x07\x1b[31mred\x1b[2J\xe2\x80\xaetxt'
receive --answer "503 body=\"$hostile\"" --answer "400 body=\"日本語 🎉 $hostile\"" --answer '429 retry-after=300'
queue "$url/{type}" 2>/dev/null
cat >"$DRAINQ_QUEUE/drainq.json" <<END
{ routes: {
    default: { url: "$url/{type}", destination: "inbox" },
    crm: { url: "http://127.0.0.1:9/{type}", destination: "there", ordering: "key", retry: { schedule: ["1h"] } },
    other: { url: "http://127.0.0.1:9/{type}", destination: "closed" },
} }
END
lines 3 | drainq add --type updateProfile --key '顧客-7 🎉' >"$work/ids"
lines 2 | drainq add --type crm --key k >"$work/crm"
lines 1 | drainq add --type other >/dev/null
printf '{' >"$work/evil"
mv "$work/evil" "$DRAINQ_QUEUE/new/"$'evil\e]0;owned\a\u202e.json'
drainq hold --destination closed --reason $'引っ越し中です🎉 moving \e[31mhouse 一時間ぐらいかかります 한국어로도 씁니다' >/dev/null
drainq run --concurrency 1 >/dev/null 2>&1
id=$(head -n 1 "$work/ids")
failed_id=$(sed -n 2p "$work/ids")
strange=$(drainq list --state quarantined --json | jq -r .path)

# --- tables ---

list_is_useful() {
    local one
    shown 'drainq list' >"$work/list"
    # Whole ids, the state beside or below each id, and the wait reason.
    while read -r one; do has "^$one" "$work/list"; done < <(cat "$work/ids" "$work/crm")
    has 'deferred .*503$' "$work/list"
    has 'failed .*400$' "$work/list"
    has ' behind ' "$work/list"
    has ' in [0-9][^ ]*( |…)' "$work/list"
    has 'quarantined ' "$work/list"
}

narrow_list_has_two_lines_each() {
    shown 'drainq list --status 503' >"$work/list"
    equal "$id" "$(sed -n 3p "$work/list")"
    [[ $(sed -n 4p "$work/list") == '  '*deferred*503 ]]
}

wide_list_has_one_line_each() {
    equal 2 "$(shown 'drainq list --status 503' | wc -l)"
}

status_begins_with_people() {
    shown 'drainq status' >"$work/status"
    # A narrow terminal wraps the sentence.
    [[ $(head -n 2 "$work/status" | xargs) == "1 of 3 destinations is in trouble: closed is held"* ]] ||
        { cat "$work/status"; return 1; }
    has '^closed held since ' "$work/status"
    has '^failed: 1;' "$work/status"
    has '^inbox: its server asked for time' "$work/status"
    has 'DESTINATION( |$)' "$work/status"
    has 'TOTAL +<1m +5m +1h +6h +1d +3d +3d\+' "$work/status"
    has '^last run ' "$work/status"
}

# Text that is too wide ends at the last column, or before the column if a wide character has no room, by tmux's own count.
wide_text_ends_at_the_edge() {
    local text line
    for text in 日本語 🎉 한국 ｶﾞ e$'\u0301' 日a🎉 क; do
        line=$(printf '%.0s'"$text" {1..99} | jq -Rc . | drainq add --type other)
        line=$(shown "drainq show $line" | grep '…$')
        (($(columns_of "$line") == columns || $(columns_of "$line") == columns - 1)) || {
            echo "$(columns_of "$line") columns: $line"
            return 1
        }
    done
    drainq drop --type other --since 1m >/dev/null
    lines 1 | drainq add --type other >/dev/null
}

show_is_a_story() {
    shown "drainq show $failed_id" >"$work/story"
    has '^failed: permanently;' "$work/story"
    has '^because the server refuses \(400\); the' "$work/story"
    has '^key: .*顧客-7 🎉$' "$work/story"
    has '日本語 🎉' "$work/story"
    has '^    "n": 2$' "$work/story"
}

# --- what strangers say ---

stays_calm() {
    shown "$1" >"$work/calm"
    has '\\(u\{1b\}|x1b|x1B)' "$work/calm"
    equal "$title" "$(tmux_here display-message -p '#{pane_title}')"
    # Only drainq's own attributes are on: with NO_COLOR there are none.
    type_in "NO_COLOR=1 $1"
    finish
    equal "$(screen | sed 's/ *$//')" "$(screen -e | sed 's/ *$//')"
}

# What stands before the colon of a line is bold and red.
is_coloured() { grep -qE $'\e\\[(1m\e\\[31|1;31)mclosed held since [0-9:]+ UTC \\([^)]*\\)\e'; }

colours_are_ours() {
    type_in 'drainq status'
    finish
    screen -e | is_coloured
    type_in 'TERM=dumb drainq status'
    finish
    equal "$(screen | sed 's/ *$//')" "$(screen -e | sed 's/ *$//')"
    # An empty NO_COLOR counts as unset (no-color.org).
    type_in 'NO_COLOR= drainq status'
    finish
    screen -e | is_coloured
}

pipes_are_whole() {
    type_in "drainq list | cat >'$work/piped'; drainq status | cat >>'$work/piped'"
    finish
    drainq list >"$work/whole"
    has "behind $(sed -n 1p "$work/crm")" "$work/piped"
    lacks $'\e|…' "$work/piped"
    # The same operations, each on a line of its own, with whole ids.
    equal "$(cut -d' ' -f1 "$work/whole")" "$(head -n "$(wc -l <"$work/whole")" "$work/piped" | cut -d' ' -f1)"
    has "^$id  +updateProfile  deferred " "$work/piped"
}

# --- what moves ---

watch_redraws() {
    local watched=$1
    DRAINQ_QUEUE=$watched drainq init
    type_in "DRAINQ_QUEUE='$watched' drainq status --watch --interval 100ms"
    until_seen '^empty$'
    lines 1 | DRAINQ_QUEUE=$watched drainq add >/dev/null
    until_seen '^1 new; 1 due now$'
    equal 1 "$(grep -c ' new' "$work/seen")"
    lacks '^empty$' "$work/seen"
    tmux_here send-keys C-c
    until_seen "\\[0\\] mark $turn\$"
}

progress_moves_and_goes() {
    local moving first second
    # The run waits twice, for long enough to be seen on a busy machine.
    receive --answer '503 delay=100ms *2' --answer '400 delay=100ms' --answer '204 delay=100ms *3' --answer '204 delay=4s' \
        --answer '204 delay=100ms *9' --answer '204 delay=4s' --answer '204 delay=50ms'
    trap 'kill "$receiver"' EXIT
    moving=$(mktemp -d "$work/queue.XXXXXX")/q
    DRAINQ_QUEUE=$moving drainq init --url "$url/{type}"
    lines 30 | DRAINQ_QUEUE=$moving drainq add >/dev/null
    type_in "DRAINQ_QUEUE='$moving' drainq run --concurrency 1"
    until_seen '^drainq: [0-9] of 30'
    first=$(grep -oE '^drainq: [0-9]+ of 30' "$work/seen")
    until_seen '^drainq: [12][0-9] of 30.*2 deferred.*left$'
    second=$(grep -oE '^drainq: [0-9]+ of 30' "$work/seen")
    [[ $first != "$second" ]] || { echo "it stays at $first"; return 1; }
    equal 1 "$(grep -c ' of 30' "$work/seen")"
    finish
    lacks ' of 30' "$work/seen"
    # Each operation that needs an operator has a line of its own; deliveries have none.
    screen -J >"$work/end"
    equal 1 "$(grep -c 'failed: 400' "$work/end")"
    lacks 'delivered: 204' "$work/end"
    has '^drainq: 27 delivered, 2 deferred, 1 failed in ' "$work/end"
}

# The line stays while other lines are printed above it, however fast or slow they come.
progress_stays() {
    local option=$1 answer=$2 count=$3 staying
    receive --answer "$answer"
    trap 'kill "$receiver"' EXIT
    staying=$(mktemp -d "$work/queue.XXXXXX")/q
    DRAINQ_QUEUE=$staying drainq init --url "$url/{type}"
    lines "$count" | DRAINQ_QUEUE=$staying drainq add --sync none >/dev/null
    # shellcheck disable=SC2086
    DRAINQ_QUEUE=$staying Tests/Interop/footer.py " of $count" "$binary" run --max-time 50s $option
}

short_work_has_none() {
    local short
    receive --answer 204
    trap 'kill "$receiver"' EXIT
    short=$(mktemp -d "$work/queue.XXXXXX")/q
    DRAINQ_QUEUE=$short drainq init --url "$url/{type}"
    lines 3 | DRAINQ_QUEUE=$short drainq add >/dev/null
    type_in "DRAINQ_QUEUE='$short' drainq run"
    finish
    screen -J >"$work/end"
    equal 3 "$(grep -c 'delivered: 204' "$work/end")"
    lacks ' of 3' "$work/end"
}

# The program does not seem to hang: a command that reads the terminal says so, and says how to end the input.
typing_is_asked_for() {
    local typed
    typed=$(mktemp -d "$work/queue.XXXXXX")/q
    DRAINQ_QUEUE=$typed drainq init --url http://127.0.0.1:1/
    type_in "DRAINQ_QUEUE='$typed' drainq add"
    until_seen 'reads operations from the terminal; Ctrl-D'
    tmux_here send-keys -l '{"typed": true}'
    tmux_here send-keys Enter C-d
    finish
    equal 1 "$(DRAINQ_QUEUE=$typed drainq list | grep -c new)"
}

for columns in 80 40; do
    terminal "$columns" || { echo "not ok $columns columns: tmux makes a terminal"; exit 1; }
    for command in 'drainq list --state deferred' 'drainq list --state failed' 'drainq status'; do
        test_that "$columns columns: '$command' fits" fits "$command"
    done
    test_that "$columns columns: list has whole ids, and what each waits for" list_is_useful
    test_that "$columns columns: status says first what needs a person" status_begins_with_people
    test_that "$columns columns: show is a story" show_is_a_story
    test_that "$columns columns: wide and combining characters are cut at the edge" wide_text_ends_at_the_edge
    for command in "drainq show $id" "drainq show $failed_id" "drainq show $strange" 'drainq status'; do
        what=${command/$id/DEFERRED} what=${what/$failed_id/FAILED} what=${what/$strange/QUARANTINED}
        test_that "$columns columns: '$what' escapes what strangers have written" stays_calm "$command"
    done
    test_that "$columns columns: colour is ours, and none at a dumb terminal" colours_are_ours
    test_that "$columns columns: what is piped is whole and plain" pipes_are_whole
    test_that "$columns columns: status --watch redraws in place" watch_redraws "$work/watched-$columns"
    test_that "$columns columns: the progress line moves in one line and is gone at the end" progress_moves_and_goes
    test_that "$columns columns: work for a moment has no progress line" short_work_has_none
    if ((columns == 80)); then
        test_that 'add says that it reads what is typed' typing_is_asked_for
        test_that 'a file that grows and is rotated is followed' follows_a_file
        test_that 'the progress line stays while thousands succeed in a second' progress_stays '' 204 6000
        test_that 'the progress line stays below the lines of --verbose' progress_stays --verbose 204 6000
        test_that 'the progress line stays below slow failures' progress_stays --concurrency=1 '400 delay=100ms' 40
        test_that '80 columns: list has a line for each operation' wide_list_has_one_line_each
    else
        test_that '40 columns: list has two lines for each operation' narrow_list_has_two_lines_each
    fi
done
exit "$failed"
