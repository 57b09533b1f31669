#!/usr/bin/env python3
"""Limits of the process, set below what it needs: RLIMIT_FSIZE, NOFILE, AS, DATA, STACK, CPU and NPROC, at many sizes each; and
a mount namespace without /proc.

- A file that may not grow is a full disk (EFBIG): no signal ends a program, what was attempted is counted in the name, and
  nothing good comes into quarantine.
- Whatever a process lacks, it says so and ends with a status of the manual; only memory and CPU time may end it by a signal.
- Nothing is lost, and what is delivered twice is explained by a run that died.
- Programs that the configuration names begin with signals as they are by themselves.
- Without /proc arguments are what they were, and libcurl delivers.
"""

import json
import os
import resource
import subprocess
import time

from torture import Queue, Receiver, end, expect, own_mounts, scratch, test

own_mounts("process limits")
allowed = set(range(0, 70)) | set(range(71, 80))


def limited(kind, size, user=None):
    """What subprocess does in the child: the limit, and another user where root is exempt."""
    def set_limit():
        resource.setrlimit(kind, (size, size))
        if user:
            os.setgid(user)
            os.setuid(user)
    return set_limit


def fill(queue, count=4):
    lines = "".join(json.dumps({"n": n, "text": "x" * (n * 900)}) + "\n" for n in range(count))
    result = queue("add", input=lines)
    expect(result.returncode == 0, result.stderr)
    return result.stdout.split()


def accounts(queue, operations, *told):
    """Everything is in one place or gone from the queue, and nothing is in quarantine."""
    found = queue.operations()
    expect(all(len(states) == 1 for states in found.values()), *told, found)
    expect(not list(queue.files("quarantine")), *told, [path.name for path in queue.files("quarantine")])
    return set(operations) - set(found)


sizes = [0, 1, 100, 200, 300, 500, 900, 1024, 1500, 2048, 3000, 4096, 10_000, 65_536]

with test("RLIMIT_FSIZE: a run counts what it attempted, and delivers") as told:
    points = 0
    for size in sizes:
        receiver = Receiver("503 *12", "204")
        queue = Queue(receiver.url + "/{id}", destinations={receiver.url: {"circuitBreaker": 0}})
        operations = fill(queue)
        for attempt in range(3):
            result = queue("run", "--now", preexec_fn=limited(resource.RLIMIT_FSIZE, size))
            expect(result.returncode in (74, 75), size, result.returncode, result.stderr)
            counts = sorted(path.name.partition(",a=")[2][:1] for path in queue.files("deferred"))
            expect(counts == [str(attempt + 1)] * 4, size, counts, result.stderr)
            points += 1
        result = queue("run", "--now", preexec_fn=limited(resource.RLIMIT_FSIZE, size))
        expect(result.returncode in (0, 74), size, result.returncode, result.stderr)
        expect(accounts(queue, operations, size) == set(operations) and len(receiver.ids()) == 16, size, len(receiver.ids()))
    told.append(f"{points} points")

with test("RLIMIT_FSIZE: other commands refuse, or do what they are to") as told:
    points = 0
    receiver = Receiver()
    for size in sizes:
        queue = Queue(receiver.url + "/{id}")
        operations = fill(queue)
        limit = limited(resource.RLIMIT_FSIZE, size)
        for words, given in (
                (["add"], '{"n":1}\n' * 3 + json.dumps("y" * 5000) + "\n"), (["add", "--atomic"], '{"n":1}\n' * 3),
                (["add"], "not JSON\n"), (["hold", operations[0]], ""), (["release", operations[0]], ""), (["pause"], ""),
                (["resume"], ""), (["check"], ""), (["check", "--repair"], ""), (["drop", operations[1]], ""),
                (["send"], '{"n":2}\n'), (["list"], ""), (["status"], ""), (["export"], "")):
            before = set(queue.operations())
            result = queue(*words, input=given, preexec_fn=limit)
            expect(result.returncode in allowed, size, words, result.returncode, result.stderr)
            if words[0] == "add":
                expect(set(result.stdout.split()) <= set(queue.operations()), size, words, "answered for what is not there")
            if words[0] not in ("drop", "send", "add"):
                expect(set(queue.operations()) == before, size, words)
            points += 1
        # Standard output is a file here, which may not grow either.
        with open(scratch / "out", "wb") as out:
            result = subprocess.run(queue.command("list", "--json"), stdout=out, stderr=subprocess.PIPE, preexec_fn=limit)
        expect(result.returncode in (0, 74), size, result.returncode, result.stderr)
        queue("run", "--now")
        expect(not queue.operations(), size, queue.operations())
    told.append(f"{points} points")

with test("RLIMIT_NOFILE") as told:
    points = 0
    for size in list(range(3, 26)) + [30, 40, 64]:
        queue = Queue((receiver := Receiver()).url + "/{id}")
        operations = fill(queue)
        for words in (["list"], ["status"], ["add"], ["run", "--now", "--concurrency", "64"], ["check"], ["send"]):
            result = queue(*words, input='{"n":1}\n', preexec_fn=limited(resource.RLIMIT_NOFILE, size))
            # Where the libraries are shared the loader needs some too, and gives up with its own status.
            isLoader = result.returncode == 127 and "loading shared libraries" in result.stderr
            expect(result.returncode in allowed or isLoader, size, words, result.returncode, result.stderr)
            points += 1
            accounts(queue, operations, size, words)
        expect(queue("run", "--now").returncode == 0 and not queue.operations(), size)
        sent = receiver.ids()
        expect(len(sent) == len(set(sent)) and set(operations) <= set(sent), size, sent)
    told.append(f"{points} points")

