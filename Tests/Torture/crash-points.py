#!/usr/bin/env python3
"""Kills the program (SIGKILL, by strace) before its system calls, one after the other, and looks at what is left.

Every call that changes something is a point, and a sample of the others (all of them with DRAINQ_TORTURE=10): a command
is run on a copy of a queue and killed there, the queue is looked at from outside, and another run goes over it without
help. What must hold:

- What was answered for is in exactly one place, or delivered; nothing is anywhere twice, and everything is whole.
- What has been answered with 200 waits nowhere: it is gone, kept, or claimed by the run that was killed.
- The run that comes next delivers the rest, and leaves no claims and no temporary files behind.
- The receiver has everything at least once, and more than once only what was claimed when the run was killed and had
  been received by then (the repeat window). Those are counted and told.
- No delivery agent outlives its run.
"""

import collections
import json
import os
import signal
import subprocess
import time

from injection import (
    calls, callsOfAgents, each, edited, faulty, finish, healthy, interfered, lead, left, operation, places, queue, revive,
    sample, taken, twin)
from torture import Receiver, end, expect, test

# How many points besides the calls that change something.
others = 8


def killed(original, call, point, *arguments, **options):
    """A copy of the queue in which the command was killed before the call; None if it did not come to that."""
    queue = twin(original, point)
    mark = "TORTURE_POINT=" + point
    result, _ = interfered(
        queue, call, f"signal=KILL:when={call.number}", *arguments,
        env={**os.environ, "TORTURE_POINT": point}, **options)
    if result.returncode != -signal.SIGKILL:
        return None, None
    expect(not left(mark.encode()), "processes of the run that was killed are left:", left(mark.encode()))
    return queue, result


def sweep(told, original, *arguments, check, **options):
    """Kills the command at its points, and has `check` look at each copy: it returns how many re-deliveries there were."""
    result, points = calls(twin(original, "traced"), *arguments, **options)
    name = f"p{os.urandom(4).hex()}"

    def kill(numbered):
        index, call = numbered
        point = f"{name}-{index}"
        queue, result = killed(original, call, point, *arguments, **options)
        if queue is None:
            return None
        try:
            return check(queue, result, point)
        except Exception as error:
            raise AssertionError(f"killed before {call.text}: {error}") from error

    counts = each(kill, enumerate(sample(points, others)))
    expect(counts, "the command was never killed:", result)
    told.append(f"{len(counts)} points")
    told.append(f"{sum(counts)} re-deliveries")


# MARK: - Runs


def afterRun(ids, kept=False, gone=()):
    """What must hold after a run was killed that had these to deliver. `gone` may have been superseded."""

    def check(queue, result, point):
        found = places(queue)
        untold = finish(queue)
        before, after = taken(faulty, point), taken(healthy, point)
        again = 0
        for id in ids:
            place = found.get(id)
            times = (before + after).count(id)
            if place is None:
                expect(id in before or id in gone, id, "is nowhere, and was not delivered")
            if id in before:
                expect(place in (None, "claimed", "delivered"), id, "was delivered, and is in", place)
            expect(id not in untold or place in ("claimed", "failed"), id, "was given up, and was in", place)
            if place == "failed" or id in untold:
                expect(times == 0, id, "failed, and was delivered")
            else:
                expect(times > 0 or id in gone, id, "was never delivered")
            if times > 1:
                expect(place == "claimed" and times == 2, id, "was delivered", times, "times, and was in", place)
            again += max(0, times - 1)
        if kept:
            expect(sorted(places(queue)) == sorted(ids), "kept are", places(queue))
        return again

    return check


def inOrder(check, sequence):
    """And these were delivered one after the other, none after a later one."""

    def both(queue, result, point):
        again = check(queue, result, point)
        order = [sequence.index(id) for id in taken(faulty, point) + taken(healthy, point) if id in sequence]
        expect(order == sorted(order), "out of order:", order)
        return again

    return both


with test("a run that dies loses nothing, and sends again only what it had claimed") as told:
    ids = ["a", "b", "c", "d"]
    sweep(told, queue(*map(operation, ids)), "run", "--concurrency", 2, check=afterRun(ids))

with test("a run that dies among delivered, deferred and failed operations has each in one place") as told:
    types = {"a": "now", "b": "later", "c": "never", "d": "now"}
    waiting = queue(
        *(operation(id, type) for id, type in types.items()), destinations={faulty.url: {"transport": "libcurl"}})
    sweep(told, waiting, "run", check=afterRun(types))

with test("what is kept when it is delivered is kept whichever run is killed") as told:
    ids = ["a", "b"]
    sweep(
        told, queue(*map(operation, ids), retention={"delivered": "1d"}), "run", check=afterRun(ids, kept=True))

with test("operations of one key stay in their order over a run that dies") as told:
    ids = ["a", "b", "c"]
    sweep(
        told, queue(*(operation(id, key="k") for id in ids), route={"ordering": "key"}), "run",
        check=inOrder(afterRun(ids), ids))

