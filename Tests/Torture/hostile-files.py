#!/usr/bin/env python3
"""What others can put into a queue whose `new/` anybody may write to (mode 1777, drainq-queue(5)).

Injected: everything that a file system can hold under every name it can have; JSON of every bad kind; files of another
user (uid 65534), who also forges canonical names, changes files while they are read, and fills `new/` with junk. Needs
root: to be two users.

Invariants: every good operation is delivered once; every bad file is in quarantine, once, with a reason that can be
printed, and is told once; what the names lead to is neither read, nor written, nor removed; no run hangs, and each ends
with the status that drainq(1) gives; memory and time of one run do not grow with the junk.
"""

import contextlib
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import time

from torture import Queue, Receiver, effort, end, expect, scratch, test

# Who owns the queue and runs drainq, and who drops files into it.
owner, nobody = 65533, 65534
as_owner = {"user": owner, "group": owner, "extra_groups": []}
scratch.chmod(0o755)
receiver = Receiver("204", bodies=True)


@contextlib.contextmanager
def busy_stranger(work):
    """A process of the other user that does its work over and over until the block ends, errors or not."""
    process = os.fork()
    if process == 0:
        os.setgroups([])
        os.setgid(nobody)
        os.setuid(nobody)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                work()
        os._exit(0)
    try:
        yield
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def meddle(new, held=[], number=itertools.count()):
    """Drops a file in pieces, and changes, shortens or replaces those of before: what is right in them is an object of one
    text."""
    right = [b'{"%s":"%s"}' % (name, letter * random.choice([10, 1000, 10_000])) for name, letter in [(b"a", b"x"), (b"b", b"y")]]
    name = f"{new}/changing-{next(number)}"
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    held.append(file)
    os.write(file, right[0][: random.randrange(len(right[0]))])
    os.pwrite(file, right[0], 0)
    for file in held[-8:]:
        change = random.random()
        if change < 0.3:
            os.ftruncate(file, random.randrange(15_000))
        elif change < 0.6:
            os.pwrite(file, right[1], 0)
            os.ftruncate(file, len(right[1]))
        elif change < 0.8:
            os.pwrite(file, b"z" * 1000, random.randrange(15_000))
    if random.random() < 0.3:
        with open(f"{new}/.replacement", "wb") as replacement:
            replacement.write(right[1])
        os.rename(f"{new}/.replacement", name)
    while len(held) > 50:
        os.close(held.pop(0))
    time.sleep(0.02)


def swap(tmp, target):
    """Turns a directory in `tmp/` that looks like a dead writer's into a link to another one, and clears up."""
    place = f"{tmp}/20200101T000000.000000Z-fedcba9876543210"
    os.mkdir(place)
    for name in ("lock", "file"):
        open(f"{place}/{name}", "w").close()
    os.rename(place, place + "~")
    os.symlink(target, place)
    os.unlink(place)
    for name in ("lock", "file"):
        os.unlink(f"{place}~/{name}")
    os.rmdir(place + "~")


def drop_place(**configuration):
    """A queue that anybody may drop files into, as drainq-queue(5) says it is made."""
    queue = Queue(receiver.url + "/{id}", **configuration)
    queue.path.parent.chmod(0o755)
    for path in (queue.path, *queue.path.rglob("*")):
        os.chown(path, owner, owner)
    queue.path.chmod(0o711)
    for name in ("new", "tmp"):
        (queue.path / name).chmod(0o1777)
    return queue


@contextlib.contextmanager
def stranger():
    """The other user, for as long as the block lasts."""
    os.setegid(nobody)
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def drop(queue, name, contents, mode=0o644):
    """Drops a file into `new/` under a name that may be bytes."""
    path = os.path.join(os.fsencode(queue.path / "new"), os.fsencode(name))
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(contents if isinstance(contents, bytes) else contents.encode())
    return path


def envelope(id, **fields):
    return json.dumps({"drainq": 1, "id": id, "payload": 1, **fields})


