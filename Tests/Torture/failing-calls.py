#!/usr/bin/env python3
"""Lets the program's system calls fail, one after the other, by strace: the disk, its permissions, its descriptors.

A command is run on a copy of a queue, one of its calls fails with one of several errors, and another run goes over the
queue without help. Every call that changes something is a point, and a sample of the others, each with one error in turn
(all calls with all errors with DRAINQ_TORTURE=10). In some tests everything fails from that call on. What must hold:

- It ends by itself, by no signal and never with status 70: as without the failure, or with status 74 (77 where it lacks
  permission and nothing has been attempted), and a line on standard error that names what it could not do to what, and
  the system's reason. Where the line itself cannot be written only the status says it.
- An interrupted call (EINTR) is not seen at all.
- What was answered for is in exactly one place and whole; what add has refused is not there.
- The next run delivers the rest and leaves nothing behind. Nothing is delivered twice, unless its file could not be
  removed after the delivery, which is named, or its answer was lost between the agent and the run.
"""

import collections
import errno
import os
import re
import subprocess

from injection import (
    calls, each, edited, faulty, finish, healthy, interfered, lead, operation, places, queue, received, revive, sample,
    taken, twin)
from torture import effort, end, expect, scratch, test

errors = ["EIO", "ENOSPC", "EACCES", "EMFILE", "EROFS", "ESTALE"]
# How many points besides the calls that change something.
others = 16
# Calls that do not end so: one cannot fail at all, and others are begun again by the kernel.
never = collections.defaultdict(lambda: {"exit_group"})
never["EINTR"] = {
    "exit_group", "clone3", "clone", "vfork", "socketpair", "pipe2", "kill", "shutdown", "newfstatat", "fstat"}
# An answer that is lost here was given all the same.
pipe = {"sendto", "recvfrom", "poll", "socketpair", "clone3", "clone", "vfork", "shutdown", "kill", "wait4"}


def judge(usual, result, hits, error):
    """The way in which it ended, and what it has said about it."""
    expect(0 <= result.returncode != 70, "ended with status", result.returncode, result.stderr)
    lines = result.stderr.splitlines()
    for line in lines:
        expect(re.match("drainq: (error|warning|hint|queued)", line), "says", line)
    if result.returncode == usual.returncode:
        return
    permitted = {74, *[77] * (error == "EACCES"), *[75] * isOfAgent(hits)}
    expect(result.returncode in permitted, "ended with status", result.returncode, result.stderr)
    if any(re.match(r"write\([12],", hit) for hit in hits) or isOfAgent(hits) and result.returncode == 75:
        return
    reason = "" if isOfAgent(hits) else ": " + os.strerror(getattr(errno, error))
    expect(any("cannot " in line and line.endswith(reason) for line in lines), "does not say", reason, "but", lines)


def isOfAgent(hits):
    """Whether it was between the run and its delivery agent that something failed: the attempt has an unknown outcome."""
    return any(hit.split("(")[0] in pipe for hit in hits)


def sweep(told, original, *arguments, check=None, errors=errors, forever=False, judge=judge, most=others, **options):
    """Lets the command's calls fail, judges how it ended, and has `check` look at each copy of the queue."""
    usual, points = calls(twin(original, "traced"), *arguments, **options)
    points = [call for call in points if call.name not in never[errors[0]]]
    name = f"p{os.urandom(4).hex()}"
    if forever:
        chosen = sample(points, most, lambda call: False)
    else:
        chosen = sample(points, most)
    trials = [
        (call, error) for index, call in enumerate(chosen)
        for error in (errors if effort >= 10 else [errors[index % len(errors)]])]

    def fail(numbered):
        index, (call, error) = numbered
        point = f"{name}-{index}"
        queue = twin(original, point)
        result, hits = interfered(
            queue, call, f"error={error}:when={call.number}" + "+" * forever, *arguments, **options)
        if not hits:
            return None
        try:
            judge(usual, result, hits, error)
            if check is not None:
                check(queue, result, point, hits)
            return 0 if result.returncode == usual.returncode else 1
        except Exception as problem:
            raise AssertionError(f"{error} in {call.text}: {problem}\n{result}") from problem

    counts = each(fail, enumerate(trials))
    expect(counts, "nothing has failed")
    told.append(f"{len(counts)} points")
    told.append(f"{sum(counts)} seen")


