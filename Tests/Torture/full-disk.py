#!/usr/bin/env python3
"""Full disks: tmpfs and a small ext4, without space and without inodes; and one that becomes read-only.

- Delivering, deferring, giving up, dropping, trying again and quarantine need no space: the queue is drained to empty.
- `add` and `import` refuse with status 74, say at which line, and leave nothing half-written: what was answered for is
  in the queue, the rest is not, and can be given again when there is space.
- What an answer would leave for later operations of its key is not asked for while there is no room to keep it.
- What a run only remembers (state/, metrics) is told once where it cannot be written, and stops no delivery.
- A file system that becomes read-only stops the run with status 74, and nothing more is sent.
"""

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile

from torture import Queue, Receiver, end, expect, made, mounted, own_mounts, scratch, test, until

own_mounts("full disk")


class Disk:
    """A small file system with a queue on it, which can be filled to the last byte, or to the last inode."""

    def __init__(self, place, wants, receiver, **options):
        self.place, self.wants = place, wants
        # Whatever fails, all are tried.
        destinations = {receiver.url: {"circuitBreaker": 0}}
        self.queue = Queue(receiver.url + "/{id}", place / "q", destinations=destinations, **options)

    def fill(self):
        fill = self.place / "fill"
        fill.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):
            if self.wants == "inodes":
                for number in range(10_000):
                    (fill / str(number)).touch()
            # The large pieces first, then what is left between them.
            for size in (1 << 16, 1 << 10, 1):
                with contextlib.suppress(OSError), open(fill / f"{size}", "ab", buffering=0) as file:
                    while True:
                        file.write(b"x" * size)
                        os.fsync(file.fileno())

    def empty(self):
        subprocess.run(["rm", "-rf", str(self.place / "fill")], check=True)


def disks(receiver, **options):
    """Each kind of disk that can be full, by name."""
    for kind in ("tmpfs", "ext4"):
        for wants in ("space", "inodes"):
            with fresh(kind) as place:
                yield f"{kind} without {wants}", Disk(place, wants, receiver, **options)


