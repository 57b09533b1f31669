#!/usr/bin/env python3
"""Power cuts on ext4, xfs and btrfs.

A queue stands on an image mounted by loop. drainq is stopped after each system call that writes, syncs, makes, moves or
removes something (a sample of these in CI), and the image is copied as it is: what the file system had not written by
then is not in the copy, as after a cut. The copy is mounted, and:

- every operation that had been answered for (its id was printed) is there, whole and in one place (on btrfs also in two),
  or was delivered according to the receiver's ledger;
- nothing stands in the queue that is not whole;
- a run on the copy, with nobody's help, delivers all that is left, each once, and leaves nothing in tmp/, claimed/ or
  quarantine/; what a run that had ended has delivered is not among it;
- the last value that arrives of a key is its newest one;
- what an answer has left for later operations of its key is there for them, or the operation is sent again;
- what was told to be tried again is tried again.

Then the syncs that the promise hangs on are left out one by one: each must be missed, on each file system.
"""

import concurrent.futures
import contextlib
import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from torture import (
    Queue, Receiver, add_chains, effort, end, expect, made, mounted, own_mounts, parse, scratch, strace, test, with_chain)

own_mounts("power cuts")
workers = 2
calls = ["openat", "write", "fsync", "syncfs", "mkdirat", "renameat", "renameat2", "unlinkat"]
# Nothing is written before it is asked for, as far as that can be said: else a sync that is left out would not be missed.
file_systems = {
    "ext4": (["mkfs.ext4", "-q", "-F"], 24, "loop,commit=300"),
    "xfs": (["mkfs.xfs", "-q", "-f"], 300, "loop,nouuid"),
    "btrfs": (["mkfs.btrfs", "-q", "-f"], 128, "loop,commit=300"),
}
if "CI" not in os.environ:
    file_systems = {kind: words for kind, words in file_systems.items() if shutil.which(words[0][0])}
local = threading.local()


class Lost(AssertionError):
    """The promise was broken."""


def hold(condition, *told):
    if not condition:
        raise Lost(" ".join(str(item) for item in told))


def lines(count, **fields):
    return "".join(json.dumps({"n": index, **fields}) + "\n" for index in range(count))


class Scenario:
    """What is cut: a queue that is made ready, a command on it, and what it has promised at a moment."""

    def __init__(self, name, *words, answers=("204",), ready=lambda queue: (), input="", step=1, route={}, **rest):
        self.name, self.words, self.answers, self.ready, self.input = name, words, answers, ready, input
        # Of calls that are made once a line only every `step`th counts.
        self.step, self.route, self.configuration = step, route, rest


def waiting(count):
    return lambda queue: queue("add", input=lines(count)).stdout.split()


def failed(queue):
    """Operations in failed/: a person may try them again."""
    ids = waiting(4)(queue)
    for path in list(queue.files("new")):
        path.rename(queue.path / "failed" / path.name)
    return ids


def of_others(queue):
    """What another program puts into new/."""
    for index in range(3):
        path = queue.path / "tmp" / f"other-{index}"
        path.write_text(json.dumps({"drainq": 1, "id": f"foreign-{index}", "payload": {"n": index}}))
        path.rename(queue.path / "new" / path.name)
    return [f"foreign-{index}" for index in range(3)]


def values_of_keys(queue):
    names = [f"{key}-{value}" for value in range(3) for key in ("a", "b")]
    for name in names:
        queue("add", "--key", name[0], "--id", name, input=json.dumps(name))
    return names


def exported():
    """Operations of another queue: new ones, deferred ones and failed ones."""
    other = Queue(Receiver("503").url, route={"retry": {"base": "1ms", "max": "1ms", "attempts": 2, "jitter": 0}})
    for _ in range(3):
        other("add", input=lines(8))
        other("run", "--limit", 12)
    return other("export").stdout


