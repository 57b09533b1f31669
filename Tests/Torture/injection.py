"""The system calls of a command: lists them, and runs the command again with interference in one of them. Also the queues
and receivers for these commands.

Only the command's main thread is traced, because only the main thread touches a queue; delivery agents are left alone.
Counters begin with the program, so the calls before the queue is opened (the loader's) are known by their numbers and
left out.
"""

import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import re
import shutil
import tempfile
import time

from torture import Queue, Receiver, effort, expect, scratch

# The visible calls of a command, together with each openat that makes a file. Between these calls the queue, the delivery
# agent and the answers given do not change, so a kill before each of them, and at the end, is a kill in each state.
changing = {
    "write", "fsync", "syncfs", "fchmod", "renameat", "renameat2", "linkat", "unlinkat", "mkdirat",
    "sendto", "recvfrom", "clone3", "clone", "vfork", "shutdown", "kill", "exit_group",
}
# The other calls that can fail, or at which a process can die.
watching = {
    "openat", "read", "pread64", "close", "flock", "getdents64", "newfstatat", "fstat", "fstatfs", "statfs",
    "readlink", "socketpair", "poll", "pipe2", "wait4",
}

Call = collections.namedtuple("Call", "name number text")


def strace(log, *expressions, follow=False):
    words = ["strace", "-qq", "-s", "200", "-o", str(log)] + (["-f"] if follow else [])
    for expression in expressions:
        words += ["-e", expression]
    return words


def calls(queue, *arguments, **options):
    """Runs the command to its end. Returns how the command ended, and its calls from the opening of the queue on."""
    log = tempfile.mktemp(dir=scratch)
    names = ",".join(sorted(changing | watching))
    result = queue(*arguments, before=strace(log, "trace=" + names, "signal=none"), **options)
    counts, found = collections.Counter(), None
    for line in pathlib.Path(log).read_text(errors="replace").splitlines():
        name = line.split("(")[0]
        counts[name] += 1
        if found is None and name == "openat" and f'"{queue.path}"' in line:
            found = []
        if found is not None:
            found.append(Call(name, counts[name], line))
    expect(found, "the command did not open its queue:", result)
    return result, found


def callsOfAgents(queue, *arguments):
    """Returns the calls that delivery agents make and the command itself never does, also before it opens the queue; the
    text is empty. The thread of an agent that makes the nth call is not known beforehand."""
    log = tempfile.mktemp(dir=scratch)
    queue(*arguments, before=strace(log, "signal=none", follow=True))
    counts = collections.Counter()
    for line in pathlib.Path(log).read_text(errors="replace").splitlines():
        thread, _, text = line.partition(" ")
        if match := re.match(r"(\w+)\(", text.lstrip()):
            counts[thread, match[1]] += 1
    # The first thread that makes calls is the command's.
    command = next(iter(counts))[0]
    own = {name for thread, name in counts if thread == command}
    return sorted({
        Call(name, number, "") for (_, name), count in counts.items() if name not in own
        for number in range(1, count + 1)})


def interfered(queue, call, how, *arguments, follow=False, **options):
    """Runs the command with interference in one of its calls. Returns how the command ended, and the line of the call if
    the command reached the call. A kill has no such line: the status tells of the kill."""
    log = tempfile.mktemp(dir=scratch)
    expressions = [f"trace={call.name}", f"inject={call.name}:{how}", "signal=none"]
    result = queue(*arguments, before=strace(log, *expressions, follow=follow), **options)
    lines = pathlib.Path(log).read_text(errors="replace").splitlines()
    os.unlink(log)
    return result, [line for line in lines if "(INJECTED)" in line]


def changes(call):
    return call.name in changing or "O_CREAT" in call.text


def sample(points, most, isAlways=changes):
    """Returns the points for which `isAlways` holds, and a sample of `most` other points, spread over all of them."""
    always = [point for point in points if isAlways(point)]
    others = [point for point in points if not isAlways(point)]
    if effort >= 10 or len(others) <= most * effort:
        return points
    step = len(others) / (most * effort)
    return always + [others[int(index * step)] for index in range(most * effort)]