@contextlib.contextmanager
def fresh(kind, block=4096, image=None):
    """An empty disk. Its image is a new one each time, because the kernel may still write to the last one; one that is named
    stays."""
    if kind == "tmpfs":
        with mounted("tmpfs", "-t", "tmpfs", "-o", "size=512k,nr_inodes=90") as place:
            yield place
        return
    path = image or pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "image"
    with open(path, "wb") as file:
        os.truncate(file.fileno(), 8 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-b", str(block), "-N", "256", str(path)], check=True)
    with mounted(path, "-o", "loop") as place:
        yield place
    if image is None:
        path.unlink()


def lines(count, size=0):
    return [json.dumps({"n": number, "pad": "x" * size}) + "\n" for number in range(count)]


def names(queue, state):
    return sorted(path.name for path in queue.files(state))


def expect_tidy(queue, result):
    """Nothing is half-written, and a full disk is told by one line with its hint, or by two: what the run and what it
    leaves behind could not write."""
    expect(not list(queue.files("tmp")) and not list(queue.files("claimed")), "left behind", result.stderr)
    told = [line for line in result.stderr.splitlines() if "No space left" in line]
    expect(len(told) <= 2, result.stderr)


with test("a full disk is drained to empty") as told:
    for kind, disk in disks(receiver := Receiver()):
        ids = disk.queue("add", input="".join(lines(20))).stdout.split()
        disk.fill()
        before = len(receiver.ids())
        result = disk.queue("run", "--json")
        expect(result.returncode == 0, kind, result.returncode, result.stderr)
        sent = receiver.ids()[before:]
        expect(sorted(sent) == sorted(ids) and not disk.queue.operations(), kind, result.stderr)
        expect_tidy(disk.queue, result)
        told.append(kind)

with test("a failed attempt needs no space: it is deferred, and delivered when the server is back") as told:
    for kind, disk in disks(receiver := Receiver(*["503 *24", "204 *12"] * 4)):
        ids = disk.queue("add", input="".join(lines(12))).stdout.split()
        disk.fill()
        for attempt in (1, 2):
            result = disk.queue("run", "--now")
            expect(result.returncode in (74, 75), kind, result.returncode, result.stderr)
            expect(set(disk.queue.operations()) == set(ids), kind, "lost", result.stderr)
            expect_tidy(disk.queue, result)
            expect(all(f",a={attempt}," in name for name in names(disk.queue, "deferred")), names(disk.queue, "deferred"))
            expect(len(names(disk.queue, "deferred")) == 12, kind, result.stderr)
        result = disk.queue("run", "--now")
        expect(result.returncode == 0 and not disk.queue.operations(), kind, result.stderr)
        told.append(kind)

with test("a directory that would have to grow keeps what finds no room where it was, and nobody else from its delivery") as told:
    with fresh("ext4", block=1024) as place:
        disk = Disk(place, "space", receiver := Receiver("503 *200", "204"))
        (disk.queue.path / "drainq.json").write_text(json.dumps({"routes": {
            "default": {"url": receiver.url + "/{id}"}, "good": {"url": (good := Receiver()).url + "/{id}"}},
            "destinations": {receiver.url: {"circuitBreaker": 0}}}))
        disk.queue("add", input="".join(lines(200)))
        ids = disk.queue("add", "--type", "good", input="".join(lines(5))).stdout.split()
        disk.fill()
        result = disk.queue("run", "--limit", "1000")
        expect(result.returncode == 74, result.returncode, result.stderr)
        expect_tidy(disk.queue, result)
        new, deferred = names(disk.queue, "new"), names(disk.queue, "deferred")
        expect(new and deferred and len(new) + len(deferred) == 200 and not set(ids) & set(disk.queue.operations()), new)
        disk.empty()
        while (result := disk.queue("run", "--now", "--limit", "1000")).returncode == 75:
            expect(len(receiver.requests()) < 400, "is never delivered", result.stderr)
        expect(result.returncode == 0 and not disk.queue.operations(), result.returncode, result.stderr)
        told.append(f"{len(new)} found no room")

with test("an operation is given up, tried again and dropped without space") as told:
    for kind, disk in disks(Receiver(*["400 *4", "204 *3"] * 4)):
        ids = disk.queue("add", input="".join(lines(4))).stdout.split()
        disk.fill()
        result = disk.queue("run")
        expect(result.returncode in (1, 74) and len(names(disk.queue, "failed")) == 4, kind, result.stderr)
        expect(disk.queue("drop", ids[0]).returncode == 0, kind)
        expect(disk.queue("retry", "--all").returncode == 0, kind)
        expect(set(disk.queue.operations()) == set(ids[1:]), kind, disk.queue.operations())
        result = disk.queue("run")
        expect(result.returncode == 0 and not disk.queue.operations(), kind, result.stderr)
        told.append(kind)

with test("what is no operation goes into quarantine without space, and the others are delivered") as told:
    for kind, disk in disks(Receiver()):
        ids = disk.queue("add", input="".join(lines(4))).stdout.split()
        torn = next(disk.queue.files("new"))
        torn.write_bytes(torn.read_bytes()[:-9])
        disk.fill()
        result = disk.queue("run")
        expect(result.returncode == 65, kind, result.returncode, result.stderr)
        expect(not disk.queue.operations() and torn.name in names(disk.queue, "quarantine"), kind, result.stderr)
        told.append(kind)

with test("add and import refuse cleanly, say where the rest begins, and take it when there is space") as told:
    count = 0
    for kind, disk in disks(Receiver()):
        queue, given = disk.queue, lines(400, size=3000 if disk.wants == "space" else 0)
        other = Queue("http://localhost/")
        other("add", input="".join(given))
        moved = other("export").stdout.splitlines(keepends=True)
        for words, given in ((["add"], given), (["add", "--atomic"], given), (["import"], moved)):
            if disk.place.joinpath("fill").exists():
                disk.empty()
            before = set(queue.operations())
            for attempt in range(2):
                result = queue(*words, input="".join(given))
                ids = result.stdout.split()
                expect(result.returncode == 74, kind, words, result.returncode, result.stderr)
                line = re.search(r"cannot \w+ line (\d+) of 'standard input' and the lines after it: cannot", result.stderr)
                expect(line and "hint: the disk is full" in result.stderr, kind, words, result.stderr)
                expect(int(line.group(1)) == len(ids) + 1 and ("--atomic" not in words or not ids), result.stderr)
                expect(set(queue.operations()) == before | set(ids), kind, words, "not what was answered for")
                expect_tidy(queue, result)
                before, given, count = before | set(ids), given[len(ids):], count + 1
                if attempt == 0:
                    disk.fill()
            disk.empty()
            queue("run", "--limit", 1000)
            result = queue("add" if words[0] == "add" else "import", input="".join(given[:20]))
            expect(result.returncode == 0 and len(result.stdout.split()) == 20, kind, words, result.stderr)
            queue("run")
            expect(not queue.operations(), kind)
        told.append(kind)
    told.append(f"{count} refusals")

with test("minimumFree keeps add out in time, and delivers") as told:
    for kind, disk in disks(Receiver(), limits={"minimumFree": "200kB"}):
        if disk.wants == "inodes":
            continue
        result = disk.queue("add", input="".join(lines(400, size=40_000)))
        ids = result.stdout.split()
        free = os.statvfs(disk.place)
        expect(result.returncode == 74 and "less than 200kB would stay free" in result.stderr, kind, result.stderr)
        expect(set(disk.queue.operations()) == set(ids), kind)
        # What directories and file tails take is not counted beforehand.
        expect(free.f_bavail * free.f_frsize > 60_000, kind, free.f_bavail * free.f_frsize)
        result = disk.queue("run", "--limit", 500)
        expect(result.returncode == 0 and not disk.queue.operations(), kind, result.stderr)
        told.append(f"{kind}: {len(ids)} taken")

with test("without room for what an answer leaves nothing is sent that leaves something, and all goes on when there is") as told:
    for kind, disk in disks(receiver := Receiver(made)):
        queue = disk.queue
        document = json.loads((queue.path / "drainq.json").read_text())
        document["routes"]["create"] = {"keep": {"id": "/id"}}
        document["routes"]["next"] = {"url": receiver.url + "/{kept.id}/{id}"}
        (queue.path / "drainq.json").write_text(json.dumps(document))
        for key in "abc":
            for name in ("create", "next"):
                queue("add", "--type", name, "--key", key, "--id", f"{name}-{key}", input="{}")
        other = queue("add", input="{}").stdout.strip()
        for _ in range(2):
            # A run may have given the reserve back, and ext4 frees its blocks a moment later.
            disk.fill()
            before = len(receiver.ids())
            result = queue("run")
            expect(result.returncode == 74, kind, result.returncode, result.stderr)
            expect(set(receiver.ids()[before:]) <= {other}, kind, receiver.ids()[before:])
            expect(len(queue.operations()) == 6, kind, "lost", result.stderr)
            expect_tidy(queue, result)
        disk.empty()
        before = len(receiver.ids())
        result = queue("run")
        expect(result.returncode == 0 and not queue.operations(), kind, result.returncode, result.stderr)
        sent = receiver.ids()[before:]
        expect(sorted(sent) == sorted(f"{name}-{key}" for name in ("create", "next") for key in "abc"), kind, sent)
        told.append(kind)

with test("what a run cannot remember is told once, and stops no delivery") as told:
    # Nobody listens at the port, and nobody else gets it.
    gone = socket.socket()
    gone.bind(("127.0.0.1", 0))
    queue = Queue((receiver := Receiver()).url + "/{id}", metrics={"textfile": str(scratch / "none" / "file")})
    document = json.loads((queue.path / "drainq.json").read_text())
    document["routes"]["gone"] = {"url": f"http://127.0.0.1:{gone.getsockname()[1]}"}
    (queue.path / "drainq.json").write_text(json.dumps(document))
    # The ledger has something to write at each attempt.
    queue("add", "--type", "gone", input="".join(lines(20)))
    ids = queue("add", input="".join(lines(3))).stdout.split()
    for name in ("destinations.json", "last-run.json", "reports.json"):
        (queue.path / "state" / f".{name}").mkdir()
    result = queue("run")
    expect(result.returncode == 74 and sorted(receiver.ids()) == sorted(ids), result.returncode, result.stderr)
    for name in ("destinations.json", "last-run.json", "none/.file.new"):
        expect(result.stderr.count(name) <= 1, name, result.stderr)
    expect(len(result.stderr.splitlines()) <= 4, result.stderr)

with test("a file system that becomes read-only sends nothing more, and all goes on when it can be written again") as told:
    image = scratch / "image"
    with fresh("ext4", image=image) as place:
        # Those that are in flight are answered when the disk is read-only.
        disk = Disk(place, "space", receiver := Receiver("204 delay=3s *5", "204"))
        queue = disk.queue
        ids = queue("add", input="".join(lines(12))).stdout.split()
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        result = queue("run")
        expect(result.returncode == 74 and "read-only" in result.stderr and not receiver.ids(), result.stderr)
        expect(queue("add", input="{}").returncode == 74)
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
        run = subprocess.Popen(queue.command("run"), stderr=subprocess.PIPE, text=True)
        until(receiver.ids, "a request")
        # As ext4 itself does it after an error, whatever is open.
        subprocess.run(["mount", "-o", "remount,abort", str(place)], capture_output=True)
        _, error = run.communicate(timeout=60)
        expect(run.returncode == 74, run.returncode, error)
        sent = receiver.ids()
        expect(len(sent) <= 5, "sent after all", sent)
    with mounted(image, "-o", "loop") as place:
        queue = Queue.standing(place / "q")
        again = queue("run")
        expect(again.returncode == 0 and not queue.operations(), again.returncode, again.stderr)
        expect(set(receiver.ids()) == set(ids), "lost")
        told.append(f"{len(sent)} in flight, {len(receiver.ids()) - len(ids)} re-deliveries")

end()