def run(queue, *arguments, status, timeout=60, **options):
    """A run that ends by itself, with this status."""
    result = queue("run", *arguments, timeout=timeout, **{**as_owner, **options})
    expect(result.returncode == status, "status", result.returncode, "not", status, result.stderr[-2000:])
    return result


def quarantined(queue):
    """reason → how many files have it. Each has one, and none says anything that cannot be printed."""
    reasons = {}
    names = os.listdir(os.fsencode(queue.path / "quarantine"))
    files = {name for name in names if not name.endswith(b".reason")}
    expect({name.removesuffix(b".reason") for name in names} == files, "reasons and files do not match")
    for name in files:
        expect(name.isascii() and name.decode().isprintable(), "a name of quarantine:", name)
        document = json.loads((queue.path / "quarantine" / (name.decode() + ".reason")).read_text())
        for text in (document["reason"], document["originalName"]):
            expect(text.isprintable(), "not printable:", repr(text))
        reasons[document["reason"]] = reasons.get(document["reason"], 0) + 1
    return reasons


def foreign(queue):
    """What is left in `new/`, but for names that are skipped."""
    return [name for name in os.listdir(os.fsencode(queue.path / "new")) if not name.startswith(b".")]


def tree(path):
    """Everything that a directory holds and what it is: what must not change."""
    found = []
    for root, names, files in os.walk(path):
        # In this order they are walked, too.
        names.sort()
        found.append((root, list(names), [(name, os.lstat(os.path.join(root, name))[:7]) for name in sorted(files)]))
    return found


@contextlib.contextmanager
def settled(queue, ids, told, status=65, **options):
    """Drops what the block drops, runs once, and checks what every test promises."""
    before = len(receiver.requests())
    yield
    result = run(queue, status=status, **options)
    found = receiver.ids()[before:]
    expect(sorted(found) == sorted(ids), "delivered", found[:20], "not", ids[:20], result.stderr[-2000:])
    expect(not foreign(queue), "left in new:", foreign(queue)[:10])
    expect(all(c.isprintable() or c == "\n" for c in result.stderr), "not printable:", repr(result.stderr))
    again = run(queue, status=0)
    expect(again.stderr == "", "told again:", again.stderr)
    told.append(f"{sum(quarantined(queue).values())} put aside")


with test("what is no regular file is put aside, and what it leads to is not touched") as told:
    queue = drop_place()
    outside = scratch / "outside"
    (outside / "directory").mkdir(parents=True)
    (outside / "secret").write_text('"secret"')
    for path in (outside, *outside.rglob("*")):
        os.chown(path, owner, owner)
    new = queue.path / "new"
    with settled(queue, ["good-a", "good-b"], told):
        drop(queue, "good-a", envelope("good-a"))
        links = {
            "to-file": outside / "secret", "to-shadow": "/etc/shadow", "to-directory": outside / "directory",
            "to-configuration": "../drainq.json", "dangling": outside / "missing", "loop": "loop", "to-self": ".",
            "to-terminal": "/dev/tty", "to-endless": "/dev/zero",
        }
        with stranger():
            drop(queue, "good-b", envelope("good-b"))
            for name, target in links.items():
                (new / name).symlink_to(target)
            os.mkfifo(new / "fifo", 0o666)
            for name, kind in [("stream", socket.SOCK_STREAM), ("datagram", socket.SOCK_DGRAM)]:
                with socket.socket(socket.AF_UNIX, kind) as listening:
                    listening.bind(str(new / name))
            (new / "empty").mkdir(0o700)
            (new / "deep" / "x" / "y").mkdir(parents=True)
            (new / "deep" / "x" / "link").symlink_to(outside)
            drop(queue, "unreadable", envelope("unreadable"), mode=0o000)
        for name, kind, device in [
            ("null", stat.S_IFCHR, (1, 3)), ("zero", stat.S_IFCHR, (1, 5)), ("full", stat.S_IFCHR, (1, 7)),
            ("disk", stat.S_IFBLK, (7, 200)),
        ]:
            os.mknod(new / name, 0o666 | kind, os.makedev(*device))
        (new / "open-directory").mkdir()
        (new / "open-directory").chmod(0o777)
        os.link(outside / "secret", new / "hard")
        witness = tree(outside)
    reasons = quarantined(queue)
    moved = [reason for reason in reasons if "can move: it is 'new/.admitting-" in reason]
    expect(len(moved) == 2, reasons)
    expect({reason: count for reason, count in reasons.items() if reason not in moved} == {
        "it is a symbolic link": 9, "it is a FIFO": 1, "it is a device": 4, "it is a socket": 2,
        "it is a directory": 1, "it has 2 names (hard links)": 1,
        f"it belongs to user {nobody} and cannot be read: Permission denied": 1,
    }, reasons)
    expect((outside / "secret").read_text() == '"secret"', "the linked file has changed")
    expect([entry[1] for entry in tree(outside)] == [entry[1] for entry in witness], "what is outside has changed")

