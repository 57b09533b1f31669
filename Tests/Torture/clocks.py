#!/usr/bin/env python3
"""Clocks that jump: the real binary under libfaketime, which tells it another time of day, also in the middle of a run.

- A due time further away than the schedule could have set is due; one that the operation itself asked for is not.
- The lines of one add keep their order, and the newest value of a key wins, whatever the clock did between.
- Nothing is lost: what expires because the clock was wrong is in failed/ and can be tried again; what a machine has
  accepted before its clock was set is not too old afterwards; failed/ is not emptied by a clock that is a year ahead.
- A run's own deadlines and waits do not follow the time of day.
- What is printed and stored is UTC, in any zone; a leap second is the second before it.
"""

import datetime
import http.server
import json
import os
import shutil
import subprocess
import threading
import time

from torture import Queue, Receiver, end, expect, scratch, test

if shutil.which("faketime") is None:
    print("not ok clocks (needs faketime)" if "CI" in os.environ else "ok clocks # SKIP needs faketime")
    raise SystemExit("CI" in os.environ)

hour, day, year = 3600, 86_400, 365 * 86_400
standard = {"retry": "standard"}
file = scratch / "clock"


def clock(offset, *words):
    """What stands before a command whose clock is so many seconds ahead; the kernel's own times of files are right, and
    so is what counts from the last boot."""
    return ["faketime", "-f", f"{offset:+d}s", "env", *words, "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]


def booted():
    """A machine that was switched on 42 seconds ago, and has no clock of its own."""
    return clock(42 - int(time.time()))


def step_to(file, offset):
    """Sets a clock, at once: a process that looks at it never sees an empty file."""
    beside = file.with_suffix(".new")
    beside.write_text(f"{offset:+d}")
    beside.rename(file)


def stepping(file):
    """A clock that can be set while a process looks at it."""
    step_to(file, 0)
    return clock(0, "-u", "FAKETIME", f"FAKETIME_TIMESTAMP_FILE={file}", "FAKETIME_NO_CACHE=1")


def until(run, came):
    """Waits until something has come while the run goes on."""
    while not came():
        expect(run.poll() is None, "the run has ended before, with", run.returncode)
        time.sleep(0.01)


def add(queue, count=1, offset=0, *words, **fields):
    lines = "".join(json.dumps({"n": number, **fields}) + "\n" for number in range(count))
    result = queue("add", *words, input=lines, before=clock(offset))
    expect(result.returncode == 0, result.stderr)
    return result.stdout.split()


def states(queue):
    return {operation: found for operation, (found,) in queue.operations().items()}


with test("a clock that goes back makes nothing wait longer than the schedule could have said") as told:
    queue = Queue((receiver := Receiver("503", "204")).url + "/{id}", route=standard)
    (operation,) = add(queue)
    expect(queue("run").returncode == 75)
    expect(queue("run", before=clock(-hour)).returncode == 0 and len(receiver.ids()) == 1, "tried before its time")
    expect(queue("run", before=clock(-2 * day)).returncode == 0, "waits for two days")
    expect(receiver.ids() == [operation] * 2 and not queue.operations())

with test("a clock that goes a year ahead, or back again, leaves what was deferred due or waiting") as told:
    queue = Queue((receiver := Receiver("503 *2", "204")).url + "/{id}", route=standard)
    (operation,) = add(queue)
    queue("run")
    # Too old by this clock, and tried all the same; then given up, where a person finds it.
    expect(queue("run", before=clock(year)).returncode == 1 and states(queue) == {operation: "failed"})
    expect(queue("retry", operation).returncode == 0 and queue("run").returncode == 0)
    expect(receiver.ids() == [operation] * 3 and not queue.operations())

with test("a step within a run changes neither its waits nor its deadlines") as told:
    for step in (-2 * day, year):
        retry = {"retry": {"base": "700ms", "multiplier": 1, "max": "700ms", "attempts": 50, "jitter": 0}}
        queue = Queue((receiver := Receiver("503", "204")).url + "/{id}", route=retry)
        (operation,) = add(queue)
        start = time.monotonic()
        run = subprocess.Popen([*stepping(file), *queue.command("run", "--until-empty", "--max-time", "60s")])
        until(run, receiver.ids)
        step_to(file, step)
        expect(run.wait(timeout=60) == 0 and receiver.ids() == [operation] * 2, step, run.returncode)
        expect(time.monotonic() - start < 30, "waited", time.monotonic() - start)

        queue = Queue((receiver := Receiver("silence")).url, route={"timeouts": {"request": "30s"}})
        add(queue)
        start = time.monotonic()
        run = subprocess.Popen(
            [*stepping(file), *queue.command("run", "--max-time", "3s")], stderr=subprocess.DEVNULL)
        until(run, receiver.requests)
        step_to(file, step)
        run.wait(timeout=60)
        took = time.monotonic() - start
        expect(took > 2.5 and len(queue.operations()) == 1, step, "ended after", took)
        told.append(f"{step:+d} s: {took:.0f} s")

with test("the lines of one add keep their order while the clock goes back") as told:
    queue = Queue((receiver := Receiver()).url + "/{id}", route={"ordering": "strict"})
    process = subprocess.Popen(
        [*stepping(file), *queue.command("add")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True)
    ids = []
    for number, step in enumerate((0, -day, year, -year, -2 * year, 60)):
        step_to(file, step)
        for line in range(3):
            process.stdin.write(json.dumps({"n": 10 * number + line}) + "\n")
        process.stdin.flush()
        ids += [process.stdout.readline().strip() for _ in range(3)]
    process.stdin.close()
    process.wait()
    created = [path.name.split("-")[0] for path in sorted(queue.files("new"), key=lambda path: path.name)]
    expect(len(set(created)) == len(ids) == 18, created)
    expect(queue("run").returncode == 0 and receiver.ids() == ids, "sent in another order")

with test("the newest value of a key wins, and its order is kept, though the clock went back between") as told:
    for route in ({"coalesce": True}, {"ordering": "key"}, {"ordering": "strict"}):
        queue = Queue((receiver := Receiver()).url + "/{id}", route=route)
        ids = [add(queue, 1, offset, "--key", "k")[0] for offset in (0, year, -day, 42 - int(time.time()), 0)]
        expect(queue("run").returncode == 0 and not queue.operations())
        due = ids[-1:] if "coalesce" in route else ids
        expect(receiver.ids() == due, route, ids, receiver.ids())

with test("what was accepted before the clock was set is delivered after it, and not too old") as told:
    for route in (standard, {"retry": "standard", "expiresAfter": "7d"}):
        queue = Queue((receiver := Receiver("503 *2", "204")).url + "/{id}", route=route)
        ids = queue("add", input="{}\n{}", before=booted()).stdout.split()
        expect(all(path.name.startswith("19700101T0000") for path in queue.files("new")), list(queue.files("new")))
        expect(queue("run", "--limit", 1, before=booted()).returncode == 75)
        expect(queue("run", "--limit", 1).returncode == 75, "given up", states(queue))
        expect(set(states(queue).values()) <= {"new", "deferred"}, states(queue))
        expect(queue("run", "--now").returncode == 0 and sorted(receiver.ids()[2:]) == sorted(ids), receiver.ids())

with test("a creation far ahead changes nothing; a time that the operation asked for is waited for") as told:
    queue = Queue((receiver := Receiver()).url + "/{id}", route=standard)
    given = {"drainq": 1, "id": "ahead", "createdAt": "2099-01-01T00:00:00Z", "payload": 1}
    expect(queue("add", "--envelope", input=json.dumps(given)).returncode == 0)
    path = queue.path / "tmp" / "by-others"
    path.write_text(json.dumps({"n": 1}))
    os.utime(path, (4_070_908_800, 4_070_908_800))
    path.rename(queue.path / "new" / path.name)
    (later,) = add(queue, 1, 0, "--at", "2099-01-01T00:00:00Z")
    expect(queue("run", "--now").returncode == 0 and len(receiver.ids()) == 2, receiver.ids())
    expect(states(queue) == {later: "new"})
    expect(queue("run", before=clock(100 * year)).returncode == 0 and receiver.ids()[2:] == [later])

with test("what is given up because the clock was a year ahead can be tried again") as told:
    queue = Queue((receiver := Receiver()).url + "/{id}", route={"expiresAfter": "1d"})
    ids = add(queue, 3)
    expect(queue("run", before=clock(year)).returncode == 1 and not receiver.ids(), "sent, though it had expired")
    expect(set(states(queue).values()) == {"failed"} and set(states(queue)) == set(ids))
    expect(queue("retry", "--all").returncode == 0 and queue("run").returncode == 0)
    expect(sorted(receiver.ids()) == sorted(ids) and not queue.operations())

with test("a clock that is a year ahead does not empty failed/; retention does, a day late at most") as told:
    queue = Queue(Receiver("400").url, retention={"failed": "30d"})
    ids = add(queue, 2)
    expect(queue("run").returncode == 1)
    for offset in (0, year, year + day - 60, 0, 31 * day):
        expect(queue("run", before=clock(offset)).returncode == 0 and len(states(queue)) == 2, "removed at", offset)
    queue("run", before=clock(32 * day + 60))
    expect(not queue.operations(), "never removed")

with test("what is printed is UTC in every zone, also in the hour that a change of the clock makes twice") as told:
    queue = Queue("http://localhost/")
    ambiguous = int(datetime.datetime(2027, 10, 31, 1, 30, tzinfo=datetime.timezone.utc).timestamp() - time.time())
    add(queue, 2, ambiguous)
    add(queue, 1, ambiguous, "--at", "2027-10-31T02:45:00+01:00")
    outputs = set()
    for zone in ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Chatham"):
        words = [queue(*words, before=clock(ambiguous + hour, f"TZ={zone}")).stdout
                 for words in (["list", "--json"], ["export"])]
        outputs.add("".join(words))
    expect(len(outputs) == 1, outputs)
    (output,) = outputs
    expect('"2027-10-31T01:45:00Z"' in output and '"createdAt":"2027-10-31T01:' in output, output)


class Asking(http.server.BaseHTTPRequestHandler):
    """Asks for a minute's time, by dates in a leap second."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response_only(429)
        self.send_header("Date", "Sat, 31 Dec 2016 23:59:60 GMT")
        self.send_header("Retry-After", "Sun, 01 Jan 2017 00:00:59 GMT")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


with test("a leap second is the second before it") as told:
    server = http.server.HTTPServer(("127.0.0.1", 0), Asking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    queue = Queue(f"http://127.0.0.1:{server.server_port}/", route=standard)
    given = {"drainq": 1, "id": "leap", "createdAt": "2016-12-31T23:59:60Z", "payload": 1,
             "notBefore": "2016-12-31T23:59:60.5Z"}
    expect(queue("add", "--envelope", input=json.dumps(given)).returncode == 0)
    (path,) = queue.files("new")
    expect(path.name.startswith("20161231T235959.000000Z-leap"), path.name)
    sent = datetime.datetime.now(datetime.timezone.utc)
    expect(queue("run").returncode in (1, 75))
    ended = datetime.datetime.now(datetime.timezone.utc)
    server.shutdown()
    due = json.loads(queue("status", "--json").stdout)["destinations"][0]
    expect("retryAfterUntil" in due, due)
    until = json.loads((queue.path / "state" / "destinations.json").read_text())["destinations"]
    (due,) = [datetime.datetime.fromisoformat(state["notBefore"]) for state in until.values()]
    expect(due - sent >= datetime.timedelta(seconds=60) and due - ended <= datetime.timedelta(seconds=75), due - sent)

with test("two hours of cron: an outage, a token that expires, and bad data, and a message for each") as told:
    phase = ["204"]

    class Phases(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            token = self.headers["Authorization"]
            status = phase[0] if phase[0] != "401" else "204" if token == "Bearer new" else "401"
            self.send_response(int(status))
            if status == "401":
                self.send_header("WWW-Authenticate", "Bearer")
            if status != "204":
                self.send_header("Content-Length", "0")
            self.end_headers()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Phases)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    token = scratch / "token"
    token.write_text("old")
    token.chmod(0o600)
    queue = Queue(
        f"http://127.0.0.1:{server.server_port}/", route={**standard, "headers": {"Authorization": "Bearer ${secret:api}"}},
        secrets={"api": {"file": str(token)}})
    mails, statuses = [], []
    began = time.time()

    def at(minute):
        """How far the clock is ahead then, however long the minutes before it took."""
        return minute * 60 - int(time.time() - began)

    for minute in range(125):
        phase[0] = "503" if 10 <= minute < 30 else "401" if 30 <= minute < 45 else "422" if 45 <= minute < 55 else "204"
        if minute == 40:
            token.write_text("new")
        add(queue, 1, at(minute))
        # Cron's environment, and no terminal: what is said is a mail.
        run = queue("run", before=["env", "-i", *clock(at(minute)), f"PATH={os.environ['PATH']}"])
        statuses.append(run.returncode)
        if run.stdout or run.stderr:
            mails.append((minute, (run.stdout + run.stderr).strip()))
    server.shutdown()
    if "DRAINQ_SHOW" in os.environ:
        print(*(f"    minute {minute}: {text}" for minute, text in mails), sep="\n")
    # What somebody has to do, what was still done an hour later, and that it is over. How many failed meanwhile depends on
    # seconds: a hold's probe is due at the whole minute at which a run begins.
    kinds = ["held: 401", "no longer held", "failed: 422", "held: 422", " more operations failed", "no longer held"]
    expect(
        len(mails) == len(kinds) and all(kind in text for kind, (_, text) in zip(kinds, mails)),
        "mails:", *(f"\n    minute {minute}: {text}" for minute, text in mails))
    # Within the hour from the beginning of the outage: a person was needed for the token, for the data, and for the hold.
    expect(len([minute for minute, _ in mails if minute < 70]) == 4, mails)
    expect(statuses[:10] == [0] * 10 and statuses[-1] == 0, statuses)
    counts = json.loads(queue("status", "--json", before=clock(at(125))).stdout)["states"]
    failed_for_good = counts.get("failed", 0)
    told += [f"{len(mails)} mails", f"{failed_for_good} failed for good"]


end()
