#!/usr/bin/env python3
"""An answer counts for the operation whose request it answers, and for no other; an attempt is one request. Shown on the
whole program over libcurl, with servers that send stray answers, cut their answers, do not read bodies, close connections
that are kept, and refuse streams and connections of HTTP/2 at each stage; with proxies that do not end; and with nginx and
haproxy that are reloaded and killed while a queue drains.

Every server writes down whole requests with their bodies. What one operation's verdict is the server knows by the number
in its body. `DRAINQ_TORTURE=10` makes 40 runs of each kind where chance is involved, and all places where a sample is taken
by default.
"""

import collections
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

from torture import Queue, effort, end, expect, free_port, scratch, test, until

dice = random.Random(1)
timeouts = {"connect": "5s", "request": "5s", "total": "10s"}
# A verdict is not to be changed by what the destination's other operations met.
alone = {"transport": "libcurl", "stormGuard": 0, "circuitBreaker": 0}


class Server:
    """A server that a function answers for: it is given the connection, the number in the body, and how many requests the
    connection had before. What it returns ends the connection unless it is `True`."""

    def __init__(self, answer, reads=True):
        self.answer, self.reads = answer, reads
        self.requests = []
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.origin = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            connection, _ = self.listening.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        before = 0
        with contextlib.suppress(OSError), connection:
            connection.settimeout(60)
            rest = b""
            while True:
                while b"\r\n\r\n" not in rest:
                    more = connection.recv(65536)
                    if not more:
                        return
                    rest += more
                head, _, rest = rest.partition(b"\r\n\r\n")
                length = int((re.search(rb"(?i)content-length: (\d+)", head) or [b"", b"0"])[1])
                while len(rest) < length:
                    rest += connection.recv(65536)
                body, rest = rest[:length], rest[length:]
                attempt = re.search(rb"(?i)drainq-attempt: (\d+)", head)
                number = json.loads(body)["n"]
                self.requests.append((number, int(attempt[1])))
                if self.answer(connection, number, before) is not True:
                    return
                before += 1


def said(status, body=b"ok", *fields):
    head = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *fields]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Drain:
    """A queue of numbered operations for one server, and where each of them is."""

    def __init__(self, origin, count, destination=alone, request="5s"):
        route = {"timeouts": {**timeouts, "request": request}}
        self.queue = Queue(f"{origin}/x", route=route, destinations={origin: {**alone, **destination}})
        added = self.queue("add", input="".join('{"n":%d}\n' % number for number in range(count)))
        self.ids = added.stdout.split()
        expect(len(self.ids) == count, added.stderr)

    def run(self, concurrency=5, *more, timeout=300):
        """One pass; number → state."""
        self.result = self.queue("run", "--concurrency", concurrency, "--limit", 100000, *more, timeout=timeout)
        found = self.queue.operations()
        expect(not any("claimed" in states or len(states) > 1 for states in found.values()), found)
        return {number: found.get(id, ["delivered"])[0] for number, id in enumerate(self.ids)}


def once(server):
    """No attempt was more than one request."""
    twice = {key: count for key, count in collections.Counter(server.requests).items() if count > 1}
    expect(not twice, "requests of one attempt", twice)


with test("one stray answer does not shift the verdicts after it") as told:
    wrong = strays = 0
    for pause in (0, 0.0003, 0.002, 0.01):
        for concurrency in (1, 5):
            for _ in range(2 * effort if effort < 10 else 40):
                sent = []
                at = dice.randrange(20)

                def answer(connection, number, before):
                    connection.sendall(said(200 if number % 2 == 0 else 422))
                    if number == at:
                        sent.append(number)
                        time.sleep(pause)
                        connection.sendall(said(200 if number % 2 else 422))
                    return True

                server = Server(answer)
                states = Drain(server.origin, 40).run(concurrency)
                right = {number: "delivered" if number % 2 == 0 else "failed" for number in states}
                missed = [number for number in states if states[number] != right[number] and states[number] != "deferred"]
                # Of several connections one may rest too short for a server that is slow to see its own mistake.
                most = len(sent) if concurrency == 1 else 10
                expect(len(missed) <= most, "stray after", at, "pause", pause, "wrong", missed)
                once(server)
                wrong, strays = wrong + len(missed), strays + len(sent)
    told += [f"{strays} stray answers", f"{wrong} verdicts of their own time"]