with test("names of every kind are told without harm") as told:
    queue = drop_place()
    names = [
        b"a\nb", b"\x1b[2J\x1b]0;title\x07", b"\xff\xfe\x80", b"n" * 255, "\u202egnp.exe".encode(), "\u2028".encode(),
        b"..\xc0\xaf..\xc0\xafetc", b"..x", b"...", b" ", b"-rf", b"%s%n", b"'; touch outside; '", b"$(id)", b"lock",
        b"x.reason", b"admitting-x", b"admitting-..", "e\u0301".encode() * 60, b"\x7f", b"con.json", b"~",
    ]
    hidden = {name for name in names if name.startswith(b".")}
    ids = []
    with settled(queue, ids, told):
        for number, name in enumerate(names):
            with stranger():
                drop(queue, name, "{")
        # The same names are no fault of what is good.
        for number, name in enumerate(names):
            if name not in hidden and len(name) < 200:
                with stranger():
                    drop(queue, name + b"+", envelope(f"name-{number}"))
                ids.append(f"name-{number}")
    reasons = quarantined(queue)
    expect(sum(reasons.values()) == len(names) - len(hidden), reasons)

with test("a stranger's canonical names say nothing: no age, no key, no attempts, no hold") as told:
    queue = drop_place(routes={"default": {"url": receiver.url + "/{id}", "coalesce": True, "ordering": "key"}})
    before = len(receiver.requests())
    key = hashlib.sha256(b"k").hexdigest()[:24]
    added = [queue("add", "--key", "k", input="1", **as_owner).stdout.strip()]
    added += queue("add", input="1\n2\n3\n", **as_owner).stdout.split()
    forged = [
        f"29991231T235959.000000Z-newer,k={key}.json", f"19700101T000000.000000Z-older,k={key}.json",
        "19700101T000000.000001Z-held,h=1.json", "20260101T000000.000000Z-tried,a=9999,i=99,t=20270101T000000Z.json",
        f"20260101T000000.000000Z-{added[1]}.json", "20260101T000000.000000Z-later,n=29990101T000000Z.json",
        "20260101T000000.000000Z-typed,r=x.json", f"20260101T000000.000000Z-away,o={key}.json",
    ]
    forged += [f"19700101T000000.{number:06}Z-flood-{number}.json" for number in range(300 * effort)]
    with stranger():
        for name in forged:
            drop(queue, name, json.dumps({"drainq": 1, "id": "x", "createdAt": "1970-01-01T00:00:00Z", "length": 1}) + "\n1\n")
    result = run(queue, "--limit", 4, status=65)
    expect(sorted(receiver.ids()[before:]) == sorted(added), receiver.ids()[before:], result.stderr[-2000:])
    expect(sum(quarantined(queue).values()) == len(forged) and not foreign(queue), quarantined(queue))
    expect(len(result.stderr.splitlines()) <= 24, "too much is told:", result.stderr)
    told += [f"{len(forged)} names"]