def afterRun(ids):
    def check(queue, result, point, hits):
        places(queue)
        expect(result.returncode != 77 or not received(faulty, point), "something was attempted")
        revive(queue)
        if finish(queue):
            revive(queue)
            expect(not finish(queue), "a failure was told twice")
        came = taken(faulty, point) + taken(healthy, point)
        expect(set(came) == set(ids), "delivered were", came)
        if len(came) > len(ids):
            isNamed = "the operation has been delivered; the next run" in result.stderr
            expect(isNamed or isOfAgent(hits), "delivered were", came, result.stderr)

    return check


types = {"a": "now", "b": "later", "c": "never", "d": "now"}
mixed = [operation(id, type) for id, type in types.items()]

with test("a run one of whose calls fails says so, and loses nothing") as told:
    sweep(told, queue(*mixed), "run", "--concurrency", 2, check=afterRun(types))

with test("a run whose file system breaks down says so, and loses nothing") as told:
    for broken in ["EIO"], ["ENOSPC"], ["EROFS"]:
        sweep(told, queue(*mixed), "run", check=afterRun(types), errors=broken, forever=True, most=8)

with test("what cannot be removed after its delivery is named and stops the run, and is never sent again") as told:
    stuck = queue(*(operation(id) for id in ("a", "b", "c")))
    words = ["run", "--now", "--concurrency", 1]
    for _ in range(3):
        # In a copy it can be removed: where that is tried.
        traced = twin(stuck, "traced")
        lead(traced, "/stuck/", "/traced/")
        _, points = calls(traced, *words)
        removals = [call for call in points if re.match(r'unlinkat\(\d+, "claimed/[^"]*-a,', call.text)]
        stuck = twin(stuck, "stuck")
        result, _ = interfered(stuck, removals[0], f"error=EIO:when={removals[0].number}+", *words)
        expect(result.returncode == 74, result)
        named = re.search("cannot remove '(claimed/.*)': Input/output error\n.*the operation has been delivered", result.stderr)
        expect(named and (stuck.path / named[1]).exists(), result)
        # The next request has begun by then, and what it delivers cannot be removed either.
        sent = taken(faulty, "stuck")
        expect(sent == ["a", "b", "c"][:len(sent)], "sent were", sent)
    result = stuck(*words)
    expect(result.returncode == 0, result)
    expect(taken(faulty, "stuck") == ["a", "b", "c"], "sent were", taken(faulty, "stuck"))
    expect(places(stuck) == {}, "left were", places(stuck))

with test("a run that keeps what it delivers loses nothing by a call that fails") as told:
    kept = queue(operation("a"), operation("b"), retention={"delivered": "1d"})
    sweep(told, kept, "run", check=afterRun(["a", "b"]))

with test("a run that recovers a dead one loses nothing by a call that fails") as told:
    # A claim whose owner is gone: there is no lock. What is left in `new/` decides the status alone, so that a run ends the
    # same where ESTALE says that another host has taken the dead run over.
    dead = queue(*mixed)
    run = dead.path / "claimed" / "20261121T091500.123456Z-0123456789abcdef"
    run.mkdir(mode=0o700)
    for path in sorted(dead.files("new"))[:2]:
        path.rename(run / path.name)
    sweep(told, dead, "run", check=afterRun(types))

