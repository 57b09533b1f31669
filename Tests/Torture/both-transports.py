#!/usr/bin/env python3
"""Keeps the table "Both transports by class" in README.md true: each of its rows is met over both transports, by the whole
program, and the cells are what it came to.

The classes of a transport are destinations of one run, in a mount namespace where the name `several.test` has addresses and
the suite's authority is trusted, and in a network of its own. Needs root, ip and openssl.
"""

import contextlib
import json
import os
import pathlib
import re
import select
import socket
import ssl
import subprocess
import threading

from torture import Queue, end, expect, here, own_network, parse, scratch, test

if os.geteuid() != 0:
    print("ok both transports by class # SKIP only root makes mount namespaces")
    end()

own_network()
ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers each request by bytes, or by a function of the connection; without either it is silent. Notes requests."""

    def __init__(self, answer=ok, tls=None, address="127.0.0.1", port=0, reads=True):
        self.answer, self.tls, self.reads = answer, tls, reads
        self.requests, self.versions, self.connections = [], set(), 0
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listening = socket.create_server((address, port), family=family, backlog=64)
        self.port = self.listening.getsockname()[1]
        self.scheme = "https" if tls else "http"
        self.host = f"[{address}]" if ":" in address else address
        threading.Thread(target=self.listen, daemon=True).start()

    @property
    def origin(self):
        return f"{self.scheme}://{self.host}:{self.port}"

    def listen(self):
        while True:
            connection, _ = self.listening.accept()
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError), connection:
            connection.settimeout(20)
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
                self.versions.add(connection.selected_alpn_protocol())
            rest = b""
            while True:
                while b"\r\n\r\n" not in rest:
                    more = connection.recv(65536)
                    if not more:
                        return
                    rest += more
                head, _, rest = rest.partition(b"\r\n\r\n")
                length = int((re.search(rb"(?i)content-length: (\d+)", head) or [b"", b"0"])[1])
                while self.reads and len(rest) < length:
                    rest += connection.recv(65536)
                self.requests.append(head)
                rest = rest[length:]
                if callable(self.answer):
                    self.answer(connection)
                    return
                connection.sendall(self.answer)


def cut(text):
    """Sends this, and closes."""
    return lambda connection: connection.sendall(text)


def endless(start, piece):
    def send(connection):
        connection.sendall(start)
        while True:
            connection.sendall(piece)

    return send


def early(connection):
    """Answers a request that it does not read to its end, and waits until the other side closes."""
    connection.sendall(ok)
    closed = select.poll()
    closed.register(connection, select.POLLRDHUP)
    closed.poll(60_000)


def certificates():
    """What a server needs for TLS, by the protocols that it offers; and the file of the authority."""
    key, pem = str(scratch / "key"), str(scratch / "pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", pem], check=True, capture_output=True)

    def context(*protocols):
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(pem, key)
        made.set_alpn_protocols(protocols)
        return made

    return context, pem


context, authority = certificates()


def silent(address, port):
    """A place where connections are never answered: the queue of who listens is full."""
    listening = socket.create_server((address, port), backlog=0)
    waiting = []
    for _ in range(3):
        waiting.append(socket.socket())
        waiting[-1].setblocking(False)
        waiting[-1].connect_ex((address, port))
    return [listening, *waiting]


class Case:
    """A class: its server, what is asked of it, and how its cell is told from what happened."""

    def __init__(self, server, told=None, count=1, payload="1", route={}, destination={}, url=None):
        self.server, self.told, self.count, self.payload = server, told, count, payload
        self.route, self.destination = route, destination
        self.url = url or f"{server.origin}/x"

    @property
    def origin(self):
        return re.match("[a-z]+://[^/]*", self.url)[0]


def kept(server, outcome):
    return "kept" if server.connections < len(server.requests) else "one for each request"


def cases():
    chunked = b"Transfer-Encoding: chunked\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\n"
    several = Server(address="127.0.0.3")
    holes.extend(silent("127.0.0.2", several.port))
    refusing = Server(address="127.0.0.6")
    flood = Server(endless(b"HTTP/1.1 407 No\r\n" + chunked, b"1000\r\n" + b"x" * 4096 + b"\r\n"))
    # Its own proxy by libcurl, the environment's by URLSession.
    tunnel = {"proxy": flood.origin}

    def within(**timeouts):
        """The classes that end by a time-out; all others have more time than a busy machine takes."""
        return {"timeouts": {"connect": "10s", "request": "20s", "total": "30s", **timeouts}}

    return {
        "an honest answer": Case(Server()),
        "no blank after the colon, Latin-1, LF alone": Case(
            Server(cut(b"HTTP/1.1 200 OK\nContent-Length:2\nX-Caf\xe9: \xe9\n\nok"))),
        "trailers": Case(Server(cut(head + chunked + b"2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"))),
        "`HTTP/1.1 200` in the second line of a 500": Case(
            Server(cut(b"HTTP/1.1 500 No\r\nHTTP/1.1 200 X: y\r\nContent-Length: 0\r\n\r\n"))),
        "`HTTP/x 200`": Case(Server(cut(b"HTTP/x 200 OK\r\nContent-Length: 0\r\n\r\n"))),
        "a 200 cut in its body": Case(Server(cut(head + b"Content-Length: 9\r\n\r\nok"))),
        "a 400 cut in its body": Case(Server(cut(b"HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\nok"))),
        "a 400 that cannot be decoded": Case(
            Server(cut(b"HTTP/1.1 400 No\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok"))),
        "a 200 before the whole request had left": Case(
            Server(early, reads=False), payload=json.dumps("x" * (8 << 20)), route=within(connect="1s", request="1s")),
        "a 200 without end": Case(Server(endless(head + b"\r\n", b"x" * 65536))),
        "a 302 without end": Case(Server(endless(b"HTTP/1.1 302 X\r\nLocation: /a\r\n\r\n", b"x" * 65536))),
        "a head without end": Case(Server(endless(head, b"X-A: " + b"a" * 1000 + b"\r\n"))),
        "CONNECT answered by a 407 without end": Case(flood, destination=tunnel, url="https://far.invalid/x"),
        "the first address of the host is silent": Case(
            several, url=f"http://silent.test:{several.port}/x", route=within(connect="2s")),
        "the first two addresses refuse": Case(refusing, url=f"http://refusing.test:{refusing.port}/x"),
        "a host that is an IPv6 address": Case(Server(address="::1")),
        "GET with a body": Case(Server(), route={"method": "GET", "body": "{payload}"}),
        "connections of HTTP/1.1": Case(Server(), kept, count=30),
        "HTTP/2 where TLS offers it": Case(
            Server(tls=context("h2", "http/1.1")), lambda server, _: "spoken" if "h2" in server.versions else "not spoken"),
    }


holes = []


def namespace():
    """What a command is started by so that the names are there and the authority is trusted."""
    names, bundle = scratch / "hosts", scratch / "bundle"
    lines = ["127.0.0.2 silent.test", "127.0.0.3 silent.test"]
    lines += [f"127.0.0.{number} refusing.test" for number in (4, 5, 6)]
    names.write_text(pathlib.Path("/etc/hosts").read_text() + "\n".join(lines) + "\n")
    system = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
    bundle.write_text(system.read_text() + pathlib.Path(authority).read_text())
    script = 'mount --bind "$1" /etc/hosts && mount --bind "$2" "$3" && shift 3 && exec "$@"'
    return ["unshare", "-m", "sh", "-c", script, "sh", str(names), str(bundle), str(system)]


def met(transport):
    """class → cell"""
    running = cases()
    queue = Queue("http://127.0.0.1:1/", route={"timeouts": {"connect": "10s", "request": "20s", "total": "30s"}})
    document = json.loads((queue.path / "drainq.json").read_text())
    proxy = running["CONNECT answered by a 407 without end"].server.origin
    types = {name: f"c{number}" for number, name in enumerate(running)}
    for name, case in running.items():
        document["routes"][types[name]] = {**document["routes"]["default"], "url": case.url, **case.route}
        own = {"transport": transport, **(case.destination if transport == "libcurl" else {})}
        document.setdefault("destinations", {})[case.origin] = own
    (queue.path / "drainq.json").write_text(json.dumps(document))
    for name, case in running.items():
        added = queue("add", "--type", types[name], input=f"{case.payload}\n" * case.count)
        expect(added.returncode == 0, name, added.stderr)
    environment = {**os.environ, "https_proxy": proxy, "no_proxy": "127.0.0.1"}
    result = queue("run", "-v", "--concurrency", 10, before=namespace(), env=environment, timeout=60)
    found = {}
    for state in queue.states:
        for path in queue.files(state):
            contents = path.read_bytes()
            header, body = parse(contents)
            lines = contents[contents.index(b"\n") + 1 + len(body):].splitlines()
            found[header["type"]] = (state, json.loads(lines[-1]) if lines[1:] else {})
    cells = {}
    for name, case in running.items():
        state, record = found.get(types[name], ("delivered", {}))
        outcome = state
        if state in ("deferred", "failed"):
            outcome = f"{state}: {record.get('error') or record.get('status')}"
        elif state == "new":
            held = re.search(re.escape(f"'{case.origin}' is held: ") + r"(\d{3}|.*cannot be \w+ by)?", result.stderr)
            outcome = "new" if not held else "refused" if "cannot" in held[0] else f"held: {held[1]}"
            # One operation that is refused is parked, until another one shows who is to blame.
            parked = re.search(re.escape(f"'{case.origin}' refuses '") + r"[^']*': (\d{3})", result.stderr)
            if parked:
                outcome = f"parked: {parked[1]}"
        cells[name] = case.told(case.server, outcome) if case.told else outcome
    return cells


def table():
    """class → its cells, as README.md has them."""
    text = (here / "README.md").read_text().partition("| class | libcurl | URLSession |\n")[2]
    rows = [line.strip("| ").split(" | ") for line in text.partition("\n\n")[0].splitlines()[1:]]
    return {row[0]: row[1:] for row in rows}


with test("the table of both transports by class is what happens") as told:
    columns = [met(transport) for transport in ("libcurl", "urlsession")]
    seen = {name: [column[name] for column in columns] for name in columns[0]}
    lines = "\n".join(f"| {name} | {cells[0]} | {cells[1]} |" for name, cells in seen.items())
    expect(seen == table(), "README.md says otherwise; seen was\n" + lines)
    told += [f"{len(seen)} classes"]

end()
