#!/usr/bin/env python3
"""Has drainq itself make a queue that holds something of everything, and prints it as text.

    DRAINQ=.build/release/drainq Tests/EndToEndTests/Fixtures/record-format-1.py >format-1.txt

This is how format-1.txt was made. It is not made again: what it holds is what a queue of format 1 is. A line that
begins with "directory" or "file" has the mode, for a file the time of its last change, and the path; below a file stand
its lines, each behind "|", the last one behind ">" where no newline ends it, with \\xNN for what is not printable ASCII.
"""

import datetime, json, os, pathlib, shutil, signal, subprocess, sys, tempfile, time

drainq = os.environ.get("DRAINQ", "drainq")
work = pathlib.Path(tempfile.mkdtemp(prefix="drainq-format-"))
queue = work / "queue"
attached = pathlib.Path("/tmp/drainq-format-1-attached.bin")
environment = {"PATH": os.environ["PATH"], "DRAINQ_QUEUE": str(queue), "SWIFT_BACKTRACE": "enable=no"}

configuration = """\
// Every host is reached by way of http_proxy.
{
  version: 1,
  routes: {
    default: { url: "http://api.test/v1/{type}", retry: { schedule: ["1h"], attempts: 9, jitter: 0 } },
    profile: { url: "http://api.test/profile/{key}", method: "PATCH", coalesce: true },
    ledger: { url: "http://ledger.test/entries", ordering: "key" },
    own: { overrides: ["method", "url", "headers"] },
    photo: { url: "http://photo.test/", method: "PUT" },
    busy: { url: "http://busy.test/" },
    down: { url: "http://down.test/" },
    guarded: { url: "http://guarded.test/" },
    slow: { url: "http://slow.test/" },
  },
  retention: { delivered: "30d" },
  bodyFiles: ["/tmp"],
}
"""


def call(*arguments, given="", status=0, **more):
    done = subprocess.run(
        [drainq, *arguments], input=given, capture_output=True, text=True, env={**environment, **more})
    assert done.returncode == status, (arguments, done)


def envelopes(*operations):
    call("add", "--envelope", given="".join(json.dumps(operation) + "\n" for operation in operations))


def operation(id, minute, **fields):
    return {"drainq": 1, "id": id, "createdAt": f"2026-11-20T08:{minute:02}:00.000001Z", **fields}


def answering(answer):
    url = work / "url"
    url.unlink(missing_ok=True)
    receiver = subprocess.Popen([drainq, "receive", "--answer", answer, "--url-file", url], stdout=subprocess.DEVNULL)
    while not url.exists() or not url.read_text().strip():
        time.sleep(0.01)
    return receiver, url.read_text().strip()


def attempt(type, answer, status, *options):
    receiver, proxy = answering(answer)
    call("run", "--quiet", "--type", type, *options, status=status, http_proxy=proxy)
    receiver.kill()
    receiver.wait()


def killed(type, count):
    """A run that dies with everything in flight."""
    receiver, proxy = answering("silence")
    run = subprocess.Popen([drainq, "run", "--quiet", "--type", type], env={**environment, "http_proxy": proxy})
    while len(list(queue.glob("claimed/*/*.json"))) < count:
        time.sleep(0.01)
    time.sleep(0.2)
    run.send_signal(signal.SIGKILL)
    run.wait()
    receiver.kill()
    receiver.wait()


def escaped(line):
    return "".join(chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else f"\\x{byte:02x}" for byte in line)


def listing():
    for path in sorted(queue.rglob("*")):
        status = path.lstat()
        name = path.relative_to(queue)
        if path.is_dir():
            yield f"directory {status.st_mode & 0o7777:04o} {name}"
            continue
        changed = datetime.datetime.fromtimestamp(status.st_mtime, datetime.timezone.utc)
        yield f"file {status.st_mode & 0o7777:04o} {changed:%Y-%m-%dT%H:%M:%SZ} {name}"
        *lines, last = path.read_bytes().split(b"\n")
        yield from ("|" + escaped(line) for line in lines)
        if last:
            yield ">" + escaped(last)


call("init", "--quiet")
(queue / "drainq.json").write_text(configuration)

envelopes(operation("kept", 1, type="photo", payload={"n": 1}))
attempt("photo", "201 body=thanks", 0)
envelopes(operation("failed", 2, payload={"n": 2}))
attempt("default", '404 body="no such thing"', 1)
envelopes(operation("reset", 3, type="invoice", payload={"n": 3}))
attempt("invoice", "reset", 75)
envelopes(operation("twice", 4, type="order", payload={"n": 4}))
attempt("order", "500 body=oops", 75)
attempt("order", "503 retry-after=7 body=later", 75, "--now")
envelopes(operation("asked", 5, type="busy", payload={"n": 5}))
attempt("busy", "429 retry-after=3600", 75)
envelopes(*(operation(f"down-{index}", 6, type="down", payload=index) for index in range(6)))
attempt("down", "reset", 75, "--concurrency", "1")
envelopes(operation("refused", 7, type="guarded", payload={"n": 7}))
attempt("guarded", "401", 69)

envelopes(
    operation("number", 10, type="order", payload=0, contentType="application/vnd.order+json"),
    operation("text", 11, body="zwei Zeilen\nUmlaute: äöü\n", contentType="text/plain; charset=utf-8"),
    operation("binary", 12, type="photo", bodyBase64="AAECCg0KXH//gAA=", contentType="image/x-raw"),
    operation("empty", 13, type="own", method="DELETE", url="http://own.test:8080/things/7?really=yes"),
    operation(
        "fields", 14, type="own", payload=[], method="PUT", url="http://own.test:8080/fields", key="a key / \u00fc",
        headers={"X-One": "1", "X-Many": ["a", "b"]}, idempotencyKey="given-key", expiresAt="2099-01-01T00:00:00Z"),
    operation("old-value", 15, type="profile", key="u7", payload={"plan": "free"}),
    operation("new-value", 16, type="profile", key="u7", payload={"plan": "pro"}),
    operation("first", 17, type="ledger", key="account", payload=1),
    operation("second", 18, type="ledger", key="account", payload=2),
    operation("future", 19, payload={"n": 19}, notBefore="2098-07-06T05:04:03.250Z"),
    operation("unknown", 20, payload={"n": 20}, trace={"id": [1, 2.50, None]}, priority="high"),
)
# Numbers and white space that a decoder would change.
call("add", "--envelope", given='{"drainq":1,"id":"exact","createdAt":"2026-11-20T08:21:00.000001Z",'
     '"payload":{ "price": 1.10, "big": 12345678901234567890 }}\n')
attached.write_bytes(b"elsewhere\n")
envelopes(operation("attached", 22, type="photo", bodyFile=str(attached)))
call("hold", "attached")
call("add", given='{"broken": \n', status=65)
envelopes(*(operation(f"dead-{index}", 24, type="slow", payload=index) for index in range(2)))
killed("slow", 2)
killed("slow", 2)
(queue / "new" / "legacy drop").write_text('{"from": "elsewhere"}')
os.chmod(queue / "new" / "legacy drop", 0o644)
os.utime(queue / "new" / "legacy drop", (1767323045, 1767323045))
call("pause", "--destination", "http://photo.test")
call("pause")

print("\n".join(listing()))
attached.unlink()
shutil.rmtree(work)
