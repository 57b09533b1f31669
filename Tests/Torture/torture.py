"""What the suites of this folder share: a queue seen from outside, a receiver's ledger, and a line for each test.

Queues are read here by what drainq-queue(5) says, never through drainq, so that the two can disagree.
Python's standard library and strace are all that is needed.
"""

import atexit
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

here = pathlib.Path(__file__).resolve().parent
binary = os.environ.get("DRAINQ", str(here.parent.parent / ".build/debug/drainq"))
# A greater effort multiplies every count of rounds.
effort = int(os.environ.get("DRAINQ_TORTURE", "1"))
# The path as strace and /proc name it, wherever TMPDIR leads.
scratch = pathlib.Path(tempfile.mkdtemp(prefix="drainq-torture-")).resolve()
failures = []

for name in list(os.environ):
    if name.lower().endswith("_proxy") or name.startswith("DRAINQ"):
        del os.environ[name]
# The backtrace of a crash would outlive the suite, with its descriptors.
os.environ["SWIFT_BACKTRACE"] = "enable=no"


# The functions registered for the end also run after SIGTERM, for example from a time-out.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@atexit.register
def _clean():
    shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def test(name):
    """One test: prints `ok NAME`, or `not ok NAME` and the exception. `yield`s a list of counts for the line: `ok NAME (153
    points, 12 re-deliveries)`."""
    told = []
    start = time.monotonic()
    try:
        yield told
    except Exception as problem:
        print(f"not ok {name}")
        print("    " + traceback.format_exc().rstrip().replace("\n", "\n    "))
        failures.append(f"{name}: {problem}")
    else:
        counts = ", ".join(told + [f"{time.monotonic() - start:.0f} s"])
        print(f"ok {name} ({counts})")
    sys.stdout.flush()


def end():
    """Ends a suite: prints the exceptions of all failed tests again, at the end of a long output."""
    for failure in failures:
        print("failed: " + failure.replace("\n", "\n    "))
    sys.exit(1 if failures else 0)


def expect(condition, *told):
    """Raises an exception with the words `told` unless the condition holds."""
    if not condition:
        raise AssertionError(" ".join(str(item) for item in told))


def until(condition, *told, limit=60):
    """Waits until the condition holds; raises an exception with the words `told` after the limit."""
    deadline = time.monotonic() + limit
    while not condition():
        expect(time.monotonic() < deadline, "waited in vain for", *told)
        time.sleep(0.02)


class Queue:
    """A queue directory of its own, with a configuration from keyword arguments."""

    states = ("new", "deferred", "failed", "delivered")

    def __init__(self, url, path=None, route={}, **configuration):
        self.path = pathlib.Path(path or tempfile.mkdtemp(dir=scratch) + "/q")
        result = self("init")
        expect(result.returncode == 0, "init:", result.stderr)
        # Deferred operations are due at once.
        retry = {"base": "1ms", "multiplier": 1, "max": "1ms", "attempts": 100, "jitter": 0}
        document = {"routes": {"default": {"url": url, "retry": retry, **route}}, **configuration}
        (self.path / "drainq.json").write_text(json.dumps(document))

    @classmethod
    def standing(cls, path):
        """Returns an existing queue, without changing it."""
        queue = cls.__new__(cls)
        queue.path = pathlib.Path(path)
        return queue

    def command(self, *arguments):
        return [binary, *map(str, arguments), "--queue", str(self.path)]

    def __call__(self, *arguments, input="", before=(), timeout=120, **options):
        """Runs drainq on this queue to its end. `before` has the words before the command, such as strace's."""
        return subprocess.run(
            [*before, *self.command(*arguments)],
            input=input, capture_output=True, text=not isinstance(input, bytes), timeout=timeout, **options)

    def files(self, state):
        """Yields the paths of the files in a state's directory, without dot files and the queue's own files, in the order
        of their names: the listing order of a directory differs between file systems."""
        for entry in listed(self.path / state):
            if entry.is_dir(follow_symlinks=False):
                if state in ("claimed", "tmp"):
                    yield from (pathlib.Path(file.path) for file in listed(entry.path) if file.name != "lock" and not file.name.startswith("."))
            elif not entry.name.startswith("."):
                yield pathlib.Path(entry.path)

    def operations(self):
        """Returns the places of each operation: id → list of states, one for each file of the operation. Raises an
        exception for a torn file."""
        found = {}
        for state in (*self.states, "claimed"):
            for path in self.files(state):
                header, body = parse(path.read_bytes())
                expect(len(body) == header["length"], path, "is not whole")
                found.setdefault(header["id"], []).append(state)
        return found

    def bodies(self):
        """Returns id → the body's bytes, for each operation in the queue."""
        paths = (path for state in (*self.states, "claimed") for path in self.files(state))
        return {header["id"]: body for header, body in (parse(path.read_bytes()) for path in paths if path.is_file())}


# An answer with a value to keep.
made = '200 body={"id":"made"}'


def with_chain(document):
    """Returns the configuration with a route whose operations send the value that another operation's answer left, if
    any."""
    default = document["routes"]["default"]
    if "keep" in default:
        document["routes"]["next"] = {"url": default["url"].replace("/{id}", "/{kept.id}/{id}"), "keep": {}}
    return document


def add_chains(queue):
    """Adds operations whose answers leave a value for later operations of the key, and these later operations; returns the
    ids."""
    path = queue.path / "drainq.json"
    path.write_text(json.dumps(with_chain(json.loads(path.read_text()))))
    for key in "abc":
        for name, kind in ((f"create-{key}", "default"), (f"next-{key}", "next")):
            queue("add", "--key", key, "--type", kind, "--id", name, input=json.dumps(name))
    return [f"{name}-{key}" for key in "abc" for name in ("create", "next")]