with test("what the answer to a create leaves is there for what follows it, whichever run is killed") as told:
    ids = ["a", "b", "c"]
    chained = queue(
        operation("a", "create", key="k"), *(operation(id, key="k") for id in ids[1:]), route={"ordering": "key"})
    configuration = json.loads((chained.path / "drainq.json").read_text())
    configuration["routes"] |= {
        "create": {"keep": {"n": "/n"}}, "now": {"headers": {"X-N": "{kept.n}"}, "keepAnswer": True}}
    (chained.path / "drainq.json").write_text(json.dumps(configuration))

    def keeps(queue, result, point):
        """And each of those that follow has its answer, or was sent again after a crash."""
        again = inOrder(afterRun(ids), ids)(queue, result, point)
        for id in ids[1:]:
            waited = queue("wait", id, "--timeout", "1s")
            expect(waited.returncode == 0 and waited.stdout == '{"n":7}', id, "has no answer:", waited)
        return again

    sweep(told, chained, "run", check=keeps)

with test("an older value of a key never follows a newer one over a run that dies") as told:
    ids = ["a", "b", "c"]
    sweep(
        told, queue(*(operation(id, key="k") for id in ids), route={"coalesce": True}), "run",
        check=inOrder(afterRun(ids, gone=["a", "b"]), ids))

with test("a batch whose run dies is sent again as a whole, or not at all") as told:
    ids = ["a", "b", "c"]
    sweep(told, queue(*map(operation, ids), route={"batch": {"max": 2}}), "run", check=afterRun(ids))

with test("a run that dies while it recovers a dead one is recovered in turn") as told:
    ids = ["a", "b", "c"]
    dying = queue(*map(operation, ids))
    _, points = calls(twin(dying, "traced"), "run")
    claims = [call for call in points if call.name == "sendto"]
    # The first call has the agent's settings, the second one the first attempts. How many of them leave in it, and in how
    # many later calls the others, is a matter of time.
    left_behind, _ = killed(dying, claims[1], "POINT", "run")
    expect(left_behind and "claimed" in places(left_behind).values(), "nothing was claimed:", claims)
    # What the first run sent before it died has another point in its path: it is not counted here.
    sweep(told, left_behind, "run", check=afterRun(ids))

with test("files that others drop in are admitted once, whichever run dies over them") as told:
    dropped = queue()
    for id in ("a", "b"):
        (dropped.path / "new" / f"{id}.json").write_text(operation(id))

    def check(queue, result, point):
        finish(queue)
        before, after = taken(faulty, point), taken(healthy, point)
        for id in ("a", "b"):
            expect(id in before + after, id, "was never delivered")
        return len(before + after) - 2

    sweep(told, dropped, "run", check=check)

with test("what a living run has claimed is left alone until it dies") as told:
    silent = Receiver("silence", bodies=True)
    alive = queue(operation("a"), operation("b"))
    lead(alive, faulty.url, silent.url)
    lead(alive, "POINT", "alive")
    run = subprocess.Popen(alive.command("run"))
    deadline = time.monotonic() + 60
    while len(silent.requests()) < 2:
        expect(time.monotonic() < deadline and run.poll() is None, "the run sends nothing")
        time.sleep(0.01)
    lead(alive, silent.url, healthy.url)
    for words in ["run", "--now"], ["check", "--repair"], ["retry", "--all", "--state", "claimed"]:
        alive(*words)
        expect(set(places(alive).values()) == {"claimed"}, words, "has moved what is claimed:", places(alive))
    expect(taken(healthy, "alive") == [], "sent were", taken(healthy, "alive"))
    run.kill()
    run.wait()
    finish(alive)
    expect(sorted(taken(healthy, "alive")) == ["a", "b"], "sent were", taken(healthy, "alive"))

with test("an attempt whose delivery agent dies is made again, and nothing is lost") as told:
    ids = ["a", "b", "c"]

    def kill(numbered):
        index, (original, call) = numbered
        point = f"agents-{index}"
        queue = twin(original, point)
        mark = "TORTURE_POINT=" + point
        # Each agent that comes after one that died dies at the same call.
        result, _ = interfered(
            queue, call, f"signal=KILL:when={call.number}", "run", follow=True,
            env={**os.environ, "TORTURE_POINT": point})
        try:
            expect(result.returncode in (0, 74, 75), "ended with", result)
            expect(not left(mark.encode()), "processes are left:", left(mark.encode()))
            found = places(queue)
            expect(set(found.values()) <= {"new", "deferred"}, "they are in", found)
            finish(queue)
            before, after = taken(faulty, point), taken(healthy, point)
            for id in ids:
                expect(id in after or id not in found and id in before, id, "is lost:", found, before, after)
            return len(before + after) - len(ids)
        except Exception as error:
            raise AssertionError(f"agents killed before {call}: {error}") from error

    points = []
    for transport in "urlsession", "libcurl":
        original = queue(*map(operation, ids), destinations={faulty.url: {"transport": transport}})
        found = callsOfAgents(twin(original, "traced"), "run")
        points += [(original, call) for call in sample(found, others * 2, lambda call: False)]
    counts = each(kill, enumerate(points))
    told.append(f"{len(counts)} points")
    told.append(f"{sum(counts)} sent more than once, as their outcome was unknown")

