#!/usr/bin/env python3
"""What servers can answer, against the whole program by both transports: each server is a destination of its own, all are
met in one run, and a good destination has its operations among theirs.

Injected: headers, interim answers and bodies without end, a byte now and then, bombs of gzip, redirects in circles and to
where none may lead, chunks and lengths that are wrong, status lines that are none, escapes, Retry-After of every kind,
5,000 cookies, and TLS with certificates that prove nothing. Needs strace and openssl.

Invariants: the outcome is the one that drainq(1) names; the run ends, in bounded time and memory, its agents too; nobody is
connected to but the servers; what is kept of an answer is short and can be printed; no server gets another one's
credentials, or a cookie; the operations of the good destination are delivered, once.
"""

import calendar
import contextlib
import gzip
import itertools
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import tempfile
import threading
import time

from torture import Queue, effort, end, expect, parse, scratch, test

certificates = scratch / "certificates"
# The time-out of an attempt; what has no end is ended by it.
total = 6


class Server:
    """A server on a port of its own: `answer` is bytes, or a function that is given the connection."""

    def __init__(self, answer, tls=None):
        self.answer = answer
        self.tls = tls
        # What it got: whole requests, as bytes.
        self.requests = []
        self.connections = 0
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listening.getsockname()[1]
        self.origin = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            connection, _ = self.listening.accept()
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError), connection:
            connection.settimeout(60)
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            while request := self.read(connection):
                self.requests.append(request)
                if callable(self.answer):
                    self.answer(connection)
                    return
                connection.sendall(self.answer)

    def read(self, connection):
        request = b""
        while b"\r\n\r\n" not in request:
            more = connection.recv(65536)
            if not more:
                return b""
            request += more
        head, _, body = request.partition(b"\r\n\r\n")
        length = int((re.search(rb"(?i)content-length: (\d+)", head) or [b"", b"0"])[1])
        while len(body) < length:
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body


def answer(status="200 OK", *headers, body=b"", length=None):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def endless(start, piece, pause=0.0):
    """Sends the start, then the piece for ever."""

    def send(connection):
        connection.sendall(start)
        while True:
            connection.sendall(piece)
            time.sleep(pause)

    return send


def closing(text):
    """Sends this, and closes."""
    return lambda connection: connection.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))


def chunked(text):
    return closing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + text)


def bomb():
    """400 MB of zeros, packed."""
    packed = tempfile.SpooledTemporaryFile()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9) as file:
        for _ in range(400):
            file.write(bytes(1 << 20))
    packed.seek(0)
    return packed.read()


def certificate(name, *words, days="2"):
    """A certificate for TLS, made by openssl; returns what a server needs."""
    certificates.mkdir(exist_ok=True)
    request, *files = [str(certificates / f"{name}.{suffix}") for suffix in ("csr", "pem", "key")]
    for command in (
        ["req", "-new", "-newkey", "rsa:2048", "-nodes", "-out", request, "-keyout", files[1], *words],
        ["x509", "-req", "-in", request, "-signkey", files[1], "-out", files[0], "-copy_extensions", "copy", "-days", days],
    ):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context


victim = Server(answer("204 No Content"))
escapes = "\x1b[2J\x1b]0;owned\x07\r\x00\x9b31m\u202e"
deferred, held, failed, delivered = "deferred", "held", "failed", "delivered"

