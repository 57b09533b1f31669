#!/usr/bin/env bash
# What drainq writes for Prometheus, read by Prometheus' own parsers: the Python client's and promtool's.
# Prints `ok …` and `not ok …`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
scratch=$(mktemp -d)
receiver=
trap '[[ -z $receiver ]] || kill "$receiver"; rm -rf "$scratch"' EXIT
drainq=${DRAINQ:-$PWD/.build/debug/drainq}
python=/usr/bin/python3
failed=0

# check NAME COMMAND…: the command succeeds.
check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "ok $name"
    else
        echo "not ok $name"
        sed 's/^/# /' <<<"$output"
        failed=1
    fi
}

# value FILE SERIES…: what the Python client reads there, labels in any order.
value() {
    "$python" - "$@" <<'PYTHON'
import sys
from prometheus_client.parser import text_string_to_metric_families
file, name, *labels = sys.argv[1:]
wanted = dict(label.split("=", 1) for label in labels)
with open(file, encoding="utf-8") as text:
    for family in text_string_to_metric_families(text.read()):
        for sample in family.samples:
            if sample.name == name and wanted.items() <= sample.labels.items():
                print(int(sample.value))
PYTHON
}

# is EXPECTED FILE SERIES…
is() {
    local expected=$1 got
    shift
    got=$(value "$@") || return
    [[ $got == "$expected" ]] || { echo "expected $expected, got $got"; return 1; }
}

# A directory with everything in its name that has to be escaped.
queue=$scratch/'a "queue" \with {labels}, and=more'
export DRAINQ_QUEUE=$queue
"$drainq" receive --url-file "$scratch/url" --answer 204 --answer '503' --answer 400 --answer 204 >/dev/null 2>&1 &
receiver=$!
until [[ -s $scratch/url ]]; do kill -0 "$receiver" || exit 1; sleep 0.05; done
url=$(<"$scratch/url")
"$drainq" init --url "$url/{type}" 2>/dev/null
cat >"$queue/drainq.json" <<EOF
{
  routes: { default: { url: "$url/{type}" }, other: { url: "http://127.0.0.1:1/", destination: "elsewhere" } },
  metrics: { textfile: "$scratch/drainq.prom" },
}
EOF
printf '{"n":1}\n{"n":2}\n{"n":3}\n{"n":4}\n' | "$drainq" add >/dev/null
printf '{"n":1}\n' | "$drainq" add --type other >/dev/null
"$drainq" hold --destination "$url" >/dev/null
"$drainq" run 2>/dev/null
check 'a destination that is held' is 1 "$scratch/drainq.prom" drainq_destination_closed "destination=$url" reason=held
check 'operations that are held' is 4 "$scratch/drainq.prom" drainq_operations "destination=$url" state=held
"$drainq" release --destination "$url" >/dev/null
"$drainq" run --concurrency 1 2>/dev/null
"$drainq" status --prometheus >"$scratch/status.prom"

for file in drainq status; do
    check "$file: deliveries" is 2 "$scratch/$file.prom" drainq_delivered_total "destination=$url"
    check "$file: attempts" is 4 "$scratch/$file.prom" drainq_attempts_total "destination=$url"
    check "$file: failures" is 1 "$scratch/$file.prom" drainq_failed_total "destination=$url"
    check "$file: a queue with quotes, braces and backslashes" is 1 "$scratch/$file.prom" \
        drainq_deferred_total destination=elsewhere "queue=$queue"
    check "$file: promtool has nothing to say" \
        bash -c 'said=$(promtool check metrics 2>&1 <"$1") && [[ -z $said ]] || { echo "$said"; exit 1; }' - \
        "$scratch/$file.prom"
done
exit "$failed"