with test("JSON of every bad kind is put aside; values that are odd and right go out byte for byte") as told:
    queue = drop_place(limits={"operationBytes": "2MB"})
    deep = 100_000
    bad = {
        "deep-array": "[" * deep, "deep-object": '{"a":' * deep, "closed-deep": "[" * deep + "]" * deep,
        "unclosed": '{"a": [1, 2', "utf-16": '{"a":1}'.encode("utf-16"), "nul": b'{"a":"\0"}',
        "latin-1": b'"\xe9"', "overlong": b'"\xc0\xaf"', "surrogate-bytes": b'"\xed\xa0\x80"', "two": "1 2",
        "comma": "[1,]", "nan": "NaN", "hex": "0x10", "zero-led": "01", "plus": "+1", "dot": "1.", "single": "'a'",
        "comment": "/* */ 1", "control": '"a\nb"', "escape": '"\\x41"', "short-escape": '"\\u12"', "blank": " \n\t",
        "huge": " " * 100_000_000, "twice": '{"drainq":1,"id":"a","id":"b","payload":1}',
        "twice-marked": '{"drainq":1,"drainq":1,"payload":1}', "twice-escaped": '{"drainq":1,"id":"a","\\u0069d":"b","payload":1}',
        "newer": '{"drainq":2,"payload":1}', "huge-version": '{"drainq":1e400,"payload":1}',
        "long-header": envelope("h", headers={"X": "x" * 100_000}), "long-key": envelope("k", key="k" * 1025),
        "lone-surrogate-id": '{"drainq":1,"id":"\\ud800","payload":1}',
    }
    for number, id in enumerate(["../../x", "/", "", "..", ".", "a/b", "a\0b", "x" * 65, "\u00e9", "a b", "a\n", "a,h=1", "a.json"]):
        bad[f"id-{number}"] = envelope(id)
        if id not in (".", "a.json"):
            bad[f"type-{number}"] = json.dumps({"drainq": 1, "type": id, "payload": 1})
    odd = {
        "odd-surrogate": '"\\ud800"', "odd-number": "1" * 4000, "odd-float": "1e999999999", "odd-zero": "-0.0",
        "odd-keys": '{"a":1,"a":2}', "odd-nul": '"\\u0000"', "odd-deep": "[" * 200 + "]" * 200, "odd-blank": '{ "a" :  1 }',
    }
    keys = ["../../x", "/", "\u0000", "\u202e", "a" * 1024, ""]
    ids = [*odd, *(f"key-{number}" for number in range(len(keys)))]
    with settled(queue, ids, told):
        with stranger():
            for name, contents in bad.items():
                drop(queue, name, contents)
            for name, payload in odd.items():
                drop(queue, name, f'{{"drainq":1,"id":"{name}","payload":{payload}}}')
            for number, key in enumerate(keys):
                drop(queue, f"key-{number}", envelope(f"key-{number}", key=key))
    expect(sum(quarantined(queue).values()) == len(bad), quarantined(queue))
    lines = receiver.lines()
    for name, payload in odd.items():
        line = next(line for line in lines if f"/{name}\"" in line)
        expect(f'"body":{payload}' in line, name, line[:1000])
    told += [f"{len(odd)} odd ones went out"]

with test("files that grow, shrink, are rewritten and replaced while they are read are each one value or none") as told:
    queue = drop_place()
    before = len(receiver.requests())
    drop(queue, "good", envelope("changing-good"))
    rounds = 15 * effort
    with busy_stranger(lambda: meddle(queue.path / "new")):
        for _ in range(rounds):
            result = queue("run", "--limit", 300, timeout=60, **as_owner)
            expect(result.returncode in (0, 65), result.returncode, result.stderr[-1000:])
    queue("run", "--limit", 1000, **as_owner)
    expect(not foreign(queue), "left in new:", foreign(queue)[:10])
    bodies = [request["body"] for request in receiver.requests()[before:]]
    for value in bodies:
        expect(re.fullmatch(r"1|\{'[ab]': '[xyz]+'\}", str(value)), "torn:", str(value)[:200])
    expect("changing-good" in receiver.ids()[before:], "the good one was not delivered")
    told += [f"{rounds} runs", f"{len(bodies)} delivered", f"{sum(quarantined(queue).values())} put aside"]