def each(work, points):
    """Does the work for each point, in parallel on this process's processors; returns the results except None."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [result for result in pool.map(work, points) if result is not None]


def twin(queue, point):
    """Returns a copy of a queue with the point in the path of its requests, so that the receiver finds the requests of the
    point."""
    other = copy.copy(queue)
    other.path = pathlib.Path(tempfile.mkdtemp(dir=scratch), "q")
    shutil.copytree(queue.path, other.path, symlinks=True)
    lead(other, "POINT", point)
    return other


def lead(queue, old, new):
    """Replaces text in a queue's configuration."""
    path = queue.path / "drainq.json"
    path.write_text(path.read_text().replace(old, new))


def received(receiver, point):
    """Returns the requests of a point, in order."""
    return [request for request in receiver.requests() if f"/{point}/" in request["target"]]


def left(mark):
    """Waits until no process has the mark in its environment; returns the pids of the remaining processes."""
    deadline = time.monotonic() + 10
    while pids := [pid for pid in os.listdir("/proc") if pid.isdigit() and has(pid, mark)]:
        if time.monotonic() > deadline:
            return pids
        time.sleep(0.005)
    return []


def has(pid, mark):
    try:
        return mark in pathlib.Path("/proc", pid, "environ").read_bytes().split(b"\0")
    except OSError:
        return False


# MARK: - Queues and receivers

# Answers by the path's first part, the operation's type. The body of an answer has the value to keep.
taking = '200 body={"n":7}'
faulty = Receiver("/later* 503 *1000000", "/never* 400 *1000000", taking, bodies=True)
healthy = Receiver(taking, bodies=True)


def operation(id, type="now", **fields):
    return json.dumps({"drainq": 1, "id": id, "type": type, "payload": {"id": id}, **fields})


def queue(*operations, route={}, **configuration):
    """Returns a queue with these operations. Requests go to the faulty receiver."""
    new = Queue(faulty.url + "/{type}/POINT/", route=route, **configuration)
    if operations:
        result = new("add", "--envelope", input="\n".join(operations))
        expect(result.returncode == 0, result)
    return new


def edited(exported):
    """Returns the output of `export`, with another payload for each operation."""
    return exported.replace('"payload":{', '"payload":{"edited": true, ')


def taken(receiver, point):
    """Returns the ids of operations in the order in which the receiver took them; a batch has several in its body."""
    refused = ("/later", "/never") if receiver is faulty else ()
    bodies = (
        request["body"] for request in received(receiver, point) if not request["target"].startswith(refused))
    return [item["id"] for body in bodies for item in (body if isinstance(body, list) else [body])]


def places(queue):
    """Returns the places of each operation; files dropped in by other programs are operations too."""
    found = queue.operations()
    for id, where in found.items():
        expect(len(where) == 1, id, "is in", where)
    return {id: where[0] for id, where in found.items()}


def revive(queue):
    """Retries and releases all operations that have failed or are held."""
    queue("retry", "--all")
    queue("release", "--all")


def finish(queue, *arguments):
    """Lets another run send the remaining operations, to a receiver that takes everything. Returns the ids of the operations
    that the run before has given up and not told of: this run tells of them, and leaves them in failed/."""
    lead(queue, faulty.url, healthy.url)
    result = queue("run", "--now", "--until-empty", "--max-time", "60s", *arguments)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("drainq: hint: drainq show ")]
    told = [re.fullmatch(r"drainq: error: '(\w+)' \(never, .*\) failed: 400", line) for line in lines]
    expect(all(told) and result.returncode == (1 if told else 0), "the next run:", result)
    for state in ("new", "deferred", "claimed", "tmp", "quarantine"):
        expect(not os.listdir(queue.path / state), "left in", state, os.listdir(queue.path / state))
    return {match[1] for match in told}