def listed(path):
    """Returns the entries of a directory by name; none if the directory is gone."""
    with contextlib.suppress(FileNotFoundError):
        return sorted(os.scandir(path), key=lambda entry: os.fsencode(entry.name))
    return []


def parse(contents):
    """Returns the header and the body of an operation's file. Ignores the bytes behind the body."""
    line, _, rest = contents.partition(b"\n")
    header = json.loads(line)
    return header, rest[: header["length"]]


class Receiver:
    """`drainq receive` in the background. It answers by the script `answers`, and records its requests, with `bodies` if
    wanted."""

    # Requests of the suite itself do not use up an answer of the script.
    marks = "/torture-mark/"

    def __init__(self, *answers, bodies=False, **options):
        directory = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        self.log = directory / "log"
        url = directory / "url"
        answers = [f"{self.marks}* 204 *1000000000", *(answers or ["204"])]
        words = [word for answer in answers for word in ("--answer", answer)] + ["--bodies"] * bodies
        self.process = subprocess.Popen(
            [binary, "receive", "--json", "--max-time", "2h", "--url-file", str(url), *words],
            stdout=open(self.log, "wb"), stdin=subprocess.DEVNULL, **options)
        atexit.register(self.end)
        deadline = time.monotonic() + 20
        while not (url.exists() and url.read_text().endswith("\n")):
            expect(time.monotonic() < deadline and self.process.poll() is None, "the receiver did not begin")
            time.sleep(0.01)
        self.url = url.read_text().strip()
        self.lock = threading.Lock()
        # The part of the log read so far: the lines without the marks, the same lines as objects, and the start of the
        # rest.
        self.found, self.events, self.marked, self.position = [], [], set(), 0

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()

    def lines(self):
        """Returns the line of each request answered before this call, and perhaps of later requests, in order."""
        self.read()
        return self.found

    def requests(self):
        """Returns the same lines as objects. Numbers count from 1."""
        self.read()
        return self.events

    def ids(self):
        """Returns the id of each received operation, as often as it was received: routes put the id into the path's last
        part."""
        return [request["target"].rsplit("/", 1)[-1] for request in self.requests()]

    def read(self):
        """Waits until the log is complete. The receiver answers first and writes later, in the order of the requests: once
        a new request is in the log, all requests answered before are in the log. A receiver that has ended has written
        all."""
        mark = None
        if self.process.poll() is None:
            mark = self.marks + os.urandom(8).hex()
            with contextlib.closing(http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=30)) as connection:
                connection.request("GET", mark)
                connection.getresponse().read()
        self.take()
        deadline = time.monotonic() + 30
        while mark is not None and mark not in self.marked:
            expect(time.monotonic() < deadline, "the receiver does not write down what it gets")
            time.sleep(0.002)
            self.take()

    def take(self):
        """Reads the whole lines since the last call: the receiver is still writing the text behind the last whole line."""
        with self.lock, open(self.log, "rb") as log:
            log.seek(self.position)
            whole, end, _ = log.read().rpartition(b"\n")
            self.position += len(whole) + len(end)
            found, events = [], []
            for line in whole.decode().split("\n") if end else ():
                event = json.loads(line)
                if event["event"] != "request":
                    continue
                if event["target"].startswith(self.marks):
                    self.marked.add(event["target"])
                    continue
                event["number"] = len(self.events) + len(events) + 1
                found.append(line)
                events.append(event)
            # New lists: a caller may be reading an old list.
            if found:
                self.found, self.events = self.found + found, self.events + events


def free_port():
    """Returns a port outside the range of automatic assignment, so the port is free until a server listens there."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(min(10_000, first - 1000), first)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def strace(*expressions, only=None, follow=True):
    """Returns the words that run a program under strace with injections: `strace("unlinkat:signal=KILL:when=2")`. Counters
    are per thread. `only` restricts the counters to calls on these paths. Without `follow` strace leaves the program's
    child processes alone, such as a run's agents."""
    # strace would obey only the last of several trace lists.
    traced = ",".join(expression.split(":")[0] for expression in expressions)
    words = ["strace", *(["-f"] if follow else []), "-qq", "-o", "/dev/null", "-e", "trace=" + traced]
    for expression in expressions:
        words += ["-e", "inject=" + expression]
    for path in only or ():
        words += ["-P", str(path)]
    return words


def lying(lies):
    """Returns the words before a command whose system calls tell these lies, see lies.c."""
    library = scratch / "lies.so"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, here / "lies.c"], check=True)
    return ["env", f"LD_PRELOAD={library}", f"LIES={lies}"]


def own_mounts(name):
    """Continues in a mount namespace of its own, so that no mount and no loop device outlives the suite. Without the
    permission the suite is skipped; in CI it fails."""
    new_namespace = 0x20000
    if ctypes.CDLL(None).unshare(new_namespace) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        return
    print(f"not ok {name} (mounts need root)" if "CI" in os.environ else f"ok {name} # SKIP mounts need root")
    sys.exit(1 if "CI" in os.environ else 0)


def own_network():
    """Continues in a network namespace of its own if permitted: its loopback interface has both addresses, though a
    container's may lack IPv6, and no other process has a port there."""
    new_namespace = 0x40000000
    if ctypes.CDLL(None).unshare(new_namespace) == 0:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


@contextlib.contextmanager
def mounted(source, *words):
    """Mounts by `mount WORDS SOURCE` for a while, at a place of its own."""
    place = tempfile.mkdtemp(dir=scratch)
    subprocess.run(["mount", *words, str(source), place], check=True)
    try:
        yield pathlib.Path(place)
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
