"""Many programs on one queue at once, and the reckoning at the end: shared by `many-at-once` and `several-hosts`."""

import collections
import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time

from torture import Queue, Receiver, effort, expect, scratch

concurrency = 4
# The wait of URLSession for a missing answer must be short.
route = {"timeouts": {"connect": "5s", "request": "5s", "total": "8s"}}
delivering = ["200", "200 delay=300ms"]
faults = ["503", "reset", "200 body=whole truncate=2", "503 retry-after=0", "close", "200 delay=300ms"]


class Crowd:
    """Threads that each start programs in sequence on a queue until `over` is set, and the outcomes."""

    def __init__(self, queue):
        self.queue = queue
        self.over = threading.Event()
        self.threads = []
        self.complaints = []
        self.logs = []
        self.running = set()
        self.told = set()
        self.lock = threading.Lock()
        self.accepted = {}
        self.dropped = set()
        self.statuses = collections.Counter()
        self.kills = 0

    def start(self, work, *arguments):
        def guarded():
            try:
                work(*arguments)
            except Exception as error:
                self.complaints.append(repr(error))

        self.threads.append(threading.Thread(target=guarded))
        self.threads[-1].start()

    def again(self, work, *arguments):
        """Repeats the work, with a pause between, so that the load does not consist only of starts."""
        def rounds():
            while not self.over.wait(random.uniform(0, 0.2)):
                work(*arguments)

        self.start(rounds)

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
        expect(not self.complaints, "\n".join(self.complaints[:5]))

    def run(self, *options, allowed=(0, 75), before=(), place=None, grace="2s"):
        """Runs drainq once and keeps the log. The status is in `allowed`, or the run was killed. `place` is the queue's
        path for the run, if the path differs from ours. `grace` is the time for requests in flight after a signal to
        stop."""
        log = tempfile.NamedTemporaryFile(dir=scratch, delete=False)
        words = ["run", "--now", "--limit", 300, "--concurrency", concurrency, "--grace", grace]
        command = self.queue.command(*words, "--wait", "2s", "--json", *options)
        process = subprocess.Popen(
            [*before, *command[:-1], str(place or self.queue.path)], stdin=subprocess.DEVNULL,
            stdout=log, stderr=open(f"{log.name}.errors", "wb"), start_new_session=True)
        with self.lock:
            self.logs.append(log.name)
            self.running.add(process)
        process.wait(timeout=300)
        with self.lock:
            self.running.discard(process)
            self.statuses[process.returncode] += 1
        if process.returncode not in (*allowed, -signal.SIGKILL):
            said = [line for line in open(log.name, errors="replace") if '"attempt"' not in line]
            errors = open(f"{log.name}.errors", errors="replace").read()
            raise AssertionError(f"a run ended with {process.returncode}: {errors}{''.join(said[:5])}")

    def strike(self, pause, how):
        """Kills a run, its agents, or both."""
        time.sleep(random.uniform(*pause))
        with self.lock:
            # After a second signal a run cuts off its requests in flight. This test does not cover the second signal.
            there = [process for process in self.running if how != "term" or process not in self.told]
            process = random.choice(there) if there else None
            # Nobody has waited for the process under the lock, so its number is still valid.
            if not process or process.poll() is not None:
                return
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                if how == "term":
                    os.kill(process.pid, signal.SIGTERM)
                    self.told.add(process)
                else:
                    self.kill(process.pid, random.choice(["run", "group", "agents"]))
            self.kills += 1

    def kill(self, pid, whom):
        if whom == "group":
            os.killpg(pid, signal.SIGKILL)
        elif whom == "run":
            os.kill(pid, signal.SIGKILL)
        else:
            for agent in open(f"/proc/{pid}/task/{pid}/children").read().split():
                os.kill(int(agent), signal.SIGKILL)

    def add(self, values, *options, as_line=lambda value: value):
        """Adds an operation for each value, and notes the id that `add` gave for the value."""
        lines = "".join(json.dumps(as_line(value)) + "\n" for value in values)
        result = self.queue("add", *options, input=lines)
        expect(result.returncode == 0, "add:", result.stderr)
        ids = result.stdout.split()
        expect(len(ids) == len(values), "add printed", len(ids))
        with self.lock:
            self.accepted.update(zip(ids, values))

    def operator(self, *arguments, allowed=(0, 1)):
        result = self.queue(*arguments, timeout=300)
        expect(result.returncode in allowed, *arguments, "ended with", result.returncode, result.stdout, result.stderr)
        return result.stdout.split()

    def some(self, count):
        with self.lock:
            return random.sample(list(self.accepted), min(count, len(self.accepted))) or ["none"]

    def events(self):
        """Yields the events that the runs reported. The last line of a killed run may be torn."""
        for log in self.logs:
            for line in open(log, "rb").read().split(b"\n"):
                with contextlib.suppress(ValueError):
                    yield json.loads(line)

    def wait_for(self, condition, limit):
        deadline = time.monotonic() + limit * effort
        while not condition() and not self.complaints:
            expect(time.monotonic() < deadline, "not done in time")
            time.sleep(0.05)