# name → (what the server does, outcomes that are right). What floods may also run into a time-out: URLSession takes all of
# its answers one after the other.
servers = {
    "endless-headers": (endless(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"a" * 1000 + b"\r\n"), {deferred}),
    "endless-header": (endless(b"HTTP/1.1 200 OK\r\nX-A: ", b"a" * 65536), {deferred}),
    "endless-reason": (endless(b"HTTP/1.1 200 ", b"a" * 65536), {deferred}),
    "endless-interim": (endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n", 0.001), {deferred}),
    "endless-body": (endless(b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 65536), {delivered, deferred}),
    "endless-error": (endless(b"HTTP/1.1 400 No\r\n\r\n", b"\x1b[31m" * 10000), {failed, deferred}),
    "endless-chunks": (endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 1000), {delivered, deferred}),
    "slow-headers": (endless(b"HTTP/1.1 200 OK\r\nX-A: ", b"a", 1), {deferred}),
    "slow-body": (endless(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"a", 1), {deferred}),
    "slow-trailers": (endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: ", b"a", 1), {deferred}),
    "bomb": (closing(answer("200 OK", "Content-Encoding: gzip", body=bomb())), {delivered, deferred}),
    "no-gzip": (closing(answer("200 OK", "Content-Encoding: gzip", body=b"this is none")), {delivered}),
    "encodings": (closing(answer("200 OK", "Content-Encoding: " + ", ".join(["gzip"] * 1000), body=b"x")), {delivered}),
    "chunk-size": (chunked("zz\r\nhello\r\n0\r\n\r\n"), {deferred}),
    "chunk-negative": (chunked("-5\r\nhello\r\n0\r\n\r\n"), {deferred}),
    "chunk-huge": (chunked("ffffffffffffffffff\r\nhello\r\n0\r\n\r\n"), {deferred}),
    "chunk-end": (chunked("5\r\nhelloXX0\r\n\r\n"), {deferred}),
    "chunk-early": (chunked("ff\r\nhello"), {deferred}),
    "chunk-digits": (chunked("0" * 100_000 + "5\r\nhello\r\n0\r\n\r\n"), {deferred, delivered}),
    "length-negative": (closing(answer(body=b"x", length=-1)), {deferred, delivered}),
    "length-word": (closing(answer(body=b"x", length="abc")), {deferred, delivered}),
    "length-huge": (closing(answer(body=b"x", length=10**30)), {deferred, delivered}),
    "length-more": (closing(answer(body=b"x", length=100)), {deferred}),
    "length-less": (closing(answer(body=b"x" * 100, length=1)), {delivered}),
    "length-two": (closing(answer("200 OK", "Content-Length: 7", body=b"x")), {deferred, delivered}),
    "status-three": (closing("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"), {deferred, failed}),
    "status-two": (closing("HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"), {deferred}),
    "status-zero": (closing("HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n"), {deferred}),
    "status-four": (closing("HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"), {deferred}),
    "status-none": (closing("HTTP/1.1\r\n\r\n"), {deferred}),
    "version": (closing("HTTP/7.3 200 OK\r\nContent-Length: 0\r\n\r\n"), {deferred, delivered}),
    "upgrade": (closing("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello"), {deferred, failed}),
    "nothing": (closing(""), {deferred}),
    "noise": (closing(bytes(range(256)) * 100), {deferred}),
    "nul": (closing(b"HTTP/1.1 200 O\0K\r\nX: \0\r\nContent-Length: 0\r\n\r\n"), {deferred, delivered}),
    "reason": (closing(answer("400 " + escapes.encode("utf-8", "replace").decode("latin-1"), body=b"x")), {failed, deferred}),
    "reason-long": (closing(answer("400 " + "x" * 1_000_000)), {failed, deferred}),
    "body": (closing(answer("400 No", body=escapes.encode() * 70_000)), {failed}),
    "body-words": (closing(answer("422 No", body=b"\xff\xfe" * 500_000)), {failed}),
    "header-escapes": (closing(b"HTTP/1.1 400 No\r\nRetry-After: \x1b[2J\r\nX-\x1b: \x1b\r\nContent-Length: 0\r\n\r\n"), {failed, deferred}),
    "cookies": (answer("204 No Content", *(f"Set-Cookie: c{number}=1; Path=/" for number in range(5000))), {delivered}),
}
for name, value in {
    "negative": "-1", "zero": "0", "huge": "99999999999999999999999", "digits": "9" * 10_000, "word": "soon", "blank": "",
    "fraction": "1.5", "exponent": "1e9", "past": "Sun, 06 Nov 1994 08:49:37 GMT", "far": "Fri, 31 Dec 9999 23:59:59 GMT",
    "no-date": "Fri, 99 Foo 2026 25:61:61 GMT", "two": "5\r\nRetry-After: 999999999",
}.items():
    servers[f"retry-after-{name}"] = (answer("503 No", f"Retry-After: {value}"), {deferred})
    servers[f"limited-{name}"] = (answer("429 No", f"Retry-After: {value}"), {deferred})
for name, location in {
    "loop": "/loop", "file": "file:///etc/passwd", "metadata": "http://169.254.169.254/latest/meta-data/",
    "host": f"{victim.origin}/steal", "relative": f"//127.0.0.1:{victim.port}/steal", "ftp": "ftp://127.0.0.1/x",
    "user": f"http://user@127.0.0.1:{victim.port}/steal", "gopher": f"gopher://127.0.0.1:{victim.port}/_x",
    "javascript": "javascript:alert(1)", "garbage": "http://[::1", "escapes": "\x1b[2J", "long": "/" + "x" * 90_000,
    "backslash": f"http:\\\\127.0.0.1:{victim.port}\\steal", "port": "http://127.0.0.1:99999/",
}.items():
    for status in (302, 307):
        servers[f"redirect-{status}-{name}"] = (answer(f"{status} Elsewhere", f"Location: {location}"), {held, deferred})

good = 40


def watch(process, peaks):
    """Notes the most memory that each agent of a run had, while the run lasts."""
    while process.poll() is None:
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError, IndexError):
                if path.read_bytes() in (b"drainq\0agent\0", b"drainq-urlsession\0"):
                    status = (path.parent / "status").read_text()
                    peaks[path.parent.name] = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024
        time.sleep(0.05)


