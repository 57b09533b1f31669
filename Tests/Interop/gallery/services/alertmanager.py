"""real: Prometheus' Alertmanager, Debian's package"""

import contextlib
import json

from debian import Server, directory, free_port, served, unpacked
from kit import Example, equal


@contextlib.contextmanager
def server():
    unpacked_at = unpacked("alertmanager", "prometheus-alertmanager")
    port = free_port()
    with directory("alertmanager") as place:
        (place / "alertmanager.yml").write_text("route: { receiver: nobody }\nreceivers: [{ name: nobody }]\n")
        # It reads its templates from /usr/share, wherever it is.
        program = f'exec {unpacked_at}/usr/bin/prometheus-alertmanager "$@"'
        bind = f"mount --bind {unpacked_at}/usr/share /usr/share && {program}"
        words = ["unshare", "--map-root-user", "--mount", "sh", "-c", bind, "alertmanager"]
        words += [f"--config.file={place / 'alertmanager.yml'}", f"--storage.path={place}"]
        words += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
        with served(Server(words, port, ready="/-/ready")) as server:
            yield server


def alerts(server):
    return json.loads(server.ask("/api/v2/alerts")[1])


def summaries(server, name):
    found = [alert for alert in alerts(server) if alert["labels"]["alertname"] == name]
    return sorted(alert["annotations"]["summary"] for alert in found)


def queue(server):
    return Example("alertmanager", {"http://alertmanager.example.net:9093": server.url})


def alert(name, host, summary):
    return {"name": name, "host": host, "summary": summary}


def test_lines(server):
    """the lines that begin the example raise an alert."""
    with queue(server) as example:
        example.follow_its_lines()
        equal(["exit status 2"], summaries(server, "BackupFailed"))


def test_alerts(server):
    """120 alerts take three requests, and what is raised twice is one alert."""
    with queue(server) as example:
        texts = [f"{n:03} \"ü\"\n" for n in range(120)]
        for _ in range(2):
            example.add(*(alert("Many", f"db{n}", text) for n, text in enumerate(texts)))
            example.run("--limit", "1000")
        equal(texts, summaries(server, "Many"))


def test_refused(server):
    """of a batch the alert without a label fails, and the others are raised."""
    with queue(server) as example:
        payloads = [alert("Partly", f"db{n}", str(n)) for n in range(5)]
        ids = example.add(*payloads[:2], alert("", "", "nothing"), *payloads[2:])
        example.run(status=1)
        example.is_in(failed=1)
        equal(ids[2], example.only("failed")["id"])
        equal(["0", "1", "2", "3", "4"], summaries(server, "Partly"))


def test_outage(server):
    """an outage defers, and what was not told within the hour is not told any more."""
    with queue(server) as example:
        server.stop()
        example.add(alert("Outage", "db1", "1"))
        example.run(status=75)
        example.is_in(deferred=1)
        server.start()
        example.run("--now")
        equal(["1"], summaries(server, "Outage"))
        example.configuration = example.configuration.replace('expiresAfter: "1h"', 'expiresAfter: "1ms"')
        example.configure()
        example.add(alert("Late", "db1", "1"))
        example.run(status=1)
        equal([], summaries(server, "Late"))
