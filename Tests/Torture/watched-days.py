#!/usr/bin/env python3
"""A week of cron and two days of 500 under libfaketime, looked at after each run: what `status` says is compared with the
truth, and the alerts with what the queue exposed at each look.

- The week: six hours before cron is set up, a dead cron for 20 hours, two hours of a wrong host until the url is corrected,
  a pause of 20 hours, an operation refused for good until somebody drops it, a line in quarantine until somebody drops it,
  and days without any work.
- The two days: a server answers 500 to everything for 48 hours.

Looks are an hour and half an hour apart, divided by DRAINQ_TORTURE: DRAINQ_TORTURE=60 looks each minute. Needs faketime and
promtool.
"""

import datetime
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import time

from torture import Queue, effort, end, expect, scratch, test

for tool in ("faketime", "promtool"):
    if shutil.which(tool) is None:
        print(f"not ok watched-days (needs {tool})" if "CI" in os.environ else f"ok watched-days # SKIP needs {tool}")
        raise SystemExit("CI" in os.environ)

rules = os.path.join(os.path.dirname(__file__), "../../etc/prometheus/drainq.rules.yml")


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer = 204

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = 422 if body == "bad" else self.answer
        if status == 204:
            self.server.delivered.append(body)
        words = b"" if status == 204 else b'{"error":"maintenance"}'
        self.send_response(status)
        if words:
            self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)


