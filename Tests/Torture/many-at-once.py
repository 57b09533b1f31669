#!/usr/bin/env python3
"""Many at once: sixteen runs, four adders and every operator's command on one queue, before a receiver that
answers 503, resets, truncates and dawdles.

The suite injects rivals at every rename and lock; answers that fail or get lost; `kill -9` of runs, of their agents and
of both; SIGTERM. These invariants hold to the last operation: each id that `add` has printed was delivered, was dropped
or superseded (the command or the run said so), or is in exactly one place, whole, and never two of these; nothing is in
quarantine. Runs report each attempt that they have settled, and the receiver each request: the suite counts the requests
with a good answer and no report, and there are at most as many as kills times the attempts in flight. All requests of an
operation have the same key. For ordered and coalesced keys no older value arrives after a newer value, and the last value
arrives. Many programs that add, import or replace the same id at the same moment leave the id in one place.

2,500 operations in the first test, 20,000 with DRAINQ_TORTURE=8 or more.
"""

import collections
import json
import random
import signal
import subprocess
import threading
import time

from crowd import Crowd, delivering, disorder, prepare, reckon, settle
from torture import Queue, Receiver, effort, end, expect, test


def main():
    size = 2500 * min(effort, 8)
    with test("sixteen runs, four adders and operators lose nothing and deliver nothing twice") as told:
        queue, receiver, answers, crowd = prepare(2 * size)
        for _ in range(16):
            crowd.again(crowd.run)
        disorder(crowd, 4, size, 50)
        settle(crowd)
        expect(not (left := queue.operations()), "the queue was not drained:", left)
        # URLSession may hang on the reset of a reused connection.
        reckon(crowd, receiver, answers, told, replaced=size // 100)
        expect(crowd.kills == 0)
        receiver.end()

    with test("killed runs and agents lose nothing, and deliver again only what was in flight") as told:
        size = 1000 * effort
        queue, receiver, answers, crowd = prepare(2 * size, transport="libcurl")
        for _ in range(8):
            crowd.again(crowd.run)
        crowd.again(crowd.strike, (0.05, 0.4), "kill")
        disorder(crowd, 2, size, 50)
        settle(crowd)
        expect(not (left := queue.operations()), "the queue was not drained:", left)
        reckon(crowd, receiver, answers, told)
        receiver.end()

    with test("runs that are told to stop put back what they hold, and nobody pays for it") as told:
        size = 1000 * effort
        queue, receiver, answers, crowd = prepare(2 * size, transport="libcurl")
        for index in range(size // 100):
            crowd.add([{"n": n} for n in range(100)])
        # A run signalled before it listens for signals ends at once: it has no claims yet.
        allowed = (0, 75, -signal.SIGTERM)
        for _ in range(8):
            # Requests in flight end by themselves, by the time-out at the latest: a busy machine causes no interruption.
            crowd.again(lambda: crowd.run(allowed=allowed, grace="30s"))
        crowd.again(crowd.strike, (0.05, 0.3), "term")
        crowd.wait_for(lambda: not any(queue.files("new")), 300)
        crowd.end()
        struck, crowd.kills = crowd.kills, 0
        expect(not any(",i=" in path.name for state in ("new", "deferred") for path in queue.files(state)),
               "an interruption was counted")
        expect(not any(queue.files("claimed")), "a claim was left")
        expect(not any(event["event"] == "summary" and event["recovered"] for event in crowd.events()),
               "a claim had to be recovered")
        settle(crowd)
        reckon(crowd, receiver, answers, told)
        told += [f"{struck} told to stop"]
        receiver.end()

    with test("of a key no older value follows a newer one, and the last one arrives") as told:
        sequences(told, 10, 60 * effort)

    with test("of many that add, import or replace one id at the same moment, one is in the queue") as told:
        rivals(told, 200 * effort)


def rivals(told, count):
    """Adders, imports and replacements of the same ids, a third of them killed, beside an operator and runs that deliver
    nothing: each answered id is in one place, and none is in two."""
    receiver = Receiver("503")
    settings = {"circuitBreaker": 0, "stormGuard": 0, "transport": "libcurl"}
    # Nothing fails for good, however often the runs attempt it.
    endless = {"retry": {"base": "1s", "attempts": 999}}
    queue, source = (Queue(receiver.url + "/{id}", route=endless, destinations={receiver.url: settings}) for _ in range(2))
    lines = [json.dumps({"drainq": 1, "id": f"one-{number}", "payload": number}) for number in range(count)]
    expect(source("add", "--envelope", input="\n".join(lines)).returncode == 0)
    exported = source("export").stdout.splitlines()
    # A replacement has the time of creation of the replaced operation, whichever process added the replaced operation.
    shown = [json.loads(line) for line in source("list", "--json").stdout.splitlines()]
    created = {operation["id"]: operation["createdAt"] for operation in shown}
    lines = [json.dumps({"createdAt": created[json.loads(line)["id"]], **json.loads(line)}) for line in lines]
    crowd = Crowd(queue)
    answered, kills, calls = set(), collections.Counter(), collections.Counter()

    def rival(allowed, lines, *words):
        some = random.sample(lines, 20)
        process = subprocess.Popen(
            queue.command(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        is_killed = random.random() < 1 / 3
        if is_killed:
            kill = threading.Timer(random.uniform(0, 0.05), process.kill)
            kill.start()
        try:
            output, error = process.communicate("\n".join(some) + "\n")
        except BrokenPipeError:
            output, error = process.communicate()
        killed = is_killed and process.returncode == -signal.SIGKILL
        expect(killed or process.returncode in allowed, *words, "ended with", process.returncode, error)
        with crowd.lock:
            calls[words[0]] += 1
            kills[words[0]] += killed
            answered.update(output.split() if not killed else [])

    for _ in range(4):
        crowd.again(rival, (0,), lines, "add", "--envelope")
    for _ in range(2):
        crowd.again(rival, (0, 1), exported, "import")
        # It replaces what is there: 1 says that an operation was delivered before.
        crowd.again(rival, (0, 1, 75), exported, "import", "--replace")
    for _ in range(4):
        crowd.again(crowd.run)
    crowd.again(crowd.strike, (0.05, 0.4), "kill")
    crowd.again(lambda: crowd.operator("retry", "--all"))
    crowd.again(lambda: [crowd.operator("hold", "--all"), crowd.operator("release", "--all")])
    end = time.monotonic() + 8 * effort
    crowd.wait_for(lambda: time.monotonic() > end, 60)
    crowd.end()
    crowd.run()
    places = queue.operations()
    expect(all(len(standing) == 1 for standing in places.values()),
           [(id, standing) for id, standing in places.items() if len(standing) != 1][:3])
    expect(answered <= set(places), "lost", list(answered - set(places))[:3])
    expect(not list(queue.files("quarantine")), "something is in quarantine")
    told += [f"{len(places)} ids", f"{sum(calls.values())} calls", f"{sum(kills.values()) + crowd.kills} kills"]
    receiver.end()


def sequences(told, keys, length):
    """Values of each key, added in order by one adder for each key. A third of the keys is coalesced, a third is in order,
    and a third is in order for the whole destination. Runs and agents are killed meanwhile."""
    queue, receiver, answers, crowd = prepare(10 * keys * length, transport="libcurl")
    document = json.loads((queue.path / "drainq.json").read_text())
    document["routes"] |= {
        "latest": {"coalesce": True}, "each": {"ordering": "key"},
        "all": {"ordering": "strict", "destination": "in-line"},
    }
    (queue.path / "drainq.json").write_text(json.dumps(document))
    document["destinations"]["in-line"] = document["destinations"][receiver.url]
    (queue.path / "drainq.json").write_text(json.dumps(document))
    types = ["latest", "each", "all"]
    done = []

    def adder(type):
        names = ["line"] if type == "all" else [f"{type}-{key}" for key in range(keys)]
        for first in range(0, length, 3):
            values = [[name, value] for value in range(first, first + 3) for name in names]
            crowd.add(values, "--envelope", as_line=lambda value: {
                "drainq": 1, "type": type, "key": value[0], "payload": value})
        done.append(type)

    for type in types:
        crowd.start(adder, type)
    for _ in range(16):
        crowd.again(crowd.run)
    crowd.again(crowd.strike, (0.2, 1), "kill")
    crowd.again(lambda: crowd.operator("check", "--repair", allowed=(0, 75)))
    crowd.wait_for(lambda: len(done) == len(types), 600)
    settle(crowd)
    expect(not (left := queue.operations()), "the queue was not drained:", left)
    last = {}
    values = collections.defaultdict(list)
    for id, (key, value) in crowd.accepted.items():
        last[key] = max(value, last.get(key, -1))
        values[key].append((value, id))

    def newer(id):
        key, value = crowd.accepted[id]
        return [other for number, other in values[key] if number > value] if key.startswith("latest") else ()

    # The test below shows that the newest value of each key arrives, and arrives last.
    reckon(crowd, receiver, answers, told, newer=newer)
    received = collections.defaultdict(list)
    for request in receiver.requests():
        if answers(request["number"]) in delivering:
            key, value = crowd.accepted[request["target"].rsplit("/", 1)[-1]]
            received[key].append(value)
    for key, values in received.items():
        expect(values == sorted(values), key, "came in the order", values)
        expect(values[-1] == last[key], key, "ended with", values[-1], "of", last[key])
        if not key.startswith("latest"):
            expect(sorted(set(values)) == list(range(last[key] + 1)), key, "left out values")
    expect(set(received) == set(last), "keys were left out")
    superseded = len(crowd.accepted) - len({(key, value) for key, values in received.items() for value in values})
    told += [f"{len(received)} keys", f"{superseded} superseded"]
    receiver.end()


main()
end()