with test("a body file is the submitter's own affair: not outside, not through a link, not a FIFO, not another one later") as told:
    allowed = scratch / "allowed"
    allowed.mkdir(mode=0o755)
    (allowed / "good").write_bytes(b"the good body")
    (allowed / "changed").write_bytes(b"before")
    (allowed / "link").symlink_to("/etc/shadow")
    (allowed / "way").symlink_to("/etc")
    os.mkfifo(allowed / "fifo")
    outside = scratch / "allowed-not"
    outside.mkdir()
    (outside / "file").write_bytes(b"not to be sent")
    queue = drop_place(bodyFiles=[str(allowed)])
    paths = {
        "outside": "/etc/hostname", "link": f"{allowed}/link", "way": f"{allowed}/way/hostname", "fifo": f"{allowed}/fifo",
        "dots": f"{allowed}/../allowed-not/file", "alike": f"{outside}/file", "relative": "good", "missing": f"{allowed}/no",
        "directory": str(allowed), "device": "/dev/zero", "empty": "", "nul": f"{allowed}/good\0", "process": "/proc/self/environ",
    }
    with settled(queue, ["file-good"], told):
        os.seteuid(owner)
        drop(queue, "good", '{"drainq":1,"id":"file-good","bodyFile":"%s/good"}' % allowed)
        for name, path in paths.items():
            drop(queue, name, json.dumps({"drainq": 1, "id": name, "bodyFile": path}))
        os.seteuid(0)
        with stranger():
            drop(queue, "theirs", '{"drainq":1,"id":"theirs","bodyFile":"%s/good"}' % allowed)
    expect(sum(quarantined(queue).values()) == len(paths) + 1, quarantined(queue))
    result = queue("add", "--body-file", allowed / "changed", **as_owner)
    expect(result.returncode == 0, result.stderr)
    (allowed / "changed").unlink()
    (allowed / "changed").symlink_to("/etc/hostname")
    before = len(receiver.requests())
    run(queue, status=1)
    expect(len(receiver.requests()) == before, "a file that was replaced was sent")

with test("what strangers leave in tmp/ leads no sweep elsewhere") as told:
    queue = drop_place()
    outside = scratch / "swept"
    outside.mkdir()
    for name in ("lock", "file"):
        (outside / name).write_text("stays")
        os.chown(outside / name, owner, owner)
    os.chown(outside, owner, owner)
    tmp = queue.path / "tmp"
    old = time.time() - 40 * 3600
    with stranger():
        (tmp / "20200101T000000.000000Z-0123456789abcdef").mkdir()
        (tmp / "20200101T000000.000000Z-0123456789abcdef" / "lock").touch()
        (tmp / "link").symlink_to(outside)
        (tmp / "full").mkdir()
        (tmp / "full" / "link").symlink_to(outside)
        (tmp / "hollow").mkdir()
        for name in ("link", "full", "hollow", "20200101T000000.000000Z-0123456789abcdef"):
            os.utime(tmp / name, (old, old), follow_symlinks=False)
    with busy_stranger(lambda: swap(tmp, outside)):
        for _ in range(20 * effort):
            run(queue, status=0)
    expect(sorted(os.listdir(outside)) == ["file", "lock"], "the sweep went outside:", os.listdir(outside))
    expect(not (tmp / "link").is_symlink() and not (tmp / "hollow").exists(), "old leftovers are there")