with test("files that others drop in are not lost by a call that fails, and admitted once") as told:
    dropped = queue()
    for id in ("a", "b"):
        (dropped.path / "new" / f"{id}.json").write_text(operation(id))

    def check(queue, result, point, hits):
        finish(queue)
        came = taken(faulty, point) + taken(healthy, point)
        expect(set(came) == {"a", "b"}, "delivered were", came)

    sweep(told, dropped, "run", check=check)


def afterAdd(ids):
    def check(queue, result, point, hits):
        answered = result.stdout.split()
        found = places(queue)
        isOutput = any(hit.startswith("write(1,") for hit in hits)
        expect(isOutput or sorted(answered) == sorted(found), "answered were", answered, "there are", found)
        expect(result.returncode != 77 or not answered, "something was attempted")
        finish(queue)
        expect(sorted(taken(healthy, point)) == sorted(found), "delivered were", taken(healthy, point))

    return check


def sweepAdd(told, ids, *arguments, **options):
    sweep(
        told, queue(), "add", "--envelope", *arguments, input="\n".join(map(operation, ids)), check=afterAdd(ids),
        **options)


with test("add one of whose calls fails answers for nothing that is not there") as told:
    sweepAdd(told, ["a", "b", "c"])

with test("a bulk add one of whose calls fails answers for nothing that is not there") as told:
    sweepAdd(told, [f"o{number}" for number in range(17)])

with test("import one of whose calls fails answers for nothing that is not there") as told:
    exported = queue(*(operation(id) for id in ("a", "b", "c")))("export").stdout
    sweep(told, queue(), "import", input=exported, check=afterAdd(["a", "b", "c"]))

with test("import one of whose calls fails replaces an operation or leaves it, and answers for what it replaced") as told:
    replaced = queue(*(operation(id) for id in ("a", "b", "c")))

    def check(queue, result, point, hits):
        answered, found = result.stdout.split(), queue.bodies()
        for id in answered:
            expect(id in found and b"edited" in found[id], id, "was answered, and is", found.get(id))
        expect(result.returncode != 77 or not answered, "something was attempted")
        finish(queue)
        expect(sorted(taken(healthy, point)) == ["a", "b", "c"], "delivered were", taken(healthy, point))

    sweep(told, replaced, "import", "--replace", input=edited(replaced("export").stdout), check=check)


def afterMoving(ids):
    def check(queue, result, point, hits):
        expect(sorted(places(queue)) == sorted(ids), "there are", places(queue))
        isDurable = result.returncode == 0 or not any(hit.startswith("fsync(") for hit in hits)
        expect(isDurable or not result.stdout, "answered for what is not durable:", result.stdout)
        expect(result.returncode != 77 or not result.stdout, "something was attempted")
        revive(queue)
        finish(queue)
        expect(sorted(taken(healthy, point)) == sorted(ids), "delivered were", taken(healthy, point))

    return check


with test("retry, hold and release lose nothing by a call that fails") as told:
    failed = queue(operation("a", "never"), operation("b", "never"))
    expect(failed("run").returncode == 1 and set(places(failed).values()) == {"failed"}, places(failed))
    sweep(told, failed, "retry", "--all", check=afterMoving(["a", "b"]))
    waiting = queue(operation("a"), operation("b"))
    sweep(told, waiting, "hold", "--all", check=afterMoving(["a", "b"]))
    expect(waiting("hold", "--all").returncode == 0, "hold")
    sweep(told, waiting, "release", "--all", check=afterMoving(["a", "b"]))

with test("drop has dropped what it answers for, and nothing else, when a call fails") as told:

    def check(queue, result, point, hits):
        found = places(queue)
        for id in result.stdout.split():
            expect(id not in found, id, "was dropped, and is in", found.get(id))
        finish(queue)
        expect(sorted(taken(healthy, point)) == sorted(found), "left were", found)

    sweep(told, queue(*mixed), "drop", "--all", check=check)

