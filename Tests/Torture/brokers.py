#!/usr/bin/env python3
"""RabbitMQ as the place where operations go: three nodes, a quorum queue, and drainq behind haproxy as
etc/drainq/examples/rabbitmq.json5 has it, with a schedule of seconds.

What is done while a queue drains, with a run five times a second: the leader of the quorum queue is killed; two of three
nodes are stopped, or frozen, and come back; the queue is full; the binding and the exchange go and come back; the password
changes. What holds: the consumer gets every id with its payload, byte for byte; each further copy has the same `message_id`
and is explained by an attempt that ended without RabbitMQ's word, of which there are no more than `concurrency` for each
node that went away and a probe for each cool-down without a majority; what RabbitMQ refused by word has no copy; nothing
fails and nothing is in quarantine.

By hand, because it takes some minutes:

    DRAINQ=/path/to/drainq python3 Tests/Torture/brokers.py

RabbitMQ is Debian's package, unpacked below the gallery's cache and not installed. haproxy is needed. The gallery does the
same faults to one node on every commit.
"""

import atexit
import base64
import collections
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import queue
import secrets
import signal
import shutil
import socket
import subprocess
import sys
import threading
import time

from torture import Queue, effort, end, expect, free_port, here, scratch, test, until

sys.path.append(str(here.parent / "Interop/gallery"))

from debian import libraries, unpacked  # noqa: E402

example = (here.parent.parent / "etc/drainq/examples/rabbitmq.json5").read_text()
size = 2000 * effort
concurrency = 5
# Seconds in which a destination whose connections fail gets one probe.
cool_down = 2
admin = "guest", "guest"


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True


class Node:
    """A node of RabbitMQ that listens on loopback ports of its own. Each process of it is in its process group."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, f"{name}@localhost"
        self.port = free_port()
        self.place = cluster.work / name
        self.place.mkdir()
        nodes = "".join(f"cluster_formation.classic_config.nodes.{other} = {other}@localhost\n" for other in cluster.names)
        (self.place / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{free_port()}\nmanagement.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {self.port}\n"
            f"cluster_formation.peer_discovery_backend = classic_config\n{nodes}"
            "collect_statistics_interval = 1000\nlog.console = true\nlog.console.level = error\n")
        self.environment = cluster.environment | {
            "RABBITMQ_NODENAME": self.name, "RABBITMQ_DIST_PORT": str(free_port()),
            # One scheduler, which sleeps where it has nothing to do.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none",
            "RABBITMQ_MNESIA_BASE": str(self.place / "data"), "RABBITMQ_LOG_BASE": str(self.place / "log"),
            "RABBITMQ_CONFIG_FILE": str(self.place / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(cluster.work / "plugins"),
        }
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            ["nice", "-n", "5", self.cluster.program], stdin=subprocess.DEVNULL, stdout=open(self.place / "said", "ab"),
            stderr=subprocess.STDOUT, env=self.environment, start_new_session=True)

    def send(self, number):
        os.killpg(self.process.pid, number)

    def end(self, number=signal.SIGTERM, patience=30):
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.send(number)
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            pass
        with contextlib.suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        self.process.wait()
        self.process = None

    def answers(self):
        try:
            return self.ask("GET", "overview")[0] == 200
        except OSError:
            return False

    def ask(self, method, path, body=None):
        """Status and JSON of an answer of the management API."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            authorization = base64.b64encode(":".join(admin).encode()).decode()
            headers = {"Authorization": f"Basic {authorization}", "Content-Type": "application/json"}
            connection.request(method, f"/api/{path}", json.dumps(body or {}), headers)
            answer = connection.getresponse()
            said = answer.read()
            return answer.status, json.loads(said) if said else None


