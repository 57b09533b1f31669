"""real: Prometheus' Pushgateway, Debian's package"""

import contextlib
import json

from debian import Server, directory, free_port, served, unpacked
from kit import Example, equal

# admin:test, from the documentation of Prometheus' exporter-toolkit.
PASSWORD = "$2b$12$hNf2lSsxfm0.i4a.1kVpSOVyBCfIB51VRjgBUyv6kdnyTlgWj81Ay"


@contextlib.contextmanager
def server():
    program = unpacked("pushgateway", "prometheus-pushgateway") / "usr/bin/prometheus-pushgateway"
    port = free_port()
    words = [program, f"--web.listen-address=127.0.0.1:{port}", "--persistence.file=", "--web.enable-admin-api"]
    with directory("pushgateway") as place:
        (place / "web.yml").write_text(f"basic_auth_users: {{ admin: '{PASSWORD}' }}\n")
        server = Server(words, port, ready="/-/ready")
        server.guarded = [*words, f"--web.config.file={place / 'web.yml'}"]
        with served(server):
            yield server


def queue(server):
    server.ask("/api/v1/admin/wipe", method="PUT")
    return Example("pushgateway", {"http://pushgateway.example.net:9091": server.url})


def values(server, name="job_last_success_bytes"):
    """The value of each instance."""
    found = {}
    for group in json.loads(server.ask("/api/v1/metrics")[1])["data"]:
        for metric in group.get(name, {"metrics": []})["metrics"]:
            found[metric["labels"]["instance"]] = float(metric["value"])
    return found


def test_lines(server):
    """the lines that begin the example push what a job came to."""
    with queue(server) as example:
        example.follow_its_lines()
        equal({"db1": 123456.0}, values(server))


def test_newest(server):
    """of ten pushes of each job and host the newest is there, and took one request."""
    with queue(server) as example:
        example.add(*({"job": "backup", "host": f"db {n % 3}", "end": 1, "bytes": n} for n in range(30)))
        events = example.run()
        equal({"db 0": 27.0, "db 1": 28.0, "db 2": 29.0}, values(server))
        equal(3, sum(event["event"] == "attempt" for event in events), "requests")


def test_refused(server):
    """a value that is no number fails, and the push behind it arrives."""
    with queue(server) as example:
        example.add({"job": "backup", "host": "db1", "end": "yesterday", "bytes": 1})
        example.add({"job": "backup", "host": "db2", "end": 1, "bytes": 2})
        example.run(status=1)
        example.is_in(failed=1)
        equal(400, example.only("failed")["lastStatus"])
        equal({"db2": 2.0}, values(server))


def test_inconsistent(server):
    """a push that disagrees with another group fails in the words of the Pushgateway."""
    with queue(server) as example:
        body = b"# TYPE job_last_success_bytes counter\njob_last_success_bytes 1\n"
        equal(200, server.ask("/metrics/job/other", body, "PUT")[0])
        example.add({"job": "backup", "host": "db1", "end": 1, "bytes": 1})
        example.run(status=1)
        row = example.only("failed")
        equal(400, row["lastStatus"])
        assert "inconsistent" in example.drainq("show", row["id"])


def test_outage(server):
    """an outage defers, and after it the newest value arrives."""
    with queue(server) as example:
        server.stop()
        example.add({"job": "backup", "host": "db1", "end": 1, "bytes": 1})
        example.run(status=75)
        example.is_in(deferred=1)
        example.add({"job": "backup", "host": "db1", "end": 1, "bytes": 2})
        server.start()
        example.run("--now")
        example.is_in()
        equal({"db1": 2.0}, values(server))


def test_password(server):
    """where a password is asked for, nothing is lost: all of it is held."""
    with queue(server) as example:
        server.stop()
        server.command, open_to_all = [str(word) for word in server.guarded], server.command
        server.ready, ready = None, server.ready
        try:
            server.start()
            example.add(*({"job": "backup", "host": f"db{n}", "end": 1, "bytes": 1} for n in range(3)))
            example.run(status=69)
            example.is_in(held=3)
        finally:
            server.stop()
            server.command, server.ready = open_to_all, ready
        server.start()
        example.drainq("release", "--all")
        example.run()
        equal(3, len(values(server)))
