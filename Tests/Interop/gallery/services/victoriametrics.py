"""real: VictoriaMetrics 1.79, Debian's package"""

import contextlib
import json
import socket
import time

from debian import Server, directory, free_port, served, unpacked
from kit import Example, equal, until


@contextlib.contextmanager
def server():
    program = unpacked("victoriametrics", "victoria-metrics") / "usr/bin/victoria-metrics"
    port = free_port()
    with directory("victoriametrics") as place:
        words = [program, f"-httpListenAddr=127.0.0.1:{port}", f"-storageDataPath={place}"]
        words += ["-memory.allowedBytes=256MB"]
        words += ["-maxConcurrentInserts=1", "-insert.maxQueueDuration=100ms", "-dedup.minScrapeInterval=1ms"]
        with served(Server(words, port, ready="/health")) as server:
            yield server


def samples(server, *rooms):
    """Value by room and time, of these rooms: once there are some, because a new series is seen a little later."""

    def exported():
        server.ask("/internal/force_flush")
        found = {}
        for line in server.ask('/api/v1/export?match[]={__name__="temperature"}&end=4102444800')[1].splitlines():
            series = json.loads(line)
            room = series["metric"]["room"]
            for moment, value in zip(series["timestamps"], series["values"]):
                assert (room, moment) not in found, (room, moment)
                found[room, moment] = value
        return found if {room for room, _ in found} >= set(rooms) else None

    return {key: value for key, value in until(exported).items() if key[0] in rooms}


def queue(server):
    origins = {"http://victoria.example.net:8428": server.url}
    return Example("victoriametrics", origins, replacing={"max: 1000": "max: 100"})


now = int(time.time() * 1000)


def test_lines(server):
    """the lines that begin the example write a sample."""
    with queue(server) as example:
        example.follow_its_lines()
        equal({"attic": 21.5}, {room: value for (room, _), value in samples(server, "attic").items()})


def test_samples(server):
    """250 samples of rooms with any name take three requests, and each is there once."""
    with queue(server) as example:
        rooms = ["a \"b\"", "c,d=e", "göbel\\"]
        expected = {(rooms[n % 3], now - n * 1000): n + 0.5 for n in range(250)}
        payloads = [{"room": room, "value": value, "time": moment} for (room, moment), value in expected.items()]
        example.add(*payloads, sync="none")
        example.run("--limit", "10000", "--concurrency", "1")
        equal(expected, samples(server, *rooms))


def test_busy(server):
    """503 of a server that has too many inserts is tried again."""
    with queue(server) as example:
        example.add({"room": "busy", "value": 1, "time": now})

        def taken():
            """Whether the place is: by an import of nothing."""
            return server.ask("/api/v1/import", b"")[0] == 503

        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(b"POST /api/v1/import HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            until(taken)
            example.run(status=75)
        equal(503, example.only("deferred")["lastStatus"])
        until(lambda: not taken())
        example.drainq("release", "--all")
        example.run("--now")
        equal({("busy", now): 1}, samples(server, "busy"))


def test_refused(server):
    """what VictoriaMetrics would skip without a word is refused when it is added."""
    with queue(server) as example:
        for payload in ['{"value":1,"time":1}', '{"room":"r","value":null,"time":1}', '{"room":"r","value":1}']:
            example.drainq("add", input=payload, status=65)
        example.is_in(quarantined=3)
        equal((204, b""), server.ask("/api/v1/import", b'{"metric":{"room":"r"},"values":[null],"timestamps":[1]}\n'))


def test_outage(server):
    """an outage defers, and a sample that arrives twice is there once, with -dedup.minScrapeInterval."""
    with queue(server) as example:
        server.stop()
        example.add({"room": "twice", "value": 1, "time": now})
        example.run(status=75)
        server.start()
        example.run("--now")
        example.add({"room": "twice", "value": 1, "time": now})
        example.run()
        equal({("twice", now): 1}, samples(server, "twice"))