# MARK: - Other commands


def afterAdd(ids, atomic=False):
    """What `add` has answered for is there; the rest is there or not, and never in part. Of an atomic batch all or none is
    there as soon as a run has been."""

    def check(queue, result, point):
        answered = result.stdout.split()
        found = places(queue)
        for id in answered:
            expect(found.get(id) in ("new", "deferred", "failed", "delivered"), id, "was answered, and is in", found)
        expect(set(found) <= set(ids), "there is what was not given:", found)
        finish(queue)
        times = collections.Counter(taken(healthy, point))
        if atomic:
            whole = dict.fromkeys(ids, 1)
            expect(times == whole or not times and not found and not answered, "of a batch were delivered", times)
            return 0
        for id in ids:
            expected = 1 if found.get(id) in ("new", "deferred") else 0
            expect(times[id] == expected, id, "was in", found.get(id), "and was delivered", times[id], "times")
        return 0

    return check


def sweepAdd(told, ids, *arguments):
    sweep(
        told, queue(), "add", "--envelope", *arguments, input="\n".join(map(operation, ids)),
        check=afterAdd(ids, "--atomic" in arguments))


with test("what add answers for is there when add dies") as told:
    sweepAdd(told, ["a", "b", "c"])

with test("what a bulk add answers for is there when it dies") as told:
    sweepAdd(told, [f"o{number}" for number in range(20)])

with test("an atomic add that dies leaves all operations or none, and each whole") as told:
    sweepAdd(told, ["a", "b", "c"], "--atomic")

with test("what import answers for is there when import dies") as told:
    source = queue(*map(operation, ["a", "b", "c"]))
    exported = source("export").stdout
    expect(len(exported.splitlines()) == 3, exported)
    sweep(told, queue(), "import", input=exported, check=afterAdd(["a", "b", "c"]))

with test("an operation that import replaces is there once when import dies, and the new one where it answered") as told:
    replaced = queue(*map(operation, ["a", "b", "c"]))

    def check(queue, result, point):
        found = queue.bodies()
        for id in result.stdout.split():
            expect(id in found and b"edited" in found[id], id, "was answered, and is", found.get(id))
        finish(queue)
        expect(sorted(taken(healthy, point)) == ["a", "b", "c"], "delivered were", taken(healthy, point))
        return 0

    sweep(told, replaced, "import", "--replace", input=edited(replaced("export").stdout), check=check)

with test("what send has queued is delivered once when send dies") as told:

    def check(queue, result, point):
        found = places(queue)
        finish(queue)
        expect(taken(healthy, point) == list(found), "queued was", found)
        return 0

    sweep(told, queue(), "send", "--envelope", input=operation("a", "later"), check=check)

with test("an operation that send had claimed when it died is sent by the next run, and no other one") as told:

    def check(queue, result, point):
        found, before = places(queue), taken(faulty, point)
        finish(queue)
        after = taken(healthy, point)
        expect(set(found.values()) <= {"claimed"} and len(before) <= 1, found, before)
        # The lock file tells the next run of a delivery before the operation's file goes.
        expect(after == list(found) or before and not after, "left was", found, "delivered were", before, after)
        return len(before + after) - 1 if before else 0

    sweep(told, queue(), "send", "--envelope", input=operation("a"), check=check)


def failedQueue():
    made = queue(*(operation(id, "never") for id in ("a", "b")))
    expect(made("run").returncode == 1 and set(places(made).values()) == {"failed"}, places(made))
    return made


def afterMoving(ids, before, after):
    """Each is where it was or where it was to go; a second time finishes the rest, and a run delivers all."""

    def check(queue, result, point):
        answered = result.stdout.split()
        found = places(queue)
        for id in ids:
            expect(found.get(id) in ((after,) if id in answered else (before, after)), id, "is in", found.get(id))
        revive(queue)
        finish(queue)
        expect(sorted(taken(healthy, point)) == sorted(ids), "delivered were", taken(healthy, point))
        return 0

    return check


with test("what retry moves is in one place when retry dies") as told:
    sweep(told, failedQueue(), "retry", "--all", check=afterMoving(["a", "b"], "failed", "deferred"))

with test("what hold and release rename is in one place when they die") as told:
    waiting = queue(*map(operation, ["a", "b"]))
    sweep(told, waiting, "hold", "--all", check=afterMoving(["a", "b"], "new", "new"))
    expect(waiting("hold", "--all").returncode == 0, "hold")
    sweep(told, waiting, "release", "--all", check=afterMoving(["a", "b"], "new", "new"))

with test("what drop has answered for never comes back when drop dies") as told:

    def check(queue, result, point):
        found = places(queue)
        for id in result.stdout.split():
            expect(id not in found, id, "was dropped, and is in", found.get(id))
        finish(queue)
        expect(sorted(taken(healthy, point)) == sorted(found), "left were", found)
        return 0

    sweep(told, queue(*map(operation, ["a", "b", "c"])), "drop", "--all", check=check)

end()