with test("send one of whose calls fails never says that it has not delivered what it has") as told:

    def check(queue, result, point, hits):
        expect(places(queue) == {} or result.returncode in (74, 75), places(queue), result)
        isTold = not any(hit.startswith("write(1,") for hit in hits)
        if taken(faulty, point) and isTold and not isOfAgent(hits):
            expect(result.returncode == 0, "was delivered, and says", result)
        finish(queue)

    sweep(told, queue(), "send", "--envelope", input=operation("a"), check=check)

with test("commands that only show say what they could not read") as told:
    shown = queue(*mixed)
    expect(shown("run").returncode == 1, "run")
    for arguments in ["status"], ["status", "--json"], ["list"], ["list", "--json"], ["show", "b"], ["export"]:
        sweep(told, shown, *arguments)
    told[:] = [f"{sum(int(item.split()[0]) for item in told if item.endswith(word))} {word}" for word in ("points", "seen")]

with test("check says what it could not find out") as told:
    sweep(told, queue(*mixed), "check")

with test("a rename that has happened and says that it has not is known for what it is") as told:
    # As NFS may answer a rename whose first answer was lost.
    source, liar = scratch / "liar.c", scratch / "liar.so"
    source.write_text("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        static int lies(int result, const char *new) {
            static int count;
            if (result != 0 || ++count != atoi(getenv("LIE_AT"))) return result;
            int file = open(getenv("LIE_TOLD"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
            if (file < 0 || write(file, new, strlen(new)) < 0 || close(file) != 0) abort();
            errno = ENOENT;
            return -1;
        }
        int renameat(int from, const char *old, int to, const char *new) {
            int (*real)(int, const char *, int, const char *) = dlsym(RTLD_NEXT, "renameat");
            return lies(real(from, old, to, new), new);
        }
        int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
            int (*real)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");
            return lies(real(from, old, to, new, flags), new);
        }
    """)
    subprocess.run(["clang", "-shared", "-fPIC", "-o", liar, source, "-ldl"], check=True)

    def sweepLies(original, *arguments, check, **options):
        _, points = calls(twin(original, "traced"), *arguments, **options)
        # What is written beside the operations is not looked at again after a lie, and is told to have failed.
        renames = [call for call in points if call.name in ("renameat", "renameat2")]

        def lie(index):
            point = f"lie-{arguments[0]}-{index}"
            queue = twin(original, point)
            # Which rename it was is not known beforehand: answers come in any order. None if there were fewer this time.
            told = scratch / point
            environment = {**os.environ, "LD_PRELOAD": str(liar), "LIE_AT": str(index), "LIE_TOLD": str(told)}
            result = queue(*arguments, env=environment, **options)
            target = told.read_text() if told.exists() else ""
            try:
                isAside = target.startswith("state/")
                expect(result.returncode in (1, 74) if isAside else result.returncode in (0, 1), "ended with", result)
                check(queue, result, point, [])
            except Exception as problem:
                raise AssertionError(f"lied of {target}: {problem}\n{result}") from problem
            return 1 if target else None

        return len(each(lie, range(1, len(renames) + 1)))

    count = sweepLies(queue(*mixed), "run", check=afterRun(types))
    count += sweepLies(
        queue(), "add", "--envelope", input="\n".join(map(operation, "abc")), check=afterAdd(["a", "b", "c"]))
    told.append(f"{count} points")

with test("a call that is interrupted is not seen") as told:

    def same(usual, result, hits, error):
        expect(result.returncode == usual.returncode and result.stderr == usual.stderr, result)

    def sweepInterrupted(original, *arguments, check, **options):
        sweep(told, original, *arguments, errors=["EINTR"], judge=same, check=check, **options)

    sweepInterrupted(queue(operation("a"), operation("d")), "run", check=afterRun(["a", "d"]))
    sweepInterrupted(queue(), "add", "--envelope", input=operation("a"), check=afterAdd(["a"]))
    sweepInterrupted(queue(operation("a")), "hold", "--all", check=afterMoving(["a"]))

end()