class Cluster:
    """Three nodes, their port mapper, and haproxy before them."""

    names = "abc"

    def __init__(self):
        place = unpacked("rabbitmq", "rabbitmq-server")
        self.program = next(place.glob("usr/lib/rabbitmq/lib/rabbitmq_server-*")) / "sbin/rabbitmq-server"
        erlang = place / "usr/lib/erlang"
        erlang = erlang if erlang.exists() else pathlib.Path("/usr/lib/erlang")
        self.work = scratch / "rabbitmq"
        self.work.mkdir()
        (self.work / "plugins").write_text("[rabbitmq_management].\n")
        (self.work / ".erlang.cookie").write_text(secrets.token_hex(16))
        (self.work / ".erlang.cookie").chmod(0o400)
        # Debian's own looks for Erlang in /usr/lib.
        runtime = next(erlang.glob("erts-*")) / "bin"
        erl = self.work / "erl"
        erl.write_text(
            f'#!/bin/sh\nROOTDIR={erlang} BINDIR={runtime} EMU=beam PROGNAME=erl exec {runtime}/erlexec "$@"\n')
        erl.chmod(0o755)
        names = free_port()
        self.environment = os.environ | libraries(place) | {
            "HOME": str(self.work), "PATH": f"{self.work}:{os.environ['PATH']}",
            "ERL_EPMD_ADDRESS": "127.0.0.1", "ERL_EPMD_PORT": str(names),
        }
        # Started here, so that it ends here: Erlang would leave one behind.
        self.others = [subprocess.Popen(
            [runtime / "epmd", "-address", "127.0.0.1", "-port", str(names)], env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
        atexit.register(self.end)
        self.nodes = [Node(self, name) for name in self.names]
        self.queue, self.numbers = None, itertools.count(1)
        # The first one makes the cluster, the others join it.
        self.start(self.nodes[:1])
        self.start(self.nodes[1:])
        self.front = free_port()
        servers = "".join(
            f"    server {node.place.name} 127.0.0.1:{node.port} check inter 200ms fall 1 rise 1\n" for node in self.nodes)
        configuration = self.work / "haproxy.cfg"
        # It sends no request a second time.
        configuration.write_text(f"""
defaults
    mode http
    timeout connect 1s
    timeout client 60s
    timeout server 60s
    retries 0
listen front
    bind 127.0.0.1:{self.front}
    balance roundrobin
{servers}""")
        self.others.append(subprocess.Popen(
            ["haproxy", "-db", "-f", str(configuration)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL))
        until(lambda: listens(self.front), "haproxy")

    def start(self, nodes):
        for node in nodes:
            node.start()
        for node in nodes:
            until(node.answers, node.name, (node.place / "said").read_text()[-2000:], limit=120)

    def restore(self):
        """What a test that failed has left away comes back."""
        for node in self.nodes:
            if node.process:
                node.send(signal.SIGCONT)
        self.start([node for node in self.nodes if not node.process])

    def end(self):
        # What they keep is thrown away, so nobody has to write it down.
        for node in self.nodes:
            node.end(signal.SIGKILL)
        for other in self.others:
            other.kill()
            other.wait()

    def api(self, method, path, body=None, allowed=(200, 201, 204)):
        """Asks a node that is there."""
        for node in self.nodes:
            with contextlib.suppress(OSError):
                status, answer = node.ask(method, path, body)
                expect(status in allowed, method, path, status, answer)
                return answer
        raise AssertionError("no node answers")

    def prepare(self, **arguments):
        """A new quorum queue with a member on each node, an exchange, its binding, and a user that may publish."""
        self.restore()
        if self.queue:
            self.api("DELETE", f"queues/%2F/{self.queue}", allowed=(204, 404))
        # Another name than the last one's, whose members may still be leaving.
        self.queue = f"orders-{next(self.numbers)}"
        arguments = {f"x-{name.replace('_', '-')}": value for name, value in arguments.items()}
        self.api("PUT", f"queues/%2F/{self.queue}", {"durable": True, "arguments": {"x-queue-type": "quorum"} | arguments})
        self.exchange()
        self.bind()
        self.password("first")
        self.api("PUT", "permissions/%2F/drainq", {"configure": "", "write": ".*", "read": ""})
        self.whole()

    def exchange(self):
        self.api("PUT", "exchanges/%2F/orders", {"type": "direct", "durable": True})

    def bind(self):
        self.api("POST", f"bindings/%2F/e/orders/q/{self.queue}", {"routing_key": "orders"})

    def unbind(self):
        self.api("DELETE", f"bindings/%2F/e/orders/q/{self.queue}/orders")

    def password(self, word):
        self.api("PUT", "users/drainq", {"password": word, "tags": "management"})

    def leader(self):
        name = self.api("GET", f"queues/%2F/{self.queue}")["leader"]
        return next(node for node in self.nodes if node.name == name)

    def whole(self):
        """Waits until every node is there and has its part of the queue."""
        def complete():
            with contextlib.suppress(AssertionError):
                found = self.api("GET", f"queues/%2F/{self.queue}")
                return len(found.get("online", [])) == 3 and found.get("leader") and all(n.answers() for n in self.nodes)
        until(complete, "the cluster", limit=120)

    def taken(self, count=1000):
        """The messages that are taken out of the queue: their ids and payloads, in its order."""
        wanted = {"count": count, "ackmode": "ack_requeue_false", "encoding": "base64"}
        found = self.api("POST", f"queues/%2F/{self.queue}/get", wanted)
        return [(message["properties"]["message_id"], base64.b64decode(message["payload"])) for message in found]


class Drain:
    """An outbox of `count` operations, which come in `portions`, the timer that runs it, and the ledger of the consumer."""

    def __init__(self, cluster, count=size, concurrency=concurrency, portions=2, **arguments):
        cluster.prepare(**arguments)
        self.cluster, self.concurrency = cluster, concurrency
        self.outbox = Queue("http://127.0.0.1")
        self.credentials = self.outbox.path.parent / "credentials"
        self.has_password("first")
        text = example
        for original, replacement in {
            "http://rabbitmq.example.net:15672": f"http://127.0.0.1:{cluster.front}",
            "amq.default": "orders",
            "/etc/drainq/rabbitmq.credentials": str(self.credentials),
            "      answers: [": """
      retry: { base: "200ms", multiplier: 2, max: "2s", attempts: 1000 },
      timeouts: { request: "3s" },
      answers: [""",
            "  secrets: {": """
  destinations: { "http://127.0.0.1:%d": { coolDown: "%ds" } },
  secrets: {""" % (cluster.front, cool_down),
        }.items():
            expect(original in text, "the example has no", original)
            text = text.replace(original, replacement)
        (self.outbox.path / "drainq.json").write_text(text)
        self.payloads = [json.dumps({"order": n, "text": "\"é\" \\ \u0001"}, ensure_ascii=False) for n in range(count)]
        self.ids, self.portions = [], portions
        self.more()
        self.events, self.statuses, self.got, self.probes = [], collections.Counter(), [], 0
        self.over = threading.Event()
        self.start = time.monotonic()
        self.timer = threading.Thread(target=self.rounds, daemon=True)
        self.timer.start()

    def has_password(self, word):
        self.credentials.write_text(base64.b64encode(f"drainq:{word}".encode()).decode() + "\n")
        self.credentials.chmod(0o600)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.timer.join()

    def more(self):
        """Adds the next portion."""
        portion = self.payloads[len(self.ids):][:-(-len(self.payloads) // self.portions)]
        result = self.outbox("add", "--sync=none", input="".join(payload + "\n" for payload in portion))
        expect(result.returncode == 0, "add:", result.stderr)
        self.ids += result.stdout.split()

    def rounds(self):
        """Runs as a timer would start them."""
        while not self.over.wait(0.2):
            command = self.outbox.command("run", "--json", "--max-time", "5s", "--concurrency", self.concurrency)
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for line in process.stdout:
                self.events.append(json.loads(line))
            self.statuses[process.wait()] += 1

    def outcomes(self, outcome, *statuses):
        """The attempts that came to this, by these statuses if there are any."""
        return [event for event in list(self.events) if event["event"] == "attempt" and event["outcome"] == outcome
                and (not statuses or event.get("status") in statuses)]

    def reaches(self, part):
        """Waits until that part of the operations has been delivered."""
        until(lambda: len(self.outcomes("delivered")) >= part * len(self.payloads), f"{part} of the operations", limit=600)

    def states(self):
        rows = [json.loads(line) for line in self.outbox("list", "--json").stdout.splitlines()]
        return collections.Counter(row["state"] for row in rows)

    def waiting(self):
        return any(any(self.outbox.files(state)) for state in (*self.outbox.states, "claimed"))

    def waits(self, status, state):
        """Waits until two runs one after the other end with that status and leave operations in that state."""
        before = self.statuses.total(), self.statuses[status]
        def ended():
            nonlocal before
            now = self.statuses.total(), self.statuses[status]
            if now[0] - before[0] != now[1] - before[1]:
                before = now
            return now[1] >= before[1] + 2
        until(ended, "runs that end with", status)
        expect(self.states()[state] > 0, "nothing is", state, self.states())

    def is_held(self, status):
        """Waits until all that is left is held because of answers with that status, and asks no more."""
        self.waits(69, "held")
        expect(self.outcomes("held", status), "nothing was answered with", status, self.events[-3:])
        expect(set(self.states()) == {"held"}, self.states())
        asked = len(self.outcomes("held"))
        self.waits(69, "held")
        expect(len(self.outcomes("held")) == asked, "a destination that is held was asked")

    def released(self):
        result = self.outbox("release", "--all")
        expect(result.returncode == 0, "release:", result.stderr)

    def lacks_two(self, leave, come):
        """Takes two nodes away, the leader one of them; nothing is delivered until they come back."""
        leader = self.cluster.leader()
        nodes = [leader, next(node for node in self.cluster.nodes if node is not leader)]
        leave(nodes)
        self.more()
        self.waits(75, "deferred")
        delivered, start = len(self.outcomes("delivered")), time.monotonic()
        time.sleep(5)
        expect(len(self.outcomes("delivered")) == delivered, "a queue without a majority took messages")
        come(nodes)
        until(lambda: len(self.outcomes("delivered")) > delivered, "a majority", limit=120)
        self.probes = int((time.monotonic() - start) / cool_down) + 1

    def arrived(self):
        """The messages in the queue; RabbitMQ counts them every few seconds."""
        time.sleep(8)
        return self.cluster.api("GET", f"queues/%2F/{self.cluster.queue}").get("messages", 0)

    def take(self):
        found = self.cluster.taken()
        self.got += found
        return len(found)

    def finish(self, departures=0, limit=600):
        """Waits until all is delivered, and reckons: the copies that are one too many."""
        while len(self.ids) < len(self.payloads):
            self.more()
        until(lambda: not self.waiting(), "the end", limit=limit)
        took = time.monotonic() - self.start
        self.__exit__()
        expect(not any(self.outbox.files("quarantine")), "something is in quarantine")
        expect(not self.outcomes("failed"), "operations failed")
        self.cluster.whole()
        while self.take():
            pass
        sent = dict(zip(self.ids, (payload.encode() for payload in self.payloads)))
        copies = collections.Counter(id for id, _ in self.got)
        expect(set(copies) == set(sent), "not received:", [id for id in sent if id not in copies][:3], len(copies))
        expect(all(payload == sent[id] for id, payload in self.got), "payloads differ")
        # RabbitMQ's word is 400, 401 or `routed: false`; a connection that was refused has carried nothing.
        doubts = [event for event in self.events if event["event"] == "attempt" and event["outcome"] != "delivered"
                  and event.get("status") not in (200, 400, 401) and event.get("error") != "refused"]
        doubted = collections.Counter(event["id"] for event in doubts)
        unexplained = [id for id, count in copies.items() if count - 1 > doubted[id]]
        expect(not unexplained, "more copies than attempts in doubt:", unexplained[:3], len(unexplained))
        again, bound = len(self.got) - len(sent), self.concurrency * departures + self.probes
        expect(again <= bound, again, "copies more, and no more than", bound, "are explained")
        reasons = collections.Counter(str(event.get("status", event.get("error"))) for event in doubts)
        in_doubt = ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common()) or "none"
        return [f"{len(sent)} operations", f"{len(sent) / took:.0f}/s", f"in doubt: {in_doubt}",
                f"{again} copies more" + f", at most {bound}" * (bound > 0)]


def plain(cluster, attempts, count):
    """Messages a second that a client with so many threads, and no queue of its own, publishes over kept connections."""
    cluster.prepare()
    credentials = base64.b64encode(b"drainq:first").decode()
    headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}
    numbers = queue.SimpleQueue()
    for number in range(count):
        numbers.put(number)

    def publish():
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", cluster.front, timeout=60)) as connection:
            with contextlib.suppress(queue.Empty):
                while True:
                    properties = {"delivery_mode": 2, "message_id": str(numbers.get_nowait())}
                    message = {"properties": properties, "routing_key": "orders", "payload": "{}", "payload_encoding": "string"}
                    connection.request("POST", "/api/exchanges/%2F/orders/publish", json.dumps(message), headers)
                    answer = connection.getresponse()
                    expect(json.loads(answer.read()) == {"routed": True}, answer.status)

    start = time.monotonic()
    threads = [threading.Thread(target=publish) for _ in range(attempts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - start
    expect(len(cluster.taken(count + 1)) == count, "the plain client has lost messages")
    return f"a plain client {count / took:.0f}/s"


def main():
    cluster = None
    with test("RabbitMQ: three nodes make a cluster"):
        cluster = Cluster()
    if not cluster:
        return

    for attempts in (5, 50):
        with test(f"RabbitMQ: {attempts} attempts at a time, and nothing happens") as told:
            with Drain(cluster, concurrency=attempts, portions=1) as drain:
                told += drain.finish()
            told.append(plain(cluster, attempts, size))

    with test("RabbitMQ: the leader of the queue is killed, three times") as told, Drain(cluster, portions=4) as drain:
        for kill in range(3):
            leader = cluster.leader()
            drain.reaches((kill + 0.3) / 4)
            leader.end(signal.SIGKILL)
            # The other two go on without it.
            drain.reaches((kill + 1) / 4)
            cluster.start([leader])
            cluster.whole()
            drain.more()
        told += drain.finish(departures=3)

    with test("RabbitMQ: two of three nodes are stopped, and come back") as told, Drain(cluster) as drain:
        drain.reaches(0.3)
        drain.lacks_two(lambda nodes: [node.end() for node in nodes], cluster.start)
        told += drain.finish(departures=2)

    with test("RabbitMQ: two of three nodes are frozen, and thaw") as told, Drain(cluster) as drain:
        drain.reaches(0.3)
        drain.lacks_two(
            lambda nodes: [node.send(signal.SIGSTOP) for node in nodes],
            lambda nodes: [node.send(signal.SIGCONT) for node in nodes])
        told += drain.finish(departures=2)

    full = {"max_length": size // 4, "overflow": "reject-publish"}
    with test("RabbitMQ: the queue is full, and has room again") as told, Drain(cluster, **full) as drain:
        drain.more()
        drain.waits(75, "deferred")
        expect(drain.outcomes("deferred", 400), "nothing was refused")
        # The limit is what the members have agreed on: what was under way at once gets in.
        expect(size // 4 <= (arrived := drain.arrived()) <= size // 4 + 2 * concurrency, arrived, "got in")
        told.append(f"{len(drain.outcomes('deferred', 400))} refusals")
        while drain.waiting():
            drain.take()
            time.sleep(0.2)
        told += drain.finish()

    with test("RabbitMQ: the binding goes, and comes back") as told, Drain(cluster) as drain:
        drain.reaches(0.3)
        cluster.unbind()
        drain.more()
        drain.is_held(200)
        cluster.bind()
        drain.released()
        told += drain.finish()

    with test("RabbitMQ: the exchange goes, and comes back") as told, Drain(cluster) as drain:
        drain.reaches(0.3)
        cluster.api("DELETE", "exchanges/%2F/orders")
        drain.more()
        # RabbitMQ says 404 in the reason.
        drain.is_held(400)
        cluster.exchange()
        cluster.bind()
        drain.released()
        told += drain.finish()

    with test("RabbitMQ: the password changes five times, and is put right") as told, Drain(cluster, portions=6) as drain:
        for change in range(5):
            drain.reaches((change + 0.3) / 6)
            cluster.password(f"changed-{change}")
            drain.more()
            drain.is_held(401)
            # Nobody has to release what a credential held.
            drain.has_password(f"changed-{change}")
        told += drain.finish()


if __name__ == "__main__" and not shutil.which("haproxy"):
    print("not ok brokers (haproxy is not here)" if "CI" in os.environ else "ok brokers # SKIP haproxy is not here")
    sys.exit(1 if "CI" in os.environ else 0)
if __name__ == "__main__":
    main()
    end()