with test("a server that closes each connection just after an answer costs one attempt at a time") as told:
    lost = 0
    for pause in (0.001, 0.002, 0.005):
        for concurrency in (1, 5):
            for _ in range(effort):

                def answer(connection, number, before):
                    connection.sendall(said(200))
                    time.sleep(pause)

                server = Server(answer)
                states = Drain(server.origin, 100).run(concurrency)
                missed = [number for number in states if states[number] != "delivered"]
                expect(len(missed) <= concurrency, "closed after", pause, "lost", missed)
                once(server)
                lost += len(missed)
    told += [f"{lost} attempts lost"]

def children(process):
    return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


with test("a run, its agent or both that stand still past every time-out charge nobody, and send nothing twice") as told:
    for transport in ("libcurl", "urlsession"):
        for stopped in ("both", "agent", "run"):
            # Answers that come while the processes stand still, and answers that come afterwards. A silence that a
            # running agent has seen counts.
            for pause in (1, 12) if stopped != "run" else (1,):

                def answer(connection, number, before):
                    time.sleep(pause)
                    connection.sendall(said(200))
                    return True

                server = Server(answer)
                drain = Drain(server.origin, 6, {**alone, "transport": transport, "concurrency": 6})
                document = json.loads((drain.queue.path / "drainq.json").read_text())
                document["routes"]["default"]["timeouts"] = {"connect": "7s", "request": "7s", "total": "8s"}
                (drain.queue.path / "drainq.json").write_text(json.dumps(document))
                run = subprocess.Popen(
                    drain.queue.command("run", "--concurrency", 6, "--limit", 6), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                until(lambda: len(server.requests) == 6, "the requests")
                which = [run.pid] * (stopped != "agent") + children(run.pid) * (stopped != "run")
                for process in which:
                    os.kill(process, signal.SIGSTOP)
                time.sleep(10)
                for process in which:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGCONT)
                run.wait(timeout=60)
                found = drain.queue.operations()
                case = (transport, stopped, "answers after", pause)
                expect(not found, case, found)
                expect(len(server.requests) == 6, case, server.requests)
    told += ["10 standstills"]

with test("a server that does not read bodies fails no operation") as told:
    handled = []

    def unread(listening):
        """Takes each head for a request of its own, and what follows for the next one, as a handler does that forgets."""
        connection, _ = listening.accept()
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as lines:
            while line := lines.readline():
                words = line.split()
                while lines.readline() not in (b"\r\n", b""):
                    pass
                if words[0] != b"POST":
                    connection.sendall(said(501, b"", "Connection: close"))
                    return
                handled.append(line)
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    listening = socket.create_server(("127.0.0.1", 0), backlog=128)

    def forever():
        while True:
            unread(listening)

    for _ in range(5):
        threading.Thread(target=forever, daemon=True).start()
    drain = Drain(f"http://127.0.0.1:{listening.getsockname()[1]}", 50)
    states = drain.run(1)
    expect("failed" not in states.values(), collections.Counter(states.values()))
    states = drain.run(1, "--now")
    expect(set(states.values()) == {"delivered"}, collections.Counter(states.values()))
    expect(len(handled) == 50, len(handled), "were handled")
    told += ["50 operations, two runs"]

whole = {
    "length": b"HTTP/1.1 %d X\r\nContent-Length: 5\r\n\r\nhello",
    "chunks": b"HTTP/1.1 %d X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
}
with test("an answer cut at any byte is delivered only as a whole, and refused by its status") as told:
    places = 0
    for framing, text in whole.items():
        for status in (200, 400):
            bytes_ = text % status
            headed = bytes_.index(b"\r\n\r\n") + 4
            for ending in ("fin", "rst"):
                step = 1 if effort >= 10 else 3
                cuts = sorted({*range(0, len(bytes_), step), headed - 1, headed, len(bytes_) - 1, len(bytes_)})

                def answer(connection, number, before):
                    connection.sendall(bytes_[: cuts[number]])
                    if ending == "rst":
                        time.sleep(0.02)
                        reset(connection)

                server = Server(answer)
                states = Drain(server.origin, len(cuts)).run()
                for number, cut in enumerate(cuts):
                    right = (
                        ("delivered" if cut == len(bytes_) else "deferred") if status == 200
                        else "failed" if cut >= headed else "deferred")
                    # A reset may take with it what the client had not read.
                    allowed = {right, "deferred"} if ending == "rst" else {right}
                    # After the last chunk's CR nothing of the answer is missing.
                    if framing == "chunks" and status == 200 and cut == len(bytes_) - 1:
                        allowed.add("delivered")
                    expect(states[number] in allowed, framing, status, ending, "cut at", cut, "is", states[number])
                once(server)
                places += len(cuts)
    told += [f"{places} places"]

