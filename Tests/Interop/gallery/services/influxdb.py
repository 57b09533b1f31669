"""real: InfluxDB 1.6, Debian's package"""

import base64
import contextlib
import json
import socket
import urllib.parse

from debian import Server, directory, free_port, served, unpacked
from kit import Example, equal, until

CONFIGURATION = """
reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
  dir = "{place}/meta"
[data]
  dir = "{place}/data"
  wal-dir = "{place}/wal"
  query-log-enabled = false
[monitor]
  store-enabled = false
[http]
  bind-address = "127.0.0.1:{port}"
  auth-enabled = true
  log-enabled = false
  max-concurrent-write-limit = 1
  max-enqueued-write-limit = 1
  enqueued-write-timeout = "100ms"
"""
CREDENTIALS = base64.b64encode(b"admin:secret").decode()


@contextlib.contextmanager
def server():
    program = unpacked("influxdb", "influxdb") / "usr/bin/influxd"
    port = free_port()
    with directory("influxdb") as place:
        (place / "influxdb.conf").write_text(CONFIGURATION.format(place=place, port=port, rpc=free_port()))
        with served(Server([program, "-config", place / "influxdb.conf"], port, ready="/ping")) as server:
            ask(server, "CREATE USER admin WITH PASSWORD 'secret' WITH ALL PRIVILEGES")
            yield server


def ask(server, question):
    words = urllib.parse.urlencode({"q": question, "db": "plant", "epoch": "ns"}).encode()
    status, answer = server.ask("/query", words, headers={"Authorization": f"Basic {CREDENTIALS}"})
    equal(200, status, answer)
    return json.loads(answer)["results"][0].get("series", [])


def points(server):
    """Room, value and time of each point."""
    series = ask(server, 'SELECT room, value FROM temperature')
    return sorted((room, value, time) for time, room, value in series[0]["values"]) if series else []


def queue(server, credentials=CREDENTIALS):
    ask(server, "DROP DATABASE plant")
    ask(server, "CREATE DATABASE plant")
    return Example(
        "influxdb", {"http://influxdb.example.net:8086": server.url}, {"influxdb.credentials": credentials},
        {"max: 1000": "max: 100"},
    )


def test_lines(server):
    """the lines that begin the example write a point."""
    with queue(server) as example:
        example.follow_its_lines()
        equal([("attic", 21.5)], [point[:2] for point in points(server)])


def test_points(server):
    """250 points take three requests, and each is there once."""
    with queue(server) as example:
        rooms = ["attic", "cellar", r"living\ room"]
        payloads = [{"room": rooms[n % 3], "value": n + 0.25, "time": 10**18 + n} for n in range(250)]
        example.add(*payloads, sync="none")
        events = example.run("--limit", "10000", "--concurrency", "1")
        expected = sorted((p["room"].replace("\\", ""), p["value"], p["time"]) for p in payloads)
        equal(expected, points(server))
        equal(250, sum(event["event"] == "attempt" for event in events))


def test_partial(server):
    """of a batch the point that cannot be parsed and the one of another type fail, and the others are there once."""
    with queue(server) as example:
        example.add({"room": "attic", "value": 1.5, "time": 1})
        example.run()
        payloads = [{"room": "attic", "value": 2.5, "time": n} for n in range(2, 12)]
        payloads[3]["value"] = "warm"
        payloads[7]["value"] = '"text"'
        example.add(*payloads)
        example.run(status=1)
        equal([400, 400], [row["lastStatus"] for row in example.rows()])
        example.is_in(failed=2)
        equal([1, 2, 3, 4, 6, 7, 8, 10, 11], [point[2] for point in points(server)])


def test_busy(server):
    """503, the words of a server that has too many writes, is tried again."""
    with queue(server) as example:
        example.add({"room": "attic", "value": 1, "time": 1})
        # A write that does not end takes the one place, and the next one waits a tenth of a second for it.

        def taken():
            """Whether the place is: by a write of nothing."""
            status, _ = server.ask("/write?db=plant", b"", headers={"Authorization": f"Basic {CREDENTIALS}"})
            return status == 503

        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            head = f"POST /write?db=plant HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {CREDENTIALS}\r\n"
            slow.sendall((head + "Content-Length: 100\r\n\r\ntemp").encode())
            until(taken)
            example.run(status=75)
        equal(503, example.only("deferred")["lastStatus"])
        until(lambda: not taken())
        example.run("--now")
        equal([("attic", 1, 1)], points(server))


def test_database(server):
    """a database that is not there holds, and takes the points when it is made."""
    with queue(server) as example:
        ask(server, "DROP DATABASE plant")
        example.add(*({"room": "attic", "value": n, "time": n} for n in range(1, 4)))
        example.run(status=69)
        example.is_in(held=3)
        ask(server, "CREATE DATABASE plant")
        example.drainq("release", "--all")
        example.run()
        equal(3, len(points(server)))


def test_password(server):
    """a wrong password holds, until the file has the right one."""
    with queue(server, base64.b64encode(b"admin:wrong").decode()) as example:
        example.add(*({"room": "attic", "value": n, "time": n} for n in range(1, 4)))
        example.run(status=69)
        example.is_in(held=3)
        example.secret("influxdb.credentials", CREDENTIALS)
        example.run()
        equal(3, len(points(server)))