def outcomes(queue):
    """type → (where its operation is, the last line that was appended to it)."""
    found = {}
    for state in queue.states:
        for path in queue.files(state):
            contents = path.read_bytes()
            header, body = parse(contents)
            lines = contents[contents.index(b"\n") + 1 + len(body):].splitlines()
            found[header["type"]] = (state, json.loads(lines[-1]) if lines[1:] else {}, path.name)
    return found


def met(transport):
    """Meets all servers in one run by this transport, and checks what it came to."""
    friend = Server(answer("204 No Content"))
    running = {name: (Server(what), right) for name, (what, right) in servers.items()}
    route = {"headers": {"Authorization": "Bearer hidden-credential"}, "redirects": "same-origin"}
    timeouts = {"connect": "2s", "request": "5s", "total": f"{total}s"}
    routes = {name: {"url": f"{server.origin}/{name}", **route} for name, (server, _) in running.items()}
    queue = Queue(f"{friend.origin}/{{id}}", route={"timeouts": timeouts})
    document = json.loads((queue.path / "drainq.json").read_text())
    document["routes"].update(routes)
    document["destinations"] = {
        server.origin: {"transport": transport} for server in [friend, *(server for server, _ in running.values())]}
    (queue.path / "drainq.json").write_text(json.dumps(document))
    ids = queue("add", input="".join(f"{number}\n" for number in range(good // 2))).stdout.split()
    for name in servers:
        expect(queue("add", "--type", name, input='{"a":1}').returncode == 0, name)
    ids += queue("add", input="".join(f"{number}\n" for number in range(good // 2))).stdout.split()

    log, peaks, start = scratch / f"connects-{transport}", {}, time.monotonic()
    words = ["strace", "-f", "-qq", "-o", str(log), "-e", "trace=connect"]
    errors = open(scratch / "errors", "w+")
    process = subprocess.Popen(
        [*words, *queue.command("run", "--limit", 1000, "--concurrency", 16)], stdout=errors, stderr=errors)
    watching = threading.Thread(target=watch, args=(process, peaks))
    watching.start()
    process.wait(300)
    watching.join()
    duration = time.monotonic() - start
    errors.seek(0)
    said = errors.read()

    expect(process.returncode == 69, "status", process.returncode, said[-3000:])
    expect(all(c.isprintable() or c == "\n" for c in said), "not printable:", repr(said))
    found, wrong = outcomes(queue), []
    for name, (server, right) in running.items():
        state, record, file = found.get(name, (delivered, {}, ""))
        outcome = held if state == "new" else state
        if outcome not in right:
            wrong.append(f"{name}: {outcome} {record}")
        if state == "new" and server.connections == 0:
            wrong.append(f"{name}: never asked")
        text = record.get("excerpt", "")
        if len(text) > 200 or not text.isprintable():
            wrong.append(f"{name}: excerpt {text!r}")
        # A server gets no more than a day, with the jitter on top.
        due = re.search(r",t=(\d{8}T\d{6})", file)
        if due and calendar.timegm(time.strptime(due[1], "%Y%m%dT%H%M%S")) - time.time() > 86400 + 400:
            wrong.append(f"{name}: due {due[1]}")
        if any(b"hidden-credential" not in request for request in server.requests):
            wrong.append(f"{name}: got a request without what is its own")
    expect(not wrong, "\n    ".join(["wrong:", *wrong]))
    got = sorted(request.split(b" ")[1][1:].decode() for request in friend.requests)
    expect(got == sorted(ids), "the good destination got", len(got), "of", len(ids))
    expect(all(b"hidden-credential" not in request for request in friend.requests), "a credential went elsewhere")
    expect(victim.connections == 0, "the victim was connected to")
    ports = {int(port) for port in re.findall(r"sin6?_port=htons\((\d+)\)", log.read_text())}
    expect(ports <= {server.port for server, _ in running.values()} | {friend.port}, "connected to", ports)
    addresses = set(re.findall(r'inet_addr\("([^"]+)"\)', log.read_text()))
    expect(addresses == {"127.0.0.1"}, "connected to", addresses)

    # The cookies that were set are not sent back.
    queue("add", "--type", "cookies", input="1")
    queue("run", "--type", "cookies")
    asked = running["cookies"][0].requests
    expect(len(asked) == 2 and all(b"cookie:" not in request.lower() for request in asked), "cookies were sent")
    expect(duration < 180, "the run took", duration, "s")
    expect(max(peaks.values()) < 1100, "memory of agents", peaks)
    return [f"{len(servers)} servers", f"{len(peaks)} agents", f"{max(peaks.values())} MB at most"]


for transport in ("libcurl", "urlsession"):
    with test(f"hostile servers harm nobody but themselves: {transport}") as told:
        told += met(transport)

with test("a certificate that proves nothing holds its destination, and nothing is sent") as told:
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    other = ["-subj", "/CN=other.example", "-addext", "subjectAltName=DNS:other.example"]
    cases = {
        "self-signed": (certificate("self-signed", *name), None),
        "wrong-name": (certificate("wrong-name", *other), "wrong-name.pem"),
        "expired": (certificate("expired", *name, days="-1"), "expired.pem"),
    }
    trusted = certificate("trusted", *name)
    running = {case: Server(answer(), tls=context) for case, (context, _) in cases.items()}
    running["trusted"] = Server(answer("204 No Content"), tls=trusted)
    running["plain"] = Server(answer())
    running["plain"].origin = running["plain"].origin.replace("http:", "https:")
    running["silent"] = Server(answer())
    running["silent"].origin = running["silent"].origin.replace("http:", "https:")
    for transport in ("libcurl", "urlsession"):
        timeouts = {"connect": "3s", "request": "3s", "total": "8s"}
        queue = Queue("http://127.0.0.1:1/", route={"timeouts": timeouts})
        document = json.loads((queue.path / "drainq.json").read_text())
        document["routes"].update({case: {"url": f"{server.origin}/x"} for case, server in running.items()})
        document["destinations"] = {server.origin: {"transport": transport} for server in running.values()}
        if transport == "libcurl":
            for case, file in [("wrong-name", "wrong-name.pem"), ("expired", "expired.pem"), ("trusted", "trusted.pem")]:
                document["destinations"][running[case].origin]["caFile"] = str(certificates / file)
        (queue.path / "drainq.json").write_text(json.dumps(document))
        for case in running:
            queue("add", "--type", case, input="1")
        result = queue("run", timeout=100)
        expect(result.returncode == 69, transport, result.returncode, result.stderr)
        found = outcomes(queue)
        for case in cases:
            expect(found[case][0] == "new", transport, case, found[case])
            expect(f"'{running[case].origin}' is held: tls" in result.stderr, transport, case, result.stderr)
            expect(not running[case].requests, transport, case, "got a request")
        expect(("trusted" in found) == (transport != "libcurl"), transport, "trusted", found.get("trusted"))
        expect(found["plain"][0] in ("new", "deferred"), transport, "plain", found["plain"])
    told += [f"{len(running)} servers"]


class SlowReader(Server):
    """A server at a socket whose buffers are small, which reads a body slowly over TLS: no second passes without a byte."""

    def __init__(self, tls):
        super().__init__(answer(), tls)
        self.path = tempfile.mkdtemp(dir="/tmp") + "/socket"
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen()
        threading.Thread(target=self.listen, daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError), self.tls.wrap_socket(connection, server_side=True) as connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(1)
            left = int(re.search(rb"Content-Length: (\d+)", head)[1])
            while left and (piece := connection.recv(min(left, 16384))):
                left -= len(piece)
                time.sleep(len(piece) / 200_000)
            self.requests.append(head)
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")


with test("a large body that leaves slowly over TLS is not idle") as told:
    server = SlowReader(certificate("slow", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"))
    near = {"unixSocket": server.path, "caFile": str(certificates / "slow.pem"), "transport": "libcurl"}
    queue = Queue("https://127.0.0.1/x", route={"timeouts": {"connect": "5s", "request": "1s", "total": "60s"}},
                  destinations={"https://127.0.0.1": near})
    queue("add", input=json.dumps("x" * 1_200_000))
    result = queue("run", timeout=100)
    expect(result.returncode == 0, result.returncode, result.stdout, result.stderr)
    expect(len(server.requests) == 1, len(server.requests), "requests")

end()
