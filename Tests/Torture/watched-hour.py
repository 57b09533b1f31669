#!/usr/bin/env python3
"""An hour of three destinations under libfaketime, looked at each minute: what `status` says is compared with the truth.

- One destination answers 503 from minute 13 to 44; one refuses its credentials from minute 20 until somebody puts the new
  token there in minute 50; one is well all the time. A run and an operation for each come every minute.
- From two minutes after the first run that met an outage on, until the first that did not, the verdict, `--json`, the
  metrics and the page name the destination, whatever its circuit breaker does meanwhile; the page warns before. What is well
  is never named. The server's words are there as long as the hold is.
- Afterwards `drainq log` tells the four changes, at their minutes, and all that was added is delivered.
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

from torture import Queue, end, expect, scratch, test

if shutil.which("faketime") is None:
    print("not ok watched-hour (needs faketime)" if "CI" in os.environ else "ok watched-hour # SKIP needs faketime")
    raise SystemExit("CI" in os.environ)

outage, refusal = range(13, 45), range(20, 50)
minute = [0]
delivered = []


class Three(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind = self.path.strip("/")
        status, words = 204, b""
        if kind == "api" and minute[0] in outage:
            status, words = 503, b"busy, come again"
        if kind == "crm" and minute[0] >= refusal[0] and self.headers["Authorization"] != "Bearer new":
            status, words = 401, b"token expired on Tuesday"
        if status == 204:
            delivered.append((kind, json.loads(body)["n"]))
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)


with test("an hour of three destinations, looked at each minute") as told:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Three)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    token = scratch / "crm.token"
    token.write_text("old")
    token.chmod(0o600)
    queue = Queue(url)
    routes = {kind: {"url": f"{url}/{kind}", "destination": kind, "retry": {"base": "30s", "max": "2m", "jitter": 0}}
              for kind in ("api", "crm", "well")}
    routes["crm"]["headers"] = {"Authorization": "Bearer ${secret:crm}"}
    (queue.path / "drainq.json").write_text(json.dumps({"routes": routes, "secrets": {"crm": {"file": str(token)}}}))
    began = time.time()
    start = datetime.datetime.fromtimestamp(began, datetime.timezone.utc)

    def clock():
        """The clock is so many minutes ahead, however long the minutes before took."""
        ahead = minute[0] * 60 - int(time.time() - began)
        return ["faketime", "-f", f"{ahead:+d}s", "env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]

    def truth():
        """What the last run must have found out: a destination in trouble, and the minute from which on."""
        now = {}
        if minute[0] in outage or minute[0] > outage[-1] and not any(kind == "api" for kind, _ in delivered[back[0]:]):
            # Five failures in a row, two of them by operations that are attempted again.
            now["api"] = "down" if minute[0] > outage[0] + 1 else "warned"
        # Two operations that meet 401 hold the destination: the second comes a minute later.
        if minute[0] in range(refusal[0] + 1, refusal[-1] + 1):
            now["crm"] = "held"
        return now

    # How much had been delivered when the outage was over: from the next delivery on all is well there.
    looks, back = 0, [0]
    for minute[0] in range(60):
        if minute[0] == refusal[-1] + 1:
            token.write_text("new")
        if minute[0] == outage[-1] + 1:
            back[0] = len(delivered)
        for kind in routes:
            added = queue("add", "--type", kind, input=json.dumps({"n": minute[0]}), before=clock())
            expect(added.returncode == 0, added.stderr)
        queue("run", before=clock())
        status = json.loads(queue("status", "--json", before=clock()).stdout)
        first = queue("status", before=clock()).stdout.splitlines()[0]
        metrics = queue("status", "--prometheus", before=clock()).stdout
        page = queue("status", "--html", before=clock()).stdout
        known = truth()
        wrong = {kind: state for kind, state in known.items() if state != "warned"}
        said = {row["destination"]: "down" for row in status["destinations"] if row.get("downSince")}
        said |= {hold["destination"]: "held" for hold in status["holds"]}
        expect(said | wrong == said and set(said) <= set(known), f"minute {minute[0]}: status says {said}, and true is {known}")
        expect(status["inTrouble"] == len(wrong), minute[0], first)
        rows = {kind: sign for sign, kind in re.findall(r'<tr class="(\w+)[^"]*"><th scope="row">.{0,140}?<b>(\w+)</b>', page)}
        signs = {"down": "bad", "held": "held", "warned": "warn"}
        # The hold begins with the second refusal.
        before = {"crm": "warned"} if minute[0] == refusal[0] else {}
        for kind in routes:
            named = f"{kind} is {wrong.get(kind)}" in first
            expect(named == (kind in wrong), f"minute {minute[0]}: {first}")
            expect(rows[kind] == signs.get((known | before).get(kind), "ok"), minute[0], rows)
            expect((f'drainq_down_since_timestamp_seconds{{queue="{queue.path}",destination="{kind}"}}' in metrics)
                   == (wrong.get(kind) == "down"), minute[0], metrics)
        if "crm" in wrong:
            for words in ("status", "list", "show"):
                ids = ["--state", "held"] if words == "list" else [] if words == "status" else [
                    json.loads(queue("list", "--json", "--state", "held", before=clock()).stdout.splitlines()[0])["id"]]
                expect("token expired on Tuesday" in queue(words, "--json", *ids, before=clock()).stdout, minute[0], words)
            expect("token expired on Tuesday" in page, minute[0])
        for row in status["destinations"]:
            if since := row.get("downSince"):
                at = (datetime.datetime.fromisoformat(since) - start).total_seconds() / 60
                expect(outage[0] - 0.1 <= at <= outage[0] + 1, "down since minute", at)
        looks += 1
    story = [json.loads(line) for line in queue("log", "--json", before=clock()).stdout.splitlines()]
    changes = [(event["event"], event["destination"],
                round((datetime.datetime.fromisoformat(event["at"]) - start).total_seconds() / 60))
               for event in story if event["event"] in ("down", "up", "held", "released")]
    kinds = [(event, destination) for event, destination, _ in changes]
    expect(kinds == [("down", "api"), ("held", "crm"), ("up", "api"), ("released", "crm")], changes)
    for (_, _, at), expected in zip(changes, (outage[0] + 4, refusal[0] + 1, outage[-1] + 2, refusal[-1] + 1)):
        expect(abs(at - expected) <= 3, changes)
    told_lines = queue("log", before=clock()).stdout.splitlines()
    # A clock of whole seconds: 29 minutes may be a second less.
    for line in (r'api down: 503 "busy, come again" \(\d attempts in \dm( \d+s)?\); [1-9]\d* waiting', r"crm held: .*token expired on Tuesday.*; [1-9]\d* waiting",
                 r"api up after 3\dm; [1-9]\d* delivered", r"crm released after (28|29|30)m"):
        expect(any(re.search(line, said) for said in told_lines), line, told_lines)
    # What was deferred is sent when its time has come.
    for minute[0] in range(60, 66):
        queue("run", "--limit", "1000", before=clock())
    expect(sorted(set(delivered)) == sorted((kind, n) for kind in routes for n in range(60)), len(set(delivered)))
    counted = sum(event.get("delivered", 0) for event in
                  map(json.loads, queue("log", "--json", before=clock()).stdout.splitlines()) if event["event"] == "attempts")
    expect(counted == len(delivered), counted, len(delivered))
    server.shutdown()
    if "DRAINQ_SHOW" in os.environ:
        print(queue("log", before=clock()).stdout)
    told += [f"{looks} looks"]

end()