with test("a connection that is closed while it is kept costs no second request") as told:
    deferred = total = 0
    for pause in (0, 0.0003, 0.001, 0.003):
        for ending in ("fin", "rst"):
            for _ in range(effort if effort < 10 else 40):

                def answer(connection, number, before):
                    connection.sendall(said(200))
                    time.sleep(pause)
                    if ending == "rst":
                        reset(connection)

                server = Server(answer)
                drain = Drain(server.origin, 60)
                states = drain.run()
                expect(set(states.values()) <= {"delivered", "deferred"}, collections.Counter(states.values()))
                once(server)
                got = {number for number, _ in server.requests}
                expect(all(number in got for number in states if states[number] == "delivered"), "delivered unseen")
                deferred += sum(state == "deferred" for state in states.values())
                total += len(states)
    told += [f"{total} operations", f"{deferred} for the next attempt"]

with test("an answer that trickles in is the answer") as told:

    def answer(connection, number, before):
        for byte in said(200 if number % 2 == 0 else 422):
            connection.sendall(bytes([byte]))
            time.sleep(0.0005)
        return True

    server = Server(answer)
    states = Drain(server.origin, 20).run()
    expect(all(state == ("delivered" if number % 2 == 0 else "failed") for number, state in states.items()), states)
    once(server)


# HTTP/2, by frames: no header is read, since the body has the number.

data, headers, rst_stream, settings, ping, goaway, window_update = 0, 1, 3, 4, 6, 7, 8
ok = b"\x88"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Server2:
    """Misbehaves once on each connection up to `times`: at its `stage`, by what `act` returns for the stream."""

    def __init__(self, stage, act, place, times, tls):
        self.stage, self.act, self.place, self.left, self.tls = stage, act, place, times, tls
        # Bodies that came whole, and those of them that were answered.
        self.bodies, self.answered = [], []
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.origin = f"https://127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            connection, _ = self.listening.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError):
            connection.settimeout(30)
            with self.tls.wrap_socket(connection, server_side=True) as connection, connection.makefile("rb") as input:
                input.read(24)
                connection.sendall(frame(settings, 0, 0))
                bodies, streams = collections.defaultdict(bytes), 0
                refused = set()
                if self.stage == "start" and self.left > 0:
                    self.left -= 1
                    connection.sendall(self.act(1))
                while head := input.read(9):
                    length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
                    stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
                    payload = input.read(length)
                    if kind == settings and not flags & 1:
                        connection.sendall(frame(settings, 1, 0))
                    elif kind == ping and not flags & 1:
                        connection.sendall(frame(ping, 1, 0, payload))
                    elif kind == headers:
                        streams += 1
                        self.misbehave("headers", connection, stream, streams, refused)
                    elif kind == data:
                        bodies[stream] += payload
                        if flags & 1:
                            number = json.loads(bodies[stream])["n"]
                            self.bodies.append(number)
                            self.misbehave("body", connection, stream, streams, refused)
                            if stream in refused:
                                continue
                            if self.misbehave("answer head", connection, stream, streams, refused, frame(headers, 4, stream, ok)):
                                continue
                            self.answered.append(number)
                            connection.sendall(frame(headers, 5, stream, ok))
                            self.misbehave("answer", connection, stream, streams, refused)

    def misbehave(self, stage, connection, stream, count, refused, before=b""):
        if stage != self.stage or count < self.place or self.left <= 0:
            return False
        self.left -= 1
        refused.add(stream)
        connection.sendall(before + self.act(stream))
        return True


