#!/usr/bin/env python3
"""Times of files from the beginning of the calendar to the end of 64 bits, on a file system that keeps them (tmpfs): of files of
strangers, operations, directories, configuration, state and body files; and a clock that is centuries off.

Any user who may drop a file can give it any time. No command traps, what waits is sent once, and what is added then is kept.
"""

import contextlib
import os
import shutil

from torture import Queue, Receiver, end, expect, mounted, own_mounts, parse, test

own_mounts("far times")

# Seconds: what 64 bits hold, what 64 bits of microseconds and of nanoseconds hold and the seconds beside, ext4's ends, …
times = {
    "the first second": -(1 << 63), "year -290308": -(1 << 63) // 1_000_000, "year 0": -62_167_219_200,
    "year 1677": -9_223_372_037, "year 1901": -(1 << 31), "before 1970": -1, "1970": 0, "2038": 1 << 31,
    "2262": 9_223_372_036, "after 2262": 9_223_372_037, "2300": 10_413_792_000, "2446": 15_032_385_535,
    "9999": 253_402_300_799, "10000": 253_402_300_800, "year 294247": (1 << 63) // 1_000_000,
    "after 294247": (1 << 63) // 1_000_000 + 1, "the last second": (1 << 63) - 1,
}
allowed = set(range(0, 70)) | set(range(71, 80))
receiver = Receiver()


def touch(path, seconds):
    """Sets the time, a nanosecond before the next second, where the number of nanoseconds can be told to Python."""
    nanoseconds = seconds * 10**9 + 999_999_999
    os.utime(path, ns=(nanoseconds, nanoseconds), follow_symlinks=False)


def kept(queue):
    """The ids of what is in the queue, the things of strangers left out."""
    found = set()
    for state in ("new", "deferred", "failed", "claimed"):
        for path in queue.files(state):
            with contextlib.suppress(ValueError, KeyError, OSError):
                found.add(parse(path.read_bytes())[0]["id"])
    return found


def fresh(place):
    (place / "body").write_text("{}")
    queue = Queue(receiver.url + "/{id}", place / "q", bodyFiles=[str(place)], retention={"failed": "30d", "delivered": "1d"})
    expect(queue("add", input='{"n":1}\n{"n":2}\n').returncode == 0)
    expect(queue("add", "--delay", "1h", input='{"n":3}\n').returncode == 0)
    expect(queue("add", "--body-file", str(place / "body")).returncode == 0)
    (queue.path / "failed").mkdir(exist_ok=True)
    return queue


def things(place, queue):
    """What can have a time, by name; made where it is not there."""
    path = queue.path

    def foreign(target, contents='{"n":9}'):
        (path / "tmp/x").write_text(contents)
        (path / "tmp/x").chmod(0o600)
        (path / "tmp/x").rename(path / target)
        return path / target

    yield "a stranger's file", lambda: foreign("new/stranger")
    yield "a stranger's file that is none", lambda: foreign("new/stranger", "x")
    yield "a file in tmp", lambda: foreign("tmp/file")
    yield "a file in failed", lambda: foreign("failed/file")
    yield "a file in quarantine", lambda: foreign("quarantine/file")
    yield "a reason", lambda: foreign("quarantine/file.reason")
    yield "a file in state", lambda: foreign("state/file")
    yield "drainq.json", lambda: path / "drainq.json"
    yield "paused", lambda: foreign("state/paused-no-more")
    yield "an operation", lambda: next(queue.files("new"))
    yield "the body file", lambda: place / "body"

    def link():
        (path / "new/link").symlink_to("/nonexistent")
        return path / "new/link"

    def directory():
        (path / "tmp/directory").mkdir()
        return path / "tmp/directory"

    yield "a link", link
    yield "a directory in tmp", directory
    for name in (".", "new", "deferred", "claimed", "failed", "quarantine", "state", "tmp"):
        yield f"the directory {name}", lambda name=name: path / name


with mounted("none", "-t", "tmpfs", "-o", "size=64m") as disk:
    disk.chmod(0o755)
    names = [name for name, _ in things(disk, Queue.standing(disk))]
    for thing in names:
        with test(thing) as told:
            points = 0
            for when, seconds in times.items():
                place = disk / "place"
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir()
                before = len(receiver.ids())
                queue = fresh(place)
                path = dict(things(place, queue))[thing]()
                try:
                    touch(path, seconds)
                except OverflowError:
                    # Python's own numbers of nanoseconds end before the file system's.
                    continue
                mine = kept(queue)
                for words in (["list"], ["status"], ["check"], ["run"], ["list", "--json"], ["status", "--json"],
                              ["check", "--repair"], ["run", "--now", "--wait", "0s"], ["export"]):
                    # The run touches directories itself: what it left is made old again.
                    if path.exists():
                        touch(path, seconds)
                    result = queue(*words)
                    expect(result.returncode in allowed, when, words, result.returncode, result.stderr)
                    points += 1
                result = queue("add", input='{"n":8}\n')
                expect(result.returncode == 0, when, result.stderr)
                result = queue("run", "--now")
                expect(result.returncode in allowed, when, result.returncode, result.stderr)
                sent = receiver.ids()[before:]
                expect(len(sent) == len(set(sent)), when, "sent twice", sent)
                left = kept(queue)
                # What was changed, or claimed to be, may be in failed/ or in quarantine: nothing else may be gone.
                held = {name.name for name in queue.files("quarantine")}
                for operation in mine | set(result.stdout.split()):
                    expect(operation in sent or operation in left or any(operation in name for name in held), when, operation, "is gone")
            told.append(f"{points} points")

if shutil.which("faketime"):
    with test("a clock that is centuries off") as told:
        points = 0
        for offset in (-60, -200, 100, 230, 240, 500, 5000, 200_000):
            queue = Queue(receiver.url + "/{id}")
            clock = ["faketime", "-f", f"{offset:+d}y", "env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]
            for words in (["add"], ["list"], ["status"], ["check"], ["run", "--now"], ["list"]):
                result = queue(*words, input='{"n":1}\n', before=clock)
                expect(result.returncode in allowed, offset, words, result.returncode, result.stderr)
                points += 1
            expect(queue("run", "--now").returncode in allowed and not list(queue.files("new")), offset)
        told.append(f"{points} points")

end()