with test("RLIMIT_NPROC, as another user") as told:
    points = 0
    user = 54_321
    for size in (0, 1, 2, 3, 4, 6, 8):
        queue = Queue((receiver := Receiver()).url + "/{id}")
        operations = fill(queue)
        for place in (scratch, queue.path.parent):
            place.chmod(0o755)
        subprocess.run(["chown", "-R", f"{user}:{user}", str(queue.path)], check=True)
        for words in (["list"], ["add"], ["run", "--now"]):
            result = queue(*words, input='{"n":1}\n', preexec_fn=limited(resource.RLIMIT_NPROC, size, user))
            expect(result.returncode in allowed, size, words, result.returncode, result.stderr)
            points += 1
        expect(queue("run", "--now", preexec_fn=lambda: (os.setgid(user), os.setuid(user))).returncode == 0, size)
        sent = receiver.ids()
        expect(not queue.operations() and len(sent) == len(set(sent)) and set(operations) <= set(sent), size, sent)
    told.append(f"{points} points")

with test("RLIMIT_AS, DATA, STACK and CPU: what dies of it loses nothing") as told:
    points = died = again = 0
    limits = [(resource.RLIMIT_AS, size << 20) for size in (16, 32, 48, 64, 96, 128, 192, 256, 512)]
    limits += [(resource.RLIMIT_DATA, size << 20) for size in (1, 2, 4, 8, 16, 64)]
    limits += [(resource.RLIMIT_STACK, size << 10) for size in (64, 128, 512)] + [(resource.RLIMIT_CPU, 0), (resource.RLIMIT_CPU, 1)]
    for kind, size in limits:
        queue = Queue((receiver := Receiver()).url + "/{id}")
        operations = fill(queue)
        for words in (["add"], ["run", "--now"], ["run", "--now"]):
            result = queue(*words, input='{"n":1}\n', preexec_fn=limited(kind, size))
            died += result.returncode < 0
            expect(result.returncode != 70, kind, size, result.stderr)
            expect(words != ["add"] or set(result.stdout.split()) <= set(queue.operations()), kind, size)
            points += 1
        deadline = time.monotonic() + 20
        while queue.operations():
            expect(time.monotonic() < deadline and queue("run", "--now").returncode in (0, 75), kind, size)
        expect(not list(queue.files("quarantine")), kind, size)
        sent = receiver.ids()
        again += len(sent) - len(set(sent))
        expect(set(operations) <= set(sent), kind, size, sent)
    told += [f"{points} points", f"{died} died", f"{again} sent again"]

with test("a program that the configuration names has no signal ignored") as told:
    seen = scratch / "seen"
    command = ["sh", "-c", f"grep SigIgn /proc/$$/status >{seen}; echo secret"]
    queue = Queue(Receiver().url + "/{id}", route={"headers": {"X-Secret": "${secret:s}"}}, secrets={"s": {"command": command}})
    fill(queue, 1)
    result = queue("run", "--now")
    expect(result.returncode == 0 and int(seen.read_text().split()[1], 16) & 0x7fffffff == 0, result.stderr, seen.read_text())

with test("without /proc") as told:
    points = 0
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    for transport in ("libcurl",):
        queue = Queue((receiver := Receiver()).url + "/{id}")
        environment = {**os.environ, "DRAINQ_TRANSPORT": transport}
        operations = fill(queue)
        for words in (["--version"], ["list"], ["status"], ["check"], ["run", "--now"], ["add", "--type", "t ype"]):
            result = queue(*words, input='{"n":1}\n', before=hidden, env=environment)
            expect(result.returncode == (64 if "t ype" in words else 0), transport, words, result.returncode, result.stderr)
            points += 1
        expect(sorted(receiver.ids()) == sorted(operations), transport, receiver.ids())
        # Found by PATH, and from where it is.
        for name, directory in (("drainq", None), ("./drainq", os.path.dirname(os.path.realpath(queue.command()[0])))):
            fill(queue, 1)
            path = os.path.dirname(os.path.realpath(queue.command()[0])) + ":" + os.environ["PATH"]
            result = subprocess.run(
                [*hidden, name, "run", "--now", "--queue", str(queue.path)], capture_output=True, text=True, cwd=directory,
                env={**environment, "PATH": path})
            expect(result.returncode == 0, transport, name, result.stderr)
            points += 1
        expect(not queue.operations(), transport)
    # Foundation ends without /proc by itself: nobody is charged for that.
    queue = Queue((receiver := Receiver()).url + "/{id}")
    fill(queue, 1)
    result = queue("run", "--now", before=hidden, env={**os.environ, "DRAINQ_TRANSPORT": "urlsession"})
    expect(result.returncode == 69 and "mount /proc" in result.stderr, result.returncode, result.stderr)
    expect(len(list(queue.files("new"))) == 1 and not receiver.ids(), list(queue.files("deferred")))
    told.append(f"{points + 1} points")

with test("standard streams that do not block are waited for") as told:
    queue = Queue("http://127.0.0.1:9/")
    (given, source), (results, output) = os.pipe(), os.pipe()
    for descriptor in (given, output):
        os.set_blocking(descriptor, False)
    process = subprocess.Popen(queue.command("add"), stdin=given, stdout=output)
    os.close(given)
    os.close(output)
    # The reader finds nothing at first, and later the pipe of the results is full.
    lines = b"".join(b'{"n":%d}\n' % number for number in range(4000))
    time.sleep(0.2)
    os.write(source, lines[:9000])
    time.sleep(0.2)
    with open(source, "wb") as rest:
        rest.write(lines[9000:])
    with open(results, "rb") as ids:
        expect(len(set(ids.read().splitlines())) == 4000)
    expect(process.wait() == 0 and len(list(queue.files("new"))) == 4000)

end()