scenarios = [
    Scenario("add", "add", input=lines(1)),
    Scenario("add, 1,000 lines", "add", input=lines(1000), step=190),
    Scenario("add --atomic", "add", "--atomic", input=lines(20), step=5),
    Scenario("import", "import", input=exported(), step=7),
    Scenario("run, delivered", "run", ready=waiting(8)),
    Scenario("run, deferred", "run", answers=["503"], ready=waiting(4)),
    Scenario("run, failed", "run", answers=["400"], ready=waiting(4)),
    Scenario("run, with retention", "run", ready=waiting(4), retention={"delivered": "1d"}),
    Scenario("run, coalescing", "run", ready=values_of_keys, route={"coalesce": True}),
    Scenario("run, chains", "run", answers=[made], ready=add_chains, route={"keep": {"id": "/id"}}),
    Scenario("run, files of others", "run", ready=of_others),
    Scenario("retry", "retry", "--all", "--json", ready=failed),
]


class Moment:
    """An image as it was at one moment, what had been promised by then, and what delivered."""

    def __init__(self, image, call, promised, output, receiver):
        self.call = call
        # The ledger and the answers first: what comes while the image is being copied is too late.
        self.delivered = receiver.ids() if receiver.answers in (("204",), (made,)) else []
        answered = [line.strip() for line in output.read_text().splitlines(keepends=True) if line.endswith("\n")]
        self.retried = {json.loads(line)["id"] for line in answered if line.startswith("{")}
        self.promised = {*promised, *self.retried, *(line for line in answered if not line.startswith("{"))}
        self.image = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "image"
        subprocess.run(["cp", "--sparse=always", str(image), str(self.image)], check=True)


@functools.cache
def empty(kind):
    words, megabytes, _ = file_systems[kind]
    image = scratch / kind
    with open(image, "wb") as file:
        os.truncate(file.fileno(), megabytes << 20)
    subprocess.run([*words, str(image)], check=True, capture_output=True)
    return image


def moments(kind, scenario, wanted, left_out=()):
    """Runs the command of a scenario, and yields a `Moment` after those of its calls that are wanted, and at its end."""
    image = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "image"
    log, output, given = (image.with_name(name) for name in ("log", "output", "input"))
    subprocess.run(["cp", "--sparse=always", str(empty(kind)), str(image)], check=True)
    log.touch()
    given.write_text(scenario.input)
    receiver = Receiver(*scenario.answers)
    receiver.answers = tuple(scenario.answers)
    words = strace(*left_out, *(f"{call}:signal=STOP:when=1+{scenario.step}" for call in calls if wanted))
    words[words.index("/dev/null")] = str(log)
    with mounted(image, "-o", file_systems[kind][2]) as place:
        queue = Queue(receiver.url + "/{id}", place / "q", scenario.route, **scenario.configuration)
        promised = scenario.ready(queue)
        subprocess.run(["sync", "-f", str(place)], check=True)
        with open(given) as input, open(output, "wb") as out:
            process = subprocess.Popen(
                [*words, *queue.command(*scenario.words)], stdin=input, stdout=out, stderr=subprocess.DEVNULL,
                start_new_session=True)
        seen = 0
        try:
            while process.poll() is None:
                text = log.read_text(errors="replace")
                stopped = re.findall(r"^(\d+) +--- stopped by SIGSTOP", text, re.M)
                if len(stopped) == seen:
                    time.sleep(0.002)
                    continue
                for number in range(seen, len(stopped)):
                    made = re.findall(rf"^{stopped[number]} +(\w+\(.*)", text, re.M)
                    # What opens nothing new writes nothing; and not all threads that stop have made a call.
                    if made and ("O_CREAT" in made[-1] or not made[-1].startswith("openat")) and wanted():
                        yield Moment(image, made[-1], promised, output, receiver)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(stopped[number]), signal.SIGCONT)
                seen = len(stopped)
        finally:
            # What is stopped would stay so for ever, with the image.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        yield Moment(image, "the end", promised, output, receiver)
    receiver.end()
    shutil.rmtree(image.parent)


def standing(queue):
    """Operations in the queue, id → states; what others have dropped, and is not admitted yet, left out."""
    found = {}
    for state in (*queue.states, "claimed"):
        for path in queue.files(state):
            if re.match(r"\d{8}T", path.name):
                try:
                    header, body = parse(path.read_bytes())
                    hold(len(body) == header["length"], path, "is not whole")
                except ValueError as error:
                    raise Lost(f"{path} is not whole: {error}") from error
                found.setdefault(header["id"], []).append(state)
    return found