with test("every path in the queue is opened without following links, and nothing else is written") as told:
    queue = drop_place()
    with stranger():
        (queue.path / "new" / "link").symlink_to("/etc/shadow")
        drop(queue, "good", envelope("traced"))
        drop(queue, "bad", "{")
    log = scratch / "strace"
    log.touch()
    os.chown(log, owner, owner)
    words = ["strace", "-f", "-qq", "-o", str(log), "-e",
             "trace=open,openat,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,link,linkat,symlink,symlinkat,chmod,fchmodat,truncate"]
    result = queue("run", before=words, **as_owner)
    expect(result.returncode == 65, result.stderr)
    opened, written = 0, set()
    for line in log.read_text(errors="replace").splitlines():
        call = re.match(r"\d+ +(\w+)\((.*)\) += (-?\d+)", line)
        if not call:
            continue
        name, arguments, value = call.groups()
        paths = re.findall(r'"((?:[^"\\]|\\.)*)"', arguments)
        absolute = [path for path in paths if path.startswith("/")]
        if name in ("open", "openat") and not arguments.startswith("AT_FDCWD"):
            follows = paths == ["drainq.json"]
            expect(follows or "O_NOFOLLOW" in arguments or "O_DIRECTORY" in arguments, "follows links:", line)
            expect(not absolute, "a path from the root:", line)
            opened += 1
        elif int(value) >= 0 and (name not in ("open", "openat") or re.search("O_WRONLY|O_RDWR|O_CREAT", arguments)):
            written.update(absolute)
    expect(opened > 20, "only", opened, "opened in the queue")
    expect(written <= {"/dev/null", "/dev/tty"}, "written outside:", written)
    expect("/etc/shadow" not in log.read_text(), "the link was followed")
    told += [f"{opened} opened"]

with test("a sub-directory that is a link is no part of a queue") as told:
    for name in ("new", "tmp", "deferred", "claimed", "failed", "quarantine", "delivered", "state"):
        queue = drop_place()
        elsewhere = scratch / f"elsewhere-{name}"
        shutil.move(queue.path / name, elsewhere)
        (queue.path / name).symlink_to(elsewhere)
        witness = tree(elsewhere)
        for command in (["run"], ["add"]):
            result = queue(*command, input="1", **as_owner)
            expect(result.returncode == 66, name, command, result.returncode, result.stderr)
        expect(tree(elsewhere) == witness, "written through the link", name)

with test("junk costs a run bounded memory and time, and what is good is delivered") as told:
    queue = drop_place()
    before = len(receiver.requests())
    count = 120_000 * effort
    start = time.monotonic()
    new = os.open(queue.path / "new", os.O_RDONLY | os.O_DIRECTORY)
    with stranger():
        for number in range(count):
            os.close(os.open(f"junk-{number:07}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=new))
        ids = [f"among-{number}" for number in range(50)]
        for id in ids:
            drop(queue, id, envelope(id))
    os.close(new)
    first = queue("add", input="1", **as_owner).stdout.strip()
    told += [f"{count} files made in {time.monotonic() - start:.0f} s"]
    runs = []
    while foreign(queue):
        start = time.monotonic()
        process = subprocess.Popen(queue.command("run"), stderr=subprocess.PIPE, text=True, **as_owner)
        errors = process.stderr.read()
        _, state, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(state)
        runs.append((time.monotonic() - start, usage.ru_maxrss // 1024))
        expect(process.returncode == 65, process.returncode, errors[-1000:])
        expect(len(errors.splitlines()) <= 24, "too much is told:", errors[-1000:])
        expect(first in receiver.ids()[before:], "what was added is not delivered by the first run")
        expect(len(runs) <= count // 90_000 + 2, "the junk does not go")
    expect(sorted(receiver.ids()[before:]) == sorted([first, *ids]), receiver.ids()[before:])
    expect(max(rss for _, rss in runs) < 200, "RSS", runs)
    told += [f"{len(runs)} runs", f"{max(time for time, _ in runs):.0f} s and {max(rss for _, rss in runs)} MB at most"]

end()