def certificate():
    files = [str(scratch / "h2.key"), str(scratch / "h2.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files[0], "-out", files[1]],
        check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files[1], files[0])
    context.set_alpn_protocols(["h2"])
    return context, files[1]


tls, authority = certificate()
refuse = {
    "REFUSED_STREAM": lambda stream: frame(rst_stream, 0, stream, struct.pack(">I", 7)),
    "CANCEL": lambda stream: frame(rst_stream, 0, stream, struct.pack(">I", 8)),
    "GOAWAY 0": lambda stream: frame(goaway, 0, 0, struct.pack(">II", 0, 0)),
    "GOAWAY before it": lambda stream: frame(goaway, 0, 0, struct.pack(">II", max(0, stream - 2), 0)),
    "GOAWAY after it": lambda stream: frame(goaway, 0, 0, struct.pack(">II", stream, 0)),
}
for name, act in refuse.items():
    with test(f"HTTP/2: {name} at each stage: an attempt is one request, and delivered is answered") as told:
        runs = lost = 0
        for stage in ("start", "headers", "body", "answer head", "answer"):
            if stage == "start" and not name.startswith("GOAWAY"):
                continue
            for place in range(1, 1 + min(40, 2 * effort if effort < 10 else 40)):
                server = Server2(stage, act, place, times=3, tls=tls)
                drain = Drain(server.origin, 12, {"caFile": authority}, request="1s")
                seen = 0
                for _ in range(8):
                    states = drain.run(4)
                    new = collections.Counter(server.bodies[seen:])
                    seen = len(server.bodies)
                    expect(all(count == 1 for count in new.values()), name, stage, place, "sent twice in a run", new)
                    expect(set(states.values()) <= {"delivered", "deferred"}, name, stage, place, states)
                    unseen = [number for number in states if states[number] == "delivered" and number not in server.bodies]
                    expect(not unseen, name, stage, place, "delivered and never whole at the server", unseen)
                    expect("malformed" not in drain.result.stderr or name == "CANCEL", drain.result.stderr)
                    lost += sum(state == "deferred" for state in states.values())
                    if set(states.values()) == {"delivered"}:
                        break
                expect(set(states.values()) == {"delivered"}, name, stage, place, states)
                runs += 1
        told += [f"{runs} servers", f"{lost} attempts without an answer"]


# Proxies

with test("a proxy's refusal without end holds no other operation, and sends none twice") as told:
    good = Server(lambda connection, number, before: connection.sendall(said(200)) or True)
    for start, piece in [
        (b"HTTP/1.1 407 X\r\nTransfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"),
        (b"HTTP/1.1 502 X\r\n\r\n", b"x" * 4096), (b"HTTP/1.1 200 X\r\n", b"X: y\r\n"), (b"", b"HTTP/1.1 100 X\r\n\r\n"),
    ]:
        listening = socket.create_server(("127.0.0.1", 0), backlog=128)

        def flood():
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=pour, args=(connection,), daemon=True).start()

        def pour(connection, start=start, piece=piece):
            with contextlib.suppress(OSError), connection:
                connection.recv(65536)
                connection.sendall(start)
                deadline = time.monotonic() + 20
                while time.monotonic() < deadline:
                    connection.sendall(piece)

        threading.Thread(target=flood, daemon=True).start()
        proxy = f"http://127.0.0.1:{listening.getsockname()[1]}"
        good.requests.clear()
        queue = Queue(f"{good.origin}/x", route={"timeouts": timeouts})
        document = json.loads((queue.path / "drainq.json").read_text())
        document["routes"]["far"] = {"url": "https://far.invalid/x"}
        document["destinations"] = {"https://far.invalid": {"proxy": proxy}, good.origin: alone}
        (queue.path / "drainq.json").write_text(json.dumps(document))
        queue("add", "--type", "far", input='{"n":1}\n' * 3)
        queue("add", input="".join('{"n":%d}\n' % number for number in range(20)))
        began = time.monotonic()
        result = queue("run", timeout=60)
        took = time.monotonic() - began
        expect(took < 15, "the run took", took, result.stderr)
        expect(sorted(number for number, _ in good.requests) == list(range(20)), start, good.requests)
    told += ["4 floods"]


# Real servers that are reloaded and killed while a queue drains

count = 500 if effort < 10 else 5000


def listens(number):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", number), timeout=1).close()
        return True


