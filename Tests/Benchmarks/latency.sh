#!/usr/bin/env bash
# How near a run comes to the physical limit: 50 operations, a server that takes 100 ms for each, five at a time = 1.0 s.
# Prints, for each of five runs, the whole process's wall time and the start-up (a run on the empty queue), in seconds,
# and the medians with their ratio to the limit. Needs a release build: swift build -c release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
drainq=$(swift build -c release --show-bin-path)/drainq
[[ -x $drainq ]] || { echo "build first: swift build -c release" >&2; exit 1; }
work=$(mktemp -d)
receiver=
trap '[[ -z $receiver ]] || kill "$receiver" 2>/dev/null; rm -rf "$work"' EXIT
export DRAINQ_QUEUE=$work/queue

"$drainq" receive --answer '204 delay=100ms' --count 250 --max-time 60s --url-file "$work/url" >/dev/null &
receiver=$!
until [[ -s $work/url ]]; do sleep 0.05; done
"$drainq" init --quiet --url "$(<"$work/url")/{type}"

seconds() { # COMMAND…: its wall time
    local start=$EPOCHREALTIME
    "$@"
    awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f\n", b - a }'
}
median() { sort -n "$1" | sed -n 3p; }

for _ in 1 2 3 4 5; do
    seq 50 | "$drainq" add >/dev/null
    seconds "$drainq" run --concurrency 5 >>"$work/run"
    seconds "$drainq" run >>"$work/empty"
done
paste -d' ' "$work/run" "$work/empty" | sed 's/^/run, empty run: /'
awk -v run="$(median "$work/run")" -v empty="$(median "$work/empty")" \
    'BEGIN { printf "median %.3f s, start-up %.3f s: %.2f x the limit of 1.0 s plus start-up\n", run, empty, run / (1 + empty) }'
