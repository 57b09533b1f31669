"""emulated: Grafana Loki's push API

From https://grafana.com/docs/loki/latest/reference/loki-http-api/#ingest-logs and
https://grafana.com/docs/loki/latest/operations/request-validation-rate-limits/ (the words of 400 and 429). Debian's
package loki is another program.
"""

import time

from emulation import Answer, Bucket, Emulation
from kit import Example, equal

WEEK = 7 * 86_400


class Loki(Emulation):
    takes_gzip = True

    def __init__(self, bucket=None):
        super().__init__()
        self.lines, self.bucket = set(), bucket

    def answer(self, request):
        if request.method != "POST" or request.path != "/loki/api/v1/push":
            return Answer(404, "404 page not found\n")
        if request.media_type != "application/json":
            return Answer(400, "snappy: corrupt input\n")
        if self.bucket and self.bucket.wait():
            return Answer(429, "Ingestion rate limit exceeded for user fake (limit: 4194304 bytes/sec)")
        body, refused = request.json(), []
        if not isinstance(body, dict):
            return Answer(400, "couldn't parse push request: Value is not an object\n")
        for stream in body["streams"]:
            labels = tuple(sorted(stream["stream"].items()))
            for nanoseconds, line in stream["values"]:
                if not nanoseconds.isdigit():
                    return Answer(400, "couldn't parse push request: invalid timestamp\n")
                if int(nanoseconds) / 1e9 < time.time() - WEEK:
                    refused.append(f"entry for stream '{labels}' has timestamp too old: {nanoseconds}")
                else:
                    self.lines.add((labels, nanoseconds, line))
        return Answer(400, "\n".join(refused)) if refused else Answer(204)


def queue(loki):
    origins = {"http://loki.example.net:3100": loki.url}
    return Example("loki", origins, replacing={'base: "1s"': 'base: "200ms"', "max: 500": "max: 100"})


def entry(line, age=0):
    return {"time": str(time.time_ns() - age * 10**9), "line": line}


def test_lines():
    """the lines that begin the example push a line."""
    with Loki() as loki, queue(loki) as example:
        example.follow_its_lines()
        equal(["started"], [line for _, _, line in loki.lines])


def test_batches():
    """250 lines take three requests, through a rate limit that names no time, each line once."""
    with Loki(Bucket(2, 1)) as loki, queue(loki) as example:
        example.add(*(entry(f"{n} \"é\"\t{{}}") for n in range(250)), sync="none")
        events = example.run("--limit", "10000", "--until-empty", "--max-time", "30s")
        equal(250, len(loki.lines))
        equal({"gzip"}, {request.headers["Content-Encoding"] for request in loki.received})
        # What was deferred together went together again: a limit is not met by one request for each line.
        assert len(loki.received) < 12, len(loki.received)
        assert any(event.get("status") == 429 for event in events), events


def test_old():
    """of a batch the line that is too old fails, and Loki has the others once."""
    with Loki() as loki, queue(loki) as example:
        ids = example.add(entry("1"), entry("2"), entry("old", age=2 * WEEK), entry("4"))
        example.run(status=1)
        example.is_in(failed=1)
        equal(ids[2], example.only("failed")["id"])
        equal(["1", "2", "4"], sorted(line for _, _, line in loki.lines))


def test_down():
    """an ingester that is not ready is waited for."""
    with Loki() as loki, queue(loki) as example:
        loki.script = [Answer(503, "at least 1 live replicas required, could only find 0\n")]
        example.add(entry("1"))
        example.run(status=75)
        example.run("--now")
        equal(1, len(loki.lines))