class Nginx:
    """nginx, with and without TLS, that takes so many requests on a connection; its log has a line for each request."""

    def __init__(self, requests):
        self.directory = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        self.directory.chmod(0o777)
        scratch.chmod(0o711)
        self.secure, self.plain, behind = free_port(), free_port(), free_port()
        places = "".join(
            f"{name}_temp_path {self.directory}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.directory / "conf").write_text(f"""
            daemon off; pid {self.directory}/pid; error_log {self.directory}/errors; worker_processes 2;
            events {{ worker_connections 512; }}
            http {{ {places} access_log off; keepalive_requests {requests};
                log_format line '$status $http_idempotency_key $http_drainq_attempt $content_length $request_length';
                server {{ listen 127.0.0.1:{self.secure} ssl http2; listen 127.0.0.1:{self.plain};
                    ssl_certificate {authority}; ssl_certificate_key {scratch}/h2.key; access_log {self.directory}/log line;
                    location / {{ proxy_pass http://127.0.0.1:{behind}; }} }}
                server {{ listen 127.0.0.1:{behind}; keepalive_requests 100000; location / {{ return 200 ok; }} }} }}
            """)
        self.process = subprocess.Popen(["nginx", "-e", "stderr", "-c", str(self.directory / "conf")], stderr=subprocess.DEVNULL)
        # It writes down its process id when it has learned what signals mean, which is after it listens.
        until(lambda: listens(self.plain) and (self.directory / "pid").exists(), "nginx")

    def seen(self):
        """(id, attempt) of each request that was answered by 200, as often as it was."""
        # Behind the last line break stands what is being written.
        whole, _, _ = (self.directory / "log").read_text().rpartition("\n")
        lines = (line.replace(r"\x22", "").replace('"', "").split() for line in whole.splitlines())
        return [(words[1], words[2]) for words in lines if words[0] == "200"]

    def end(self):
        self.process.terminate()
        self.process.wait()


def drained(origin, destination, seen, disturb):
    """Drains the queue while the server is disturbed, in the last runs in peace; all is delivered in the end, and every
    attempt is one request."""
    drain = Drain(origin, count, destination)
    stop = threading.Event()

    def disturbing():
        while not stop.wait(0.15):
            disturb()

    thread = threading.Thread(target=disturbing, daemon=True)
    thread.start()
    deferred = 0
    try:
        for number in range(90):
            # On a busy machine a server may hardly be there between two disturbances.
            if number == 25:
                stop.set()
            states = drain.run()
            expect(set(states.values()) <= {"delivered", "deferred", "new"}, collections.Counter(states.values()))
            left = sum(state != "delivered" for state in states.values())
            deferred += left
            if left == 0:
                break
    finally:
        stop.set()
        thread.join()
    expect(left == 0, left, "are left")
    # A request is logged behind its answer.
    until(lambda: set(drain.ids) <= {id for id, _ in seen()}, "what was delivered to be seen")
    requests = collections.Counter(seen())
    expect(all(times == 1 for times in requests.values()), "requests of one attempt", requests.most_common(3))
    twice = len(requests) - len({id for id, _ in requests})
    expect(twice <= deferred, twice, "were seen twice, and", deferred, "attempts had no answer")
    return [f"{count} operations", f"{deferred} attempts without an answer", f"{twice} of them had arrived"]


tools = [tool for tool in ("nginx", "haproxy") if not shutil.which(tool)]
if tools:
    print(f"ok real servers # SKIP {tools[0]} is not here")
else:
    for requests in (50, 1000):
        for scheme in ("http", "https"):
            with test(f"nginx that takes {requests} requests on a connection and is reloaded, {scheme}") as told:
                nginx = Nginx(requests)
                try:
                    origin = f"{scheme}://127.0.0.1:{nginx.plain if scheme == 'http' else nginx.secure}"
                    more = {"caFile": authority} if scheme == "https" else {}
                    told += drained(origin, more, nginx.seen, lambda: nginx.process.send_signal(signal.SIGHUP))
                finally:
                    nginx.end()
    with test("haproxy that is killed") as told:
        nginx = Nginx(1000)
        front = free_port()
        configuration = scratch / "haproxy.conf"
        configuration.write_text(f"""
defaults
    mode http
    timeout connect 2s
    timeout client 5s
    timeout server 5s
listen front
    bind 127.0.0.1:{front}
    retries 0
    server nginx 127.0.0.1:{nginx.plain}
""")
        running = []

        def start():
            running.append(subprocess.Popen(["haproxy", "-db", "-f", str(configuration)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            until(lambda: listens(front), "haproxy")

        def kill():
            running[-1].kill()
            running[-1].wait()
            start()

        start()
        try:
            told += drained(f"http://127.0.0.1:{front}", {}, nginx.seen, kill)
        finally:
            running[-1].kill()
            running[-1].wait()
            nginx.end()

end()
