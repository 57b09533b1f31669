"""emulated: Datadog's log intake

From https://docs.datadoghq.com/api/latest/logs (202 with {}, 5 MB and 1,000 lines a request, 1 MB a line; 400, 401, 403,
408, 413, 429, 5xx).
"""

from emulation import Answer, Emulation
from kit import Example, equal


def errors(status, detail):
    return Answer(status, {"errors": [{"status": str(status), "title": "Error", "detail": detail}]})


class Datadog(Emulation):
    takes_gzip = True

    def __init__(self):
        super().__init__()
        self.lines = []

    def answer(self, request):
        if request.headers.get("DD-API-KEY") != "key1":
            return errors(403, "Forbidden")
        if request.target != "/api/v2/logs" or request.media_type != "application/json":
            return errors(400, "Bad Request")
        lines = request.json()
        if not isinstance(lines, list) or len(lines) > 1000:
            return errors(400, "Bad Request")
        if len(request.body) > 5_000_000 or any(len(line["message"]) > 1_000_000 for line in lines):
            return errors(413, "Payload Too Large")
        assert all(isinstance(line["timestamp"], int) and line["timestamp"] > 1.7e12 for line in lines), lines[0]
        self.lines += lines
        return Answer(202, {})


def queue(datadog, key="key1"):
    return Example("datadog", {"https://http-intake.logs.datadoghq.com": datadog.url}, {"datadog.key": key})


def lines(count):
    return [{"message": f'{n} "é"', "host": "db1"} for n in range(count)]


def test_lines():
    """the lines that begin the example log a line."""
    with Datadog() as datadog, queue(datadog) as example:
        example.follow_its_lines()
        [line] = datadog.lines
        equal(("The backup of db1 is done", "db1", "info", "drainq"),
              tuple(line[key] for key in ("message", "hostname", "status", "service")))


def test_batches():
    """1,500 lines take two compressed requests, each line once, without a host where it has none."""
    with Datadog() as datadog, queue(datadog) as example:
        ids = example.add(*lines(1499), {"message": "plain", "status": "warn"})
        example.run("--limit", "2000")
        equal(sorted(ids), sorted(line["operation"] for line in datadog.lines))
        equal(2, len(datadog.received), "requests")
        equal([("warn", False)], [(l["status"], "hostname" in l) for l in datadog.lines if l["message"] == "plain"])


def test_refused():
    """a line that is too large fails alone; a wrong key holds."""
    with Datadog() as datadog, queue(datadog) as example:
        example.add(*lines(3), {"message": "x" * 1_000_001})
        example.run(status=1)
        example.is_in(failed=1)
        equal(3, len(datadog.lines))
    with Datadog() as datadog, queue(datadog, "old") as example:
        example.add(*lines(3))
        example.run(status=69)
        example.is_in(held=3)


def test_temporary():
    """too many requests, a time-out of Datadog's and a page of another server are tried again."""
    for answer in (errors(429, "Too Many Requests"), errors(408, "Request Timeout"), Answer(200, "<html>", media_type="text/html")):
        with Datadog() as datadog, queue(datadog) as example:
            datadog.script = [answer]
            example.add(*lines(2))
            example.run(status=75)
            example.is_in(deferred=2)