def check(kind, scenario, moment):
    """Raises `Lost` unless a copy keeps the promise; returns how many operations were delivered twice."""
    if not hasattr(local, "receiver"):
        local.receiver, local.seen = Receiver(made), 0
    coalesces = scenario.route.get("coalesce")
    configuration = moment.image.with_name("drainq.json")
    route = {"url": local.receiver.url + "/{id}", **scenario.route}
    configuration.write_text(json.dumps(with_chain({"routes": {"default": route}})))
    try:
        with mounted(moment.image, "-o", file_systems[kind][2]) as place:
            queue = Queue.standing(place / "q")
            found = standing(queue)
            for operation in moment.promised:
                # btrfs can bring a name back from before a rename: two generations, of which drainq keeps the later.
                hold(len(found.get(operation, [])) < 2 or kind == "btrfs", operation, "is in", found.get(operation))
                hold(operation in found or operation in moment.delivered or coalesces or "foreign" in operation,
                     operation, "is lost")
            result = queue("run", "--json", "--until-empty", "--now", "--config", configuration)
            expect(result.returncode == 0, result.returncode, result.stderr)
            left = [path for state in ("new", "deferred", "claimed", "tmp", "quarantine") for path in queue.files(state)]
            hold(not left, "a run has left", *left)
            failed = [operation for operation, states in standing(queue).items() if states == ["failed"]]
            again = local.receiver.ids()[local.seen:]
            local.seen += len(again)
    finally:
        shutil.rmtree(moment.image.parent)
    arrived = moment.delivered + again
    for operation in moment.promised if not coalesces else ():
        hold(operation in arrived or operation in failed and operation not in moment.retried,
             operation, "was not delivered")
    for key in ("a", "b") if coalesces else ():
        values = [operation for operation in arrived if operation.startswith(key)]
        hold(values and values[-1] == f"{key}-2", "what arrived of a key is", values)
    twice = set(moment.delivered) & set(again)
    hold(len(again) == len(set(again)), "sent twice by one run:", again)
    # What a run that has ended has delivered is gone for good.
    hold(not twice or moment.call != "the end", "sent again:", twice)
    return len(twice)


def cut(kind, scenario, share):
    """Cuts, and checks the copies meanwhile; returns how many cuts there were, and how many were delivered twice."""
    chance = random.Random(f"{kind} {scenario.name}")
    pending, again, count = {}, 0, 0

    def take(futures):
        nonlocal again
        for future in futures:
            call = pending.pop(future)
            try:
                again += future.result()
            except Exception as error:
                raise AssertionError(f"{scenario.name}, cut after {call}: {error}") from error

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for moment in moments(kind, scenario, lambda: chance.random() < share):
            pending[pool.submit(check, kind, scenario, moment)] = moment.call
            count += 1
            if len(pending) > workers:
                take(concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED).done)
        take(concurrent.futures.wait(pending).done)
    return count, again


for kind in file_systems:
    share = 0.06 if kind == "ext4" else 0.025
    with test(f"a power cut on {kind} loses nothing that was answered for, and a run delivers the rest") as told:
        results = [cut(kind, scenario, share if effort == 1 else 1) for scenario in scenarios]
        told.append(f"{sum(count for count, _ in results)} cuts, {sum(again for _, again in results)} re-deliveries")

# Many are synced together, but so few that the small journal of ext4 here is not written back for being full.
many = Scenario("add, 100 lines", "add", input=lines(100), step=20)
left_out = {
    "the sync of a file": (scenarios[0], "fsync:retval=0:when=1"),
    "the sync of a file's directory": (scenarios[0], "fsync:retval=0:when=2"),
    "the sync of many files": (many, "syncfs:retval=0"),
    "the sync of the directory of many": (many, "fsync:retval=0"),
    "the sync of what is to be tried again": (scenarios[-1], "fsync:retval=0"),
}


def is_missed(kind, scenario, expression):
    """Whether something is lost without the sync. Another program's sync(2), or the kernel by itself, may write what it was
    to write: so it is tried again."""
    for _ in range(3):
        moment = list(moments(kind, scenario, None, [expression]))[-1]
        try:
            check(kind, scenario, moment)
        except Lost:
            return True
    return False


for kind in file_systems:
    with test(f"a sync that is left out is missed on {kind}") as told:
        for what, (scenario, expression) in left_out.items():
            expect(is_missed(kind, scenario, expression), "nobody misses", what)
        told.append(f"{len(left_out)} syncs")

end()
