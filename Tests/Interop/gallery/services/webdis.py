"""real: Webdis and Redis, Debian's packages"""

import contextlib
import json
import urllib.parse

from debian import Server, directory, free_port, libraries, served, unpacked
from emulation import Answer, Emulation
from kit import Example, equal


@contextlib.contextmanager
def server():
    place = unpacked("webdis", "webdis", "redis-server", "redis-tools")
    redis, port = free_port(), free_port()
    environment = libraries(place)
    with directory("webdis") as work:
        (work / "webdis.json").write_text(json.dumps({
            "redis_host": "127.0.0.1", "redis_port": redis, "http_host": "127.0.0.1", "http_port": port, "threads": 2,
            "daemonize": False, "database": 0, "acl": [], "verbosity": 1, "logfile": str(work / "webdis.log"),
        }))
        words = [place / "usr/bin/redis-server", "--port", redis, "--bind", "127.0.0.1", "--save", "", "--dir", work]
        database = Server(words, redis, environment)
        webdis = Server([place / "usr/bin/webdis", work / "webdis.json"], port, environment)
        webdis.database = database
        with served(database, webdis) as server:
            yield server


def command(server, *words):
    status, answer = server.ask("/" + "/".join(map(str, words)))
    equal(200, status, answer)
    return json.loads(answer)[words[0]]


def queue(server):
    command(server, "FLUSHALL")
    return Example("webdis", {"http://webdis.example.net:7379": server.url})


def test_lines(server):
    """the lines that begin the example write an entry."""
    with queue(server) as example:
        example.follow_its_lines()
        equal(['{"order":1}'], list(command(server, "HGETALL", "orders").values()))


def test_entries(server):
    """100 entries are there once, byte for byte, and an id that has an entry of another fails."""
    with queue(server) as example:
        payloads = [{"order": n, "text": "/ % \"é\" \u2028"} for n in range(100)]
        ids = example.add(*payloads)
        server.ask(f"/HSETNX/orders/{ids[0]}/first")
        example.run(status=1)
        equal(ids[0], example.only("failed")["id"])
        entries = command(server, "HGETALL", "orders")
        equal(set(ids), set(entries))
        equal("first", entries[ids[0]])
        equal(payloads[1:], [json.loads(entries[name]) for name in ids[1:]])


def test_again(server):
    """an entry whose answer was lost is sent again, stays as it is, and is delivered."""
    command(server, "FLUSHALL")

    class Gateway(Emulation):
        def answer(self, request):
            # In the path: Webdis hangs if a body comes apart from its head, as urllib sends it.
            status, answer = server.ask(f"{request.path}/{urllib.parse.quote(request.body, safe='')}")
            return Answer(502) if len(self.received) == 1 else Answer(status, json.loads(answer))

    with Gateway() as gateway, Example("webdis", {"http://webdis.example.net:7379": gateway.url}) as example:
        example.add({"order": 1})
        example.run(status=75)
        example.run("--now")
        example.is_in()
        equal(2, len(gateway.received), "requests")
        equal(['{"order": 1}'], list(command(server, "HGETALL", "orders").values()))


def test_memory(server):
    """a Redis without memory says no with 200: the entries wait, and arrive when there is some."""
    with queue(server) as example:
        command(server, "CONFIG", "SET", "maxmemory", 1)
        example.add({"order": 1}, {"order": 2})
        example.run(status=75)
        example.is_in(deferred=2)
        command(server, "CONFIG", "SET", "maxmemory", 0)
        example.run("--now")
        equal(2, command(server, "HLEN", "orders"))


def test_type(server):
    """a key that is no hash holds, and nothing is lost."""
    with queue(server) as example:
        command(server, "SET", "orders", "text")
        example.add({"order": 1}, {"order": 2})
        example.run(status=69)
        example.is_in(held=2)
        command(server, "DEL", "orders")
        example.drainq("release", "--all")
        example.run()
        equal(2, command(server, "HLEN", "orders"))


def test_outage(server):
    """without Redis Webdis says 503, and the entries wait."""
    with queue(server) as example:
        server.database.stop()
        example.add({"order": 1})
        example.run(status=75)
        equal(503, example.only("deferred")["lastStatus"])
        server.database.start()
        server.stop()
        server.start()
        example.run("--now")
        equal(1, command(server, "HLEN", "orders"))
