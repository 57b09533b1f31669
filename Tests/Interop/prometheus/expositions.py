#!/usr/bin/env python3
"""expositions.py BEFORE AFTER: tests of the alerts, for promtool test rules, from two expositions that drainq wrote.

For an hour the series are those of BEFORE, written anew each minute; then everything in AFTER happens at once, and no
run comes any more. Each alert fires, and none before.
"""

import re
import sys


def series(file):
    rows = [re.fullmatch(r"(\S+{.*}) (\S+)", line) for line in open(file).read().splitlines() if not line.startswith("#")]
    return {row[1]: float(row[2]) for row in rows}


def moved(name, value, clock, at):
    """A time is as far from `at` as it was from the clock of its exposition."""
    return value - clock + at if "_timestamp_seconds{" in name else value


before, after = series(sys.argv[1]), series(sys.argv[2])
clocks = [next(value for name, value in rows.items() if name.startswith("drainq_exposition_")) for rows in (before, after)]
print("rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:")
for name, value in after.items():
    first = "_x60"
    if name in before:
        step = 60 if re.match("drainq_(exposition|last_run)_timestamp", name) else 0
        first = f"{moved(name, before[name], clocks[0], 0):f}+{step}x59"
    print(f"      - {{ series: '{name}', values: '{first} {moved(name, value, clocks[1], 3600):f}+0x1600' }}")
print("    promql_expr_test:")
lasting = ["NotRunning", "DestinationHeld", "DestinationDown", "InputOutputFailed"]
# A day later what waits for the destination that is down is old, too.
for time, alerts in (("59m", []), ("100m", lasting + ["BacklogOld", "OperationsFailed", "Quarantine"]),
                     ("26h", lasting + ["BacklogOld", "PausedLong"])):
    print(f"      - expr: 'count by (alertname) (ALERTS{{alertstate=\"firing\"}})'\n        eval_time: {time}\n        exp_samples:")
    for alert in alerts:
        print(f"          - {{ labels: '{{alertname=\"Drainq{alert}\"}}', value: {2 if (time, alert) == ('26h', 'BacklogOld') else 1} }}")