def reckon(crowd, receiver, answers, told, replaced=0, newer=lambda id: ()):
    """Compares the ledger of the receiver with the reports of the runs and the operations in the queue. `replaced` bounds
    the attempts that runs repeated by themselves because a delivery agent did not answer in time. `newer` names the
    accepted operations that may stand for an operation: a killed run may have removed the operation before its report. Then
    the receiver has a newer operation."""
    queue = crowd.queue
    places = queue.operations()
    ends = collections.Counter()
    attempts = collections.Counter()
    superseded = set()
    for event in crowd.events():
        if event["event"] == "attempt":
            attempts[event["id"]] += 1
            ends[event["id"]] += event["outcome"] == "delivered"
            if event["outcome"] == "superseded":
                superseded.add(event["id"])
        elif event["event"] == "superseded":
            superseded.add(event["id"])
    received, good = collections.Counter(), collections.Counter()
    for request in receiver.requests():
        id = request["target"].rsplit("/", 1)[-1]
        expect(request["idempotencyKey"] == id, id, "came with the key", request["idempotencyKey"])
        received[id] += 1
        good[id] += answers(request["number"]) in delivering
    silent, displaced = 0, 0
    for id in crowd.accepted:
        standing = places.pop(id, [])
        fates = ends[id] + (id in crowd.dropped) + (id in superseded) + len(standing)
        if fates == 0 and good[id]:
            # The run was killed before its report.
            silent += 1
        elif fates == 0 and any(good[other] for other in newer(id)):
            displaced += 1
        else:
            expect(fates == 1, id, "was delivered", ends[id], "times, stands in", standing,
                   "dropped" * (id in crowd.dropped), "superseded" * (id in superseded))
        expect(not ends[id] or good[id], id, "is said to be delivered and was not")
    expect(not places, "nobody was told of", list(places)[:3])
    expect(not list(queue.files("quarantine")), "something is in quarantine")
    untold = sum(max(0, good[id] - attempts[id]) for id in good)
    expect(untold <= crowd.kills * concurrency + replaced, untold, "answers not told of, after", crowd.kills, "kills")
    expect(silent <= crowd.kills * concurrency, silent, "left silently, after", crowd.kills, "kills")
    # A run removes superseded operations in sequence, and reports each before the next.
    expect(displaced <= crowd.kills, displaced, "superseded silently, after", crowd.kills, "kills")
    again = sum(good[id] > 1 for id in good)
    repeats = sum(count - 1 for count in received.values())
    told += [
        f"{len(crowd.accepted)} operations", f"{sum(received.values())} requests", f"{repeats} repeats",
        f"{again} delivered again", f"{len(crowd.dropped)} dropped", f"{sum(crowd.statuses.values())} runs",
    ]
    if crowd.kills:
        told += [f"{crowd.kills} struck", f"{untold} answers lost by that"]


def faulty(count):
    """Returns answers for `count` requests, with one fault in eight, and a function from a request to its answer."""
    chance = random.Random(1)
    script = [chance.choice(faults) if chance.random() < 0.125 else delivering[0] for _ in range(count)]
    joined = []
    for answer in script:
        if joined and joined[-1][0] == answer:
            joined[-1][1] += 1
        else:
            joined.append([answer, 1])
    words = [f"{answer} *{times}" for answer, times in joined] + [delivering[0]]
    return words, lambda number: script[number - 1] if number <= count else delivering[0]


def prepare(count, **options):
    words, answers = faulty(count)
    receiver = Receiver(*words)
    default = {**route, **options.pop("route", {})}
    settings = {"circuitBreaker": 0, "stormGuard": 0, "transport": options.pop("transport", "auto")}
    queue = Queue(receiver.url + "/{id}", route=default, destinations={receiver.url: settings}, **options)
    return queue, receiver, answers, Crowd(queue)


def settle(crowd, **where):
    """Ends the threads, and drains the queue in peace; `where` has arguments of `run`."""
    crowd.end()
    crowd.over.clear()
    crowd.threads = []
    crowd.operator("resume", allowed=(0,))
    crowd.operator("release", "--all", allowed=(0, 1))
    crowd.operator("retry", "--all", allowed=(0, 1))
    for _ in range(20):
        if not any(crowd.queue.operations()):
            return
        crowd.run("--until-empty", "--max-time", "60s", **where)


def disorder(crowd, adders, count, size):
    """Runs adders, runs and operators on one queue until all operations are added. Keeps the operations that `drop`
    reported."""
    left = [count // adders // size] * adders

    def adder(index):
        while left[index]:
            crowd.add([{"adder": index, "left": left[index], "n": n} for n in range(size)])
            left[index] -= 1

    def drop():
        # An operation counts as dropped only when the command has reported it. The command reports at its end.
        crowd.dropped.update(crowd.operator("drop", *crowd.some(3)))

    def hold():
        crowd.operator("hold", *crowd.some(20))
        crowd.operator("release", "--all", allowed=(0, 1))

    def pause():
        time.sleep(random.uniform(0.5, 2))
        crowd.operator("pause", allowed=(0,))
        time.sleep(0.1)
        crowd.operator("resume", allowed=(0,))

    for index in range(adders):
        crowd.start(adder, index)
    for work in (drop, hold, pause):
        crowd.again(work)
    crowd.again(lambda: crowd.operator("retry", *crowd.some(20)))
    crowd.again(lambda: crowd.operator("check", allowed=(0, 75)))
    crowd.again(lambda: crowd.operator("check", "--repair", allowed=(0, 75)))
    crowd.wait_for(lambda: not any(left), 600)
