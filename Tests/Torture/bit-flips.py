#!/usr/bin/env python3
"""Each bit of an operation's file and name, flipped once.

- A bit of header or body: the file goes into quarantine as it is, and is never sent.
- A bit of an attempt's line: the operation is sent as it was given.
- A bit of the name: nothing is sent under an id, a time, a type, a key or a url that the header does not have.
"""

import json
import os
import re

from torture import Queue, Receiver, end, expect, test

body = '{"amount":100,"to":"me"}'


def flipped(contents, bit):
    changed = bytearray(contents)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def queue_of(receiver, count):
    """A queue with so many operations whose files are equally long, and their paths in the order of their ids."""
    queue = Queue(receiver.url + "/{id}")
    lines = (json.dumps({"drainq": 1, "id": f"op-{number:06}", "type": "crm", "key": "k", "method": "PUT",
                         "payload": 0}).replace(": 0}", ": " + body + "}") for number in range(count))
    result = queue("add", "--envelope", "--sync=none", input="".join(line + "\n" for line in lines))
    expect(result.returncode == 0, result.stderr)
    return queue, sorted(queue.files("new"), key=lambda path: re.search("op-[0-9]+", path.name).group())


def in_quarantine(queue):
    return [path for path in queue.files("quarantine") if not path.name.endswith(".reason")]


def whole(contents):
    """How many bytes header and body have."""
    line, _, _ = contents.partition(b"\n")
    return len(line) + 1 + json.loads(line)["length"]


sample = queue_of(Receiver(), 1)[1][0]
contents = sample.read_bytes()
bits = 8 * whole(contents)

with test("a flipped bit of header or body is in quarantine before anything is sent") as told:
    receiver = Receiver()
    queue, paths = queue_of(receiver, bits)
    expected = []
    for bit, path in enumerate(paths):
        # A time of creation of whole milliseconds is three digits shorter.
        intact = path.read_bytes()
        damaged = flipped(intact, bit % (8 * whole(intact)))
        path.write_bytes(damaged)
        expected.append(damaged)
    result = queue("run", "--limit", bits, "--now")
    expect(result.returncode == 65, result.returncode, result.stderr[-500:])
    expect(not receiver.requests(), "sent:", receiver.ids()[:9])
    expect(sorted(path.read_bytes() for path in in_quarantine(queue)) == sorted(expected), "quarantine differs")
    expect(not queue.operations(), "left in the queue")
    told.append(f"{bits} points")

with test("a flipped bit in the line of an attempt changes nothing of what is sent") as told:
    broken = Receiver("503")
    queue, paths = queue_of(broken, 1)
    expect(queue("run").returncode == 75)
    attempted = next(queue.files("deferred")).read_bytes()
    start = 8 * (whole(attempted) + 1)
    count = 8 * len(attempted) - start
    receiver = Receiver(bodies=True)
    queue, paths = queue_of(receiver, count)
    line = attempted[start // 8:]
    for number, path in enumerate(paths):
        path.write_bytes(path.read_bytes() + flipped(line, number))
    result = queue("run", "--limit", count, "--now", "--json")
    expect(result.returncode == 0, result.returncode, result.stderr[-500:])
    expect(sorted(receiver.ids()) == [f"op-{number:06}" for number in range(count)], "not each once")
    expect(all(request["body"] == json.loads(body) for request in receiver.requests()), "another body")
    told.append(f"{count} points")

for state in ("new", "deferred"):
    with test(f"a flipped bit of a name in {state}/ sends nothing that the header does not say") as told:
        receiver = Receiver()
        fields = "" if state == "new" else ",a=2,t=20261121T091500Z"
        name = sample.name.removesuffix(".json") + fields + ".json"
        count = 8 * len(name)
        queue, paths = queue_of(receiver, count)
        moved = 0
        for bit, path in enumerate(paths):
            name = flipped((path.name.removesuffix(".json") + fields + ".json").encode(), bit)
            if b"/" in name or b"\0" in name or name.startswith(b"."):
                path.unlink()
                continue
            os.rename(path, os.fsencode(queue.path / state) + b"/" + name)
            moved += 1
        result = queue("run", "--limit", count, "--now", "--json")
        expect(result.returncode in (0, 65), result.returncode, result.stderr[-500:])
        sent = receiver.ids()
        # What the name alone says is an attempt more or less, or another time that a schedule set.
        first = 8 * len(sample.name.removesuffix(".json"))
        allowed = {f"op-{bit:06}" for bit in range(first, count)} if fields else set()
        expect(set(sent) <= allowed and len(sent) == len(set(sent)), "sent:", set(sent) - allowed)
        kept = len(in_quarantine(queue)) + sum(1 for _ in queue.files(state))
        expect(kept + len(sent) == moved, kept, "and", len(sent), "of", moved)
        expect(state == "deferred" or len(in_quarantine(queue)) == moved, "not all in quarantine")
        told.append(f"{moved} points, {len(sent)} sent, {moved - len(in_quarantine(queue)) - len(sent)} left where they were")

end()
