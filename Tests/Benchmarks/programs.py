"""The programs that are measured: ours, the limits in C and Swift, and the peers, each with what stands before it."""

import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import uuid

import peers
from bench import (
    Nginx, Queue, SilentServers, SlowServer, body, body_length, compiled, fill_plain, here, measure, scratch, settle, tool)

concurrency = 5


class Program:
    """Something that is measured in every round: prepared, run, and looked at whether it did what it was to do."""

    def __init__(self, name, command, count=1, times=1, prepare=None, check=None, input=None, environment=None,
                 requests=None, endless=False, needs=()):
        """Does `count` operations in one run, and runs so many `times` a round. `requests` is how many have to reach
        nginx in a round; an `endless` one is told to end when they have. `needs` are (there or not, what) pairs."""
        self.name = name
        self.command = command
        self.count = count
        self.times = times
        self.prepare = prepare
        self.check = check
        self.seen = lambda: {}
        self.input = input
        self.environment = environment
        self.requests = requests
        self.endless = endless
        self.missing = [what for there, what in needs if not there]
        self.failure = None
        self.samples = []

    def round(self, ground):
        if self.prepare:
            self.prepare()
        settle(ground.place)
        before = ground.nginx.requests()
        came = lambda: ground.nginx.requests() - before >= self.requests
        command = self.command() if callable(self.command) else self.command
        samples = measure(
            command, times=self.times, input=self.input, environment=self.environment,
            ends_when=came if self.endless else None)
        if self.requests is not None and ground.nginx.requests() - before != self.requests:
            raise RuntimeError(f"{ground.nginx.requests() - before} requests came, not {self.requests}")
        if self.check:
            self.check()
        # The middle of a round's runs, so that a pair is of what happened at nearly the same time.
        middle = sorted(samples, key=lambda sample: sample["wall"])[len(samples) // 2]
        self.samples.append({
            **middle, "cpu": statistics.median(cpu(sample) for sample in samples),
            "least": min(sample["wall"] for sample in samples), **self.seen()})


def cpu(sample):
    return sample["user"] + sample["system"]


class Ground:
    """Where all of them are measured: a file system, a server, and the program that is ours."""

    def __init__(self, place, static, share=1):
        """`share`: of what is counted only one in so many."""
        self.place = pathlib.Path(place)
        self.share = share
        self.nginx = Nginx()
        self.static = static
        self.kept = {}

    def many(self, count):
        return count // self.share

    def once(self, name, make):
        """What is made when it is first asked for."""
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]

    def slow(self, milliseconds, room=None):
        return self.once(f"slow {milliseconds} {room}", lambda: SlowServer(milliseconds, room))

    # Ours

    def fresh_queue(self, name, count, url, transport="libcurl", checksums=True, length=body_length, **options):
        path = self.place / name
        shutil.rmtree(path, ignore_errors=True)
        queue = Queue(path, url, transport=transport, **options)
        queue.fill(count, checksums, length)
        return queue

    def ours(
            self, name, count, transport="libcurl", url=None, batch=None, ordered=False, at_once=concurrency,
            checksums=True, envelope=False, length=body_length, requests=None, **options):
        """A run over a new queue; `ordered`: all of one key, each after the one before. `checksums`: the files have
        them. `envelope`: something stands around the batch and around each of its operations. `requests`: how many reach
        nginx where `url` is given. `options` are the destination's."""
        label = f"ours-{transport}-{count}-{batch}-{ordered}-{at_once}-{envelope}"
        around = {"body": '{"value":{payload}}', "batch": {"max": batch, "body": '{"records":[{items}]}'}}
        route = around if envelope else {"batch": {"max": batch}} if batch else {"key": "{type}", "ordering": "key"} if ordered else {}
        queues = []
        target = url or self.nginx.url

        def prepare():
            queues[:] = [self.fresh_queue(label, count, target, transport, checksums, length, route=route, **options)]

        def check():
            if queues[0].waiting():
                raise RuntimeError(f"{queues[0].waiting()} operations are left")

        expected = requests if url else count // (batch or 1)
        program = Program(
            name, lambda: queues[0].command("run", "--limit", count, "--concurrency", at_once), count=count,
            prepare=prepare, check=check, requests=expected)
        program.waiting = lambda: queues[0].waiting()
        return program

    def for_a_minute(self, name, server, at_once):
        """A run of a minute at a server that has little room: how often it is refused."""
        program = self.ours(name, self.many(20_000), url=server.url, at_once=at_once)
        queue, prepare = program.command, program.prepare
        words = ("--limit", program.count, "--until-empty", "--max-time", f"{60 // self.share}s", "--concurrency", at_once)
        # 75: there is more to do.
        program.command = lambda: [
            "sh", "-c", shlex.join(map(str, [*queue()[:2], *words, *queue()[-2:]])) + "; test $? -eq 75"]
        program.prepare = lambda: (prepare(), server.refusals.write_bytes(b""))
        program.check = None
        program.seen = lambda: {"refused": server.refusals.stat().st_size, "left": program.waiting()}
        return program

    def several_runs(self, number, count, url=None):
        """So many runs at once over a new queue, each for all of it."""
        counter = self.place / "lost-renames"
        program = self.ours(f"{number} run" + "s" * (number > 1), count, url=url)
        command, prepare = program.command, program.prepare

        def all_at_once():
            words = shlex.join(map(str, command()))
            return ["sh", "-c", f"for run in $(seq {number}); do {words} & done; wait"]

        program.command = all_at_once
        program.prepare = lambda: (prepare(), counter.write_bytes(b""))
        # What no sample of a process has in it: each lost claim is a byte.
        program.seen = lambda: {"lost": counter.stat().st_size}
        library = compiled("lost-renames.c", "-shared", "-fPIC", "-ldl")
        program.environment = {"LD_PRELOAD": library, "LOST_RENAMES": str(counter)}
        return program

    def on_slow_directory(self, program):
        """The program where each call that looks for, makes, moves or removes a name takes a millisecond longer."""
        calls = ["renameat", "renameat2", "unlinkat", "openat", "fstatat", "linkat", "mkdirat"]
        library = compiled("../Torture/lies.c", "-shared", "-fPIC", "-ldl")
        program.environment = {"LD_PRELOAD": library, "LIES": " ".join(f"{call}~1000" for call in calls)}
        return program

    def on_standing_queue(self, name, count, *words, times=1, requests=0, what=1):
        """A run over a queue that is kept at so many operations from round to round."""
        def make():
            return self.fresh_queue(f"standing-{count}", 0, self.nginx.url)

        def queue():
            return self.once(f"queue {count}", make)

        def prepare():
            queue().fill(count - queue().waiting())

        return Program(
            name, lambda: queue().command(*words), count=what, times=times, prepare=prepare, requests=requests)

    def beside_silent(self, name, count, at_once, silent=30, known=False):
        """A run until nginx has so many operations, behind two for each of some destinations that never answer. `known`:
        an earlier run has met them."""
        servers = self.once("silent", lambda: SilentServers(30))
        others = {f"silent{number}": {"url": url, "timeouts": {"request": "3s"}}
                  for number, url in enumerate(servers.urls[:silent])}
        queues = []

        def prepare():
            queues[:] = [self.fresh_queue("beside-silent", 0, self.nginx.url, others=others)]
            for kind in others:
                queues[0]("add", "--type", kind, input="1\n2\n")
            if known:
                subprocess.run(queues[0].command("run", "--max-time", "4s"), stderr=subprocess.DEVNULL)
            queues[0]("add", input="".join(body(number) + "\n" for number in range(count)))

        return Program(
            name, lambda: queues[0].command("run", "--limit", count + 60, "--concurrency", at_once, "--quiet"), count=count,
            prepare=prepare, requests=count, endless=True)

    # After an outage

    def deferred_queue(self, name, count):
        """A queue in which so many operations have had an attempt and wait for the next one."""
        queue = self.fresh_queue(name, count, self.nginx.url)
        new, deferred = queue.path / "new", queue.path / "deferred"
        for file in os.listdir(new):
            os.rename(new / file, deferred / f"{file[:-5]},a=1,t=20991231T000000Z.json")
        return queue

    def on_deferred(self, name, count, *words):
        """A command over a queue of deferred operations, made anew if the command changes it."""
        queues = []
        changes = words[0] in ("retry", "hold", "drop")

        def prepare():
            if changes or not queues:
                queues[:] = [self.deferred_queue(f"deferred-{words[0]}" if changes else "deferred", count)]

        command = lambda: ["sh", "-c", 'exec "$@" >/dev/null', "sh", *queues[0].command(*words)]
        return Program(name, command, count=count, prepare=prepare)

    def unsent(self, name, count, status, route):
        """A run that ends so many operations without a request, with this status."""
        queues = []

        def prepare():
            queues[:] = [self.fresh_queue("unsent", count, self.nginx.url, route=route)]

        command = lambda: ["sh", "-c", '"$@" 2>/dev/null; test $? -eq ' + str(status), "sh",
                           *queues[0].command("run", "--max-time", "5m", "--until-empty")]
        return Program(name, command, count=count, prepare=prepare)

    def bad_line(self, megabytes):
        queues = []

        def prepare():
            queues[:] = [self.fresh_queue("bad-line", 0, self.nginx.url)]

        words = f'head -c {megabytes}M /dev/zero | tr "\\0" x | "$@" 2>/dev/null; test $? -eq 65'
        return Program("drainq add", lambda: ["sh", "-c", words, "sh", *queues[0].command("add")], prepare=prepare)

    def listing(self, count):
        path = self.place / "deferred" / "deferred"
        return Program("ls", ["sh", "-c", 'exec ls "$1" >/dev/null', "sh", path], count=count)

    def c_changing(self, name, count, removes=False):
        path, other = self.place / "changed", self.place / "changed-to"

        def prepare():
            shutil.rmtree(other, ignore_errors=True)
            other.mkdir()
            fill_plain(path, count)

        return Program(
            name, lambda: [compiled("limits/change.c"), path, "-" if removes else other], count=count, prepare=prepare)

    # Limits and peers that drain a directory of files

    def files(self, name, command, count, **options):
        """A command over a directory of plain files, which is the last word of `command` unless it is a function."""
        path = self.place / f"files-{count}"
        return Program(name, lambda: command(path), count=count, prepare=lambda: fill_plain(path, count), **options)

    def c_over_libcurl(self, count, url=None):
        there = shutil.which("curl-config")
        return self.files(
            "C over libcurl: read, POST, unlink",
            lambda path: [compiled("limits/drain-curl.c", "-lcurl"), path, url or self.nginx.url, concurrency],
            count, requests=None if url else count, needs=[(there, "libcurl4-openssl-dev")])

    def c_with_claims(self, count, batch=1):
        """What the directory costs that drainq keeps: each file is moved before it is read."""
        claims = self.place / "claims"
        program = self.c_over_libcurl(count)
        program.name = "C over libcurl: rename, read, POST, unlink" + (f"; {batch} in a POST" if batch > 1 else "")
        command, prepare = program.command, program.prepare
        program.command = lambda: [*command(), claims, batch]
        program.prepare = lambda: (claims.mkdir(exist_ok=True), prepare())
        program.requests = count // batch
        return program

    def c_with_agent(self, count, at_once=concurrency, url=None, requests=None, certificate=None):
        """The limit of drainq's own design: one process keeps the files, and another one talks to the server."""
        claims = self.place / "claims"
        there = shutil.which("curl-config")
        words = [url or self.nginx.url, at_once, claims, *([certificate] if certificate else [])]
        program = self.files(
            "C over libcurl: the same in two processes",
            lambda path: [compiled("limits/drain-agent.c", "-lcurl"), path, *words],
            count, requests=requests if url else count, needs=[(there, "libcurl4-openssl-dev")])
        prepare = program.prepare
        program.prepare = lambda: (claims.mkdir(exist_ok=True), prepare())
        return program

    def c_over_sockets(self, count):
        return self.files(
            "C over raw sockets: read, POST, unlink",
            lambda path: [compiled("limits/drain-sockets.c"), path, self.nginx.port, concurrency], count, requests=count)

    def curl_in_order(self, count, url):
        """One request after the other over one connection, which removes nothing."""
        program = self.curl_parallel(count, url, limit=1)
        program.name = "curl, one after the other"
        return program

    def curl_parallel(self, count, url=None, limit=concurrency, length=body_length, requests=None, certificate=None):
        """Its configuration is there before the clock starts, and it does not remove what it has sent. By TLS it speaks
        HTTP/2 where the server does."""
        path = self.place / "curl-files"
        configuration = scratch / f"curl-{limit}.conf"

        def prepare():
            fill_plain(path, count, length)
            start = (f"parallel\nparallel-max = {limit}\n" if limit > 1 else "") + "silent\nshow-error\n"
            # A body that is data is read before the first request leaves; a file that is uploaded is streamed.
            source = 'data-binary = "@{}"' if length == body_length else 'upload-file = "{}"\nrequest = POST\nheader = "Expect:"'
            # The fields of drainq's requests: all programs of a row send the same bytes.
            fields = 'compressed\nuser-agent = "drainq/0.2.0"\nheader = "Accept:"\nheader = "Content-Type: application/json"\n' \
                'header = "Drainq-Attempt: 1"\n'
            each = [
                f'url = "{url or self.nginx.url}"\n{source.format(file)}\n{fields}'
                f'header = "Idempotency-Key: \\"{uuid.uuid4()}\\""\n'
                'output = "/dev/null"\nfail\n' + (f'cacert = "{certificate}"\nhttp2\n' if certificate else "")
                for file in sorted(path.iterdir())]
            configuration.write_text(start + "next\n".join(each))

        return Program(
            "curl -Z", ["curl", "-q", "--config", configuration], count=count, prepare=prepare,
            requests=requests if url else count, needs=[(shutil.which("curl"), "curl")])

    def bare_urlsession(self, count):
        return Program(
            "bare URLSession, no files",
            lambda: [compiled("limits/urlsession.swift"), self.nginx.url, count, concurrency], count=count,
            requests=count)

    def wrk(self):
        script = scratch / "post.lua"
        script.write_text(f'wrk.method = "POST"\nwrk.body = string.rep("x", {len(body(0))})\n')
        seconds = 1
        program = Program(
            "wrk, no files", ["wrk", "--threads", 1, "--connections", concurrency, "--duration", f"{seconds}s",
                              "--script", script, self.nginx.url], needs=[(shutil.which("wrk"), "wrk")])
        before = []
        program.prepare = lambda: before.append(self.nginx.requests())

        def check():
            program.count = self.nginx.requests() - before.pop()

        program.check = check
        return program

    def posting_each(self, name, words, count, needs):
        """A curl of its own for each file, and its removal."""
        post = scratch / "post"
        post.write_text(
            '#!/bin/sh\nexec curl -qsSf -o /dev/null -H "Content-Type: application/json" --data-binary "@$1" '
            f'{shlex.quote(self.nginx.url)}\n')
        post.chmod(0o755)
        return self.files(
            name, lambda path: ["sh", "-c", words.format(path=shlex.quote(str(path)), post=shlex.quote(str(post)))],
            count, requests=count, needs=needs)

    def xargs(self, count):
        return self.posting_each(
            "xargs -P5 curl", f"find {{path}} -type f -print0 | xargs -0 -n1 -P{concurrency} {{post}}", count,
            [(shutil.which("curl"), "curl")])

    def parallel(self, count):
        program = shlex.quote(tool("parallel") or "parallel")
        return self.posting_each(
            "GNU parallel, curl", f"find {{path}} -type f | {program} --will-cite -j{concurrency} {{post}}", count,
            [(tool("parallel"), "GNU parallel")])

    def curl_loop(self, count):
        return self.posting_each(
            "a loop of curl", "for file in {path}/*; do {post} \"$file\" && rm \"$file\" || exit 1; done", count,
            [(shutil.which("curl"), "curl")])

    def dirq(self, library, count, take=None):
        """dirq with an HTTP library; with `take` only so many of a queue of `count`, which is kept."""
        path = self.place / f"dirq-{count}"
        script = here / "peers/directory_queue.py"

        def fill():
            if not (take and path.exists()):
                shutil.rmtree(path, ignore_errors=True)
                os.spawnv(os.P_WAIT, peers.python(), [peers.python(), str(script), "fill", str(path), str(count)])

        few = [take] if take else []
        return Program(
            f"dirq + {library}",
            lambda: [peers.python(), script, "drain", path, self.nginx.url, concurrency, library, *few],
            count=take or count, prepare=fill, requests=take or count, needs=[(peers.python(), "dirq")])

    def syslog_ng(self, count):
        buffered = peers.SyslogNG(self.place / "syslog-ng", self.nginx.url)
        return Program(
            "syslog-ng, reliable disk buffer", lambda: buffered.command(), count=count,
            prepare=lambda: buffered.fill([body(number) for number in range(count)]), requests=count, endless=True,
            environment=buffered.environment, needs=[(tool("syslog-ng"), "syslog-ng")])

    # Adding

    def lines(self, count):
        file = scratch / f"lines-{count}"
        if not file.exists():
            file.write_text("".join(body(number) + "\n" for number in range(count)))
        return file

    def adding(self, count, times, binary=None):
        queues = []

        def prepare():
            queues[:] = [self.fresh_queue("adding", 0, self.nginx.url, binary=binary)]

        def check():
            if queues[0].waiting() != count * times:
                raise RuntimeError(f"{queues[0].waiting()} operations were added")

        return Program(
            "drainq add", lambda: queues[0].command("add"), count=count, times=times, prepare=prepare, check=check,
            input=self.lines(count))

    def streaming(self, name, count, standing):
        """One `add` of a stream whose lines come one by one, into an ordered route of a queue that has so many already."""
        queues = []

        def prepare():
            path = f"stream-{standing}"
            queues[:] = [self.fresh_queue(path, standing, self.nginx.url, route={"ordering": "strict"})]

        def check():
            if queues[0].waiting() != standing + count:
                raise RuntimeError(f"{queues[0].waiting()} operations wait")

        words = 'python3 "$1" "$2" | { shift 2; exec "$@" >/dev/null; }'
        return Program(
            name, lambda: ["sh", "-c", words, "sh", here / "limits/tail.py", self.lines(count),
                           *queues[0].command("add")],
            count=count, prepare=prepare, check=check)

    def c_adding(self, name, count, times, batch):
        path = self.place / "c-adding"

        def prepare():
            shutil.rmtree(path, ignore_errors=True)
            for directory in ("tmp", "new"):
                (path / directory).mkdir(parents=True)

        return Program(
            name, lambda: [compiled("limits/add.c"), path, batch], count=count, times=times, prepare=prepare,
            input=self.lines(count))

    def dirq_adding(self, name, count, times, synced):
        path = self.place / "dirq-adding"
        return Program(
            name, lambda: [peers.python(), here / "peers/directory_queue.py", "add", path, "yes" if synced else "no"],
            count=count, times=times, prepare=lambda: shutil.rmtree(path, ignore_errors=True), input=self.lines(count),
            needs=[(peers.python(), "dirq")])

    def nullmailer(self, count, times):
        peer = self.once("nullmailer", lambda: peers.Nullmailer(self.place, body(0)))
        program = tool("nullmailer-queue")
        needs = [(program, "nullmailer"), (os.geteuid() == 0, "root, to give nullmailer a queue")]
        if count == 1:
            return Program("nullmailer-queue", [program], times=times, prepare=peer.prepare, input=peer.input,
                           needs=needs)
        loop = f"i=0; while [ $i -lt {count} ]; do {program} < {peer.input} || exit 1; i=$((i+1)); done"
        return Program("nullmailer-queue, one after the other", ["sh", "-c", loop], count=count, prepare=peer.prepare,
                       needs=needs)

    # Looking at a queue

    def looking(self, name, words, times):
        """A script that looks whether there is something to do in an empty directory."""
        empty = self.place / "empty"
        empty.mkdir(exist_ok=True)
        return Program(
            name, [str(empty) if word == "{}" else word for word in words], times=times,
            needs=[(shutil.which(words[0] or ""), name)])

    def peer_python(self):
        return peers.python()

    def c_take(self):
        return compiled("limits/take.c")

    def taking(self, name, words, count):
        """A program that chooses five names of the standing queue's new/."""
        path = self.place / f"standing-{count}" / "new"
        return Program(name, lambda: [*words(), path, 5])


python_itself = os.path.realpath(sys.executable)