class Watched:
    """A queue with a clock of its own, and what it exposed at each look."""

    def __init__(self, name, step):
        self.step = max(1, step // effort)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        self.server.delivered = []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.queue = Queue(self.url)
        self.calls = scratch / f"{name}.calls"
        self.hook = scratch / f"{name}.hook"
        self.hook.write_text(f"#!/bin/sh\ncat >>'{self.calls}'\n")
        self.hook.chmod(0o755)
        self.configure(self.url)
        self.start = datetime.datetime(2026, 12, 7, tzinfo=datetime.timezone.utc)
        self.minute, self.began, self.exposed = 0, time.time(), []

    def configure(self, url):
        hooks = {event: [str(self.hook)] for event in ("held", "released", "down", "up", "failed", "quarantined")}
        (self.queue.path / "drainq.json").write_text(json.dumps(
            {"routes": {"default": {"url": f"{url}/x", "destination": None}}, "hooks": hooks}))

    def __call__(self, *words, **options):
        """drainq at the minute, whatever the real time is."""
        ahead = int(self.start.timestamp() + self.minute * 60 - time.time())
        clock = ["faketime", "-f", f"{ahead:+d}s", "env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]
        result = self.queue(*words, before=clock, **options)
        expect(result.returncode not in (64, 66, 70, 74, 77, 78), self.minute, words, result.stderr)
        return result

    def look(self):
        """Returns the first line of `status` and `status --json`."""
        metrics = self("status", "--prometheus").stdout
        self.exposed.append((self.minute, dict(re.findall(r"^(\w+\{.*\}) (\S+)$", metrics, re.MULTILINE))))
        status = json.loads(self("status", "--json").stdout)
        return status["verdict"], status

    def called(self):
        return [(call["event"], round((datetime.datetime.fromisoformat(call["time"]) - self.start).total_seconds() / 60))
                for call in map(json.loads, self.calls.read_text().splitlines())] if self.calls.exists() else []

    def fires(self, expected):
        """Asks promtool which alerts fire at these minutes. Between two looks a scrape finds the figures of the look
        before, and its own time."""
        names = dict.fromkeys(name for _, rows in self.exposed for name in rows)
        lines = ["rule_files: [rules.yml]", "evaluation_interval: 1m", "tests:", "  - interval: 1m", "    input_series:"]
        zero = self.start.timestamp()
        for name in names:
            values, stride = [], name.startswith("drainq_exposition_")
            for minute, rows in self.exposed:
                if name not in rows:
                    values.append(f"_x{self.step}")
                    continue
                value = float(rows[name]) - (zero if "_timestamp_seconds" in name else 0)
                values.append(f"{value:.0f}+{60 if stride else 0}x{self.step - 1}")
            lines.append(f"      - {{ series: '{name}', values: '{' '.join(values)}' }}")
        lines.append("    promql_expr_test:")
        for minute, alerts in expected:
            lines += ["      - expr: 'count by (alertname) (ALERTS{alertstate=\"firing\"})'", f"        eval_time: {minute}m",
                      "        exp_samples:"]
            lines += [f"          - {{ labels: '{{alertname=\"Drainq{alert}\"}}', value: 1 }}" for alert in alerts]
        directory = scratch / f"rules-{id(self)}"
        directory.mkdir()
        shutil.copy(rules, directory / "rules.yml")
        (directory / "test.yml").write_text("\n".join(lines) + "\n")
        said = subprocess.run(["promtool", "test", "rules", "test.yml"], cwd=directory, capture_output=True, text=True)
        expect(said.returncode == 0, said.stdout[-3000:], said.stderr[-3000:])


hours = lambda first, last: range(first * 60, last * 60)

with test("a week of cron, looked at after each run") as told:
    never, dead, wrong, paused = hours(0, 6), hours(34, 54), hours(60, 62), hours(70, 90)
    work, bad, seen, junk, gone = hours(0, 132), 100 * 60, 104 * 60, 108 * 60, 110 * 60
    watched, looks, added, kinds = Watched("week", 60), 0, 0, {}
    step = watched.step
    for watched.minute in range(0, 7 * 24 * 60, step):
        minute = watched.minute
        if minute == wrong[0]:
            watched.configure("http://wrong-host.invalid")
        if minute == wrong[-1] + 1:
            watched.configure(watched.url)
        if minute == paused[0]:
            watched("pause")
        if minute == paused[-1] + 1:
            watched("resume")
        if minute in work and minute % 60 == 0:
            watched("add", input=json.dumps(minute))
            added += 1
        if minute == bad:
            watched("add", input='"bad"')
        if minute == junk:
            watched("add", input="no operation")
        if minute == seen:
            watched("drop", "--state", "failed")
        if minute == gone:
            watched("drop", "--state", "quarantined")
        if minute not in never and minute not in dead:
            watched("run", "--limit", "1000")
        verdict, status = watched.look()
        # The state that must be told, and the words that it is told with.
        if minute in never:
            kind, words = "never", "no run has come yet: "
        elif minute in paused:
            kind, words = "paused", "the queue is paused: "
        elif minute in dead and minute - dead[0] + step > 5 * step and minute - dead[0] + step > 15:
            kind, words = "dead", "nobody runs this queue: no run for "
        elif minute in wrong and minute - wrong[0] >= 15:
            kind, words = "wrong", "1 of 1 destination is in trouble: http://wrong-host.invalid is down"
        elif bad <= minute < seen:
            kind, words = "failed", "1 operation failed for good"
        elif junk <= minute < gone:
            kind, words = "quarantined", "1 file is in quarantine: "
        else:
            kind, words = "well", "all is well: "
        about = minute in dead or minute in wrong
        expect(verdict.startswith(words) or kind == "well" and about, f"minute {minute} is {kind}: {verdict}")
        expect(status["inTrouble"] == (kind == "wrong"), minute, verdict)
        kinds[kind] = kinds.get(kind, 0) + 1
        looks += 1
    expect(sorted(watched.server.delivered) == list(range(0, work[-1], 60)), len(watched.server.delivered), added)
    log = watched("log").stdout
    for line in (r"no run.* 2[01]h", r"paused", r"resumed", r"422", r"quarantin", r"wrong-host"):
        expect(re.search(line, log), line, log)
    expect([event for event, _ in watched.called()] == ["down", "up", "failed", "quarantined"], watched.called())
    mid = lambda span: span[len(span) // 2]
    watched.fires([(mid(never), ["NotRunning"]), (30 * 60, []), (mid(dead) // step * step, ["NotRunning", "BacklogOld"]),
                   (58 * 60, []), (wrong[-1] - 5, ["DestinationDown"]), (64 * 60, []), (mid(paused), []),
                   (bad + 40, ["OperationsFailed"]), (106 * 60, []), (junk + 40, ["Quarantine"]), (150 * 60, [])])
    told += [f"{looks} looks", ", ".join(f"{count} {kind}" for kind, count in kinds.items())]
    watched.server.shutdown()

with test("two days of 500, looked at after each run") as told:
    outage = hours(6, 54)
    watched, looks = Watched("days", 30), 0
    step = watched.step
    for watched.minute in range(0, 66 * 60, step):
        minute = watched.minute
        Server.answer = 500 if minute in outage else 204
        if minute % 60 == 0 and minute < 56 * 60:
            watched("add", input=json.dumps(minute))
        watched("run", "--limit", "1000", *(["--now"] if minute == outage[-1] + 1 else []))
        verdict, status = watched.look()
        if minute in outage and minute - outage[0] >= 15:
            expect(verdict.startswith("1 of 1 destination is in trouble: ") and "500" in verdict, minute, verdict)
            expect(status["level"] == "critical", minute, status["level"])
            lines = watched("status").stdout
            expect('500 "maintenance"' in lines, minute, lines)
        elif minute not in outage:
            expect(verdict.startswith("all is well"), minute, verdict)
        looks += 1
    expect(sorted(watched.server.delivered) == list(range(0, 56 * 60, 60)), len(watched.server.delivered))
    calls = watched.called()
    expect([event for event, _ in calls] == ["down", "up"], calls)
    expect(30 <= calls[0][1] - outage[0] <= 30 + step and calls[1][1] == outage[-1] + 1, calls)
    log = watched("log").stdout
    expect(re.search(r'down.*500 "maintenance"', log) and re.search(r"up after 2d|up after 1d", log), log)
    watched.fires([(5 * 60, []), (outage[0] + 70, ["DestinationDown"]), (outage[-1], ["BacklogOld", "DestinationDown"]),
                   (60 * 60, [])])
    told += [f"{looks} looks"]
    watched.server.shutdown()

end()
