#!/usr/bin/env python3
"""Many at once: sixteen runs, four adders and every operator's command on one queue, before a receiver that
answers 503, resets, truncates and dawdles.

What is injected: rivals at every rename and lock; answers that fail or get lost; `kill -9` of runs, of their agents
and of both; SIGTERM. What holds, to the last operation: each id that `add` has printed was delivered, was dropped or
superseded (the command or the run said so), or is in exactly one place, whole, and never two of these; nothing is in
quarantine. Runs tell each attempt that they have settled, and the receiver each request: a request that was answered
well and that no attempt told of is counted, and there are no more of them than kills times the attempts in flight.
Every request of an operation has the same key. Of ordered and coalesced keys no older value is received after a newer
one, and the last one arrives.

2,500 operations in the first test, 20,000 with DRAINQ_TORTURE=8 or more.
"""

import collections
import json
import signal

from crowd import delivering, disorder, prepare, reckon, settle
from torture import effort, end, expect, test

def main():
    size = 2500 * min(effort, 8)
    with test("sixteen runs, four adders and operators lose nothing and deliver nothing twice") as told:
        queue, receiver, answers, crowd = prepare(2 * size)
        for _ in range(16):
            crowd.again(crowd.run)
        disorder(crowd, 4, size, 50)
        settle(crowd)
        expect(not queue.operations(), "the queue was not drained")
        # URLSession may hang when a connection that it uses again is reset.
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
        expect(not queue.operations(), "the queue was not drained")
        reckon(crowd, receiver, answers, told)
        receiver.end()

    with test("runs that are told to stop put back what they hold, and nobody pays for it") as told:
        size = 1000 * effort
        queue, receiver, answers, crowd = prepare(2 * size, transport="libcurl")
        for index in range(size // 100):
            crowd.add([{"n": n} for n in range(100)])
        # One that is told before it listens ends at once: it has nothing yet.
        allowed = (0, 75, -signal.SIGTERM)
        for _ in range(8):
            crowd.again(lambda: crowd.run(allowed=allowed))
        crowd.again(crowd.strike, (0.05, 0.3), "term")
        crowd.wait_for(lambda: not any(queue.files("new")), 300)
        crowd.end()
        struck, crowd.kills = crowd.kills, 0
        expect(not any(",i=" in path.name for state in ("new", "deferred") for path in queue.files(state)),
               "an interruption was counted")
        expect(not any(queue.files("claimed")), "a claim was left")
        expect(not any(event["event"] == "recovered" for event in crowd.events()), "a claim had to be recovered")
        settle(crowd)
        reckon(crowd, receiver, answers, told)
        told += [f"{struck} told to stop"]
        receiver.end()

    with test("of a key no older value follows a newer one, and the last one arrives") as told:
        sequences(told, 10, 60 * effort)


def sequences(told, keys, length):
    """Values of each key, added in order by one adder each, one third of the keys coalesced, one third in order, one
    third in order for the whole destination; runs and agents are killed meanwhile."""
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
    expect(not queue.operations(), "the queue was not drained")
    last = {}
    for key, value in crowd.accepted.values():
        last[key] = max(value, last.get(key, -1))
    # That the newest value of each key arrives, and last, is shown below.
    reckon(crowd, receiver, answers, told, has_newer=lambda id: (
        crowd.accepted[id][0].startswith("latest") and crowd.accepted[id][1] < last[crowd.accepted[id][0]]))
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
