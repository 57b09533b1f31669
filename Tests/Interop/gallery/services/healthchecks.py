"""emulated: Healthchecks' pings

From https://healthchecks.io/docs/http_api/: with a UUID in the address what is not found and what is too much is 200,
and the body says it.
"""

import re

from emulation import Answer, Bucket, Emulation
from kit import Example, equal

CHECK = "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278"


class Healthchecks(Emulation):
    def __init__(self, bucket=None):
        super().__init__()
        self.pings, self.bucket = [], bucket

    def answer(self, request):
        match = re.fullmatch(r"/([0-9a-f-]{36})(?:/(fail|start|log|\d{1,3}))?", request.path)
        if not match or int(match[2] if (match[2] or "").isdigit() else 0) > 255:
            return Answer(400, "invalid url format")
        if request.method not in ("GET", "HEAD", "POST"):
            return Answer(405, "")
        if match[1] != CHECK:
            return Answer(200, "OK (not found)")
        if self.bucket and self.bucket.wait():
            return Answer(200, "OK (rate limited)")
        self.pings.append((match[2], request.body[:100_000].decode()))
        return Answer(200, "OK")


def queue(healthchecks):
    origins = {"https://hc-ping.com": healthchecks.url}
    return Example("healthchecks", origins, replacing={'base: "5s"': 'base: "200ms"'})


def ping(exit, log="", check=CHECK):
    return {"check": check, "exit": exit, "log": log}


def test_lines():
    """the lines that begin the example tell of a job."""
    with Healthchecks() as healthchecks, queue(healthchecks) as example:
        example.follow_its_lines()
        equal([("0", "12 files")], healthchecks.pings)


def test_order():
    """the pings of a check arrive in order, through a rate limit that says 200, with the log as it is."""
    with Healthchecks(Bucket(3, 1)) as healthchecks, queue(healthchecks) as example:
        logs = [f"line {n}\n\"öl\" {{}}" for n in range(5)]
        example.add(*(ping(n, log) for n, log in enumerate(logs)))
        example.run("--until-empty", "--max-time", "30s")
        equal([(str(n), log) for n, log in enumerate(logs)], healthchecks.pings)


def test_unknown():
    """a check that is not there fails although Healthchecks says 200, and so does an address that is none."""
    with Healthchecks() as healthchecks, queue(healthchecks) as example:
        example.add(ping(0, check="00000000-d4c7-4bf5-bcc8-b8d8a82ea278"), ping(0, check="backup"), ping(0))
        example.run(status=1)
        equal({200, 400}, {row["lastStatus"] for row in example.rows()})
        example.is_in(failed=2)
        equal(1, len(healthchecks.pings))


def test_another_page():
    """a page that is not Healthchecks' is no delivery."""
    with Healthchecks() as healthchecks, queue(healthchecks) as example:
        healthchecks.script = [Answer(200, "<html>Sign in</html>")]
        example.add(ping(0))
        example.run(status=75)
        equal([], healthchecks.pings)
        example.run("--now")
        equal([("0", "")], healthchecks.pings)


def test_late():
    """a ping that could not be sent in time is not sent any more."""
    with Healthchecks() as healthchecks, queue(healthchecks) as example:
        healthchecks.script = [Answer(503, "")]
        example.add(ping(0))
        example.run(status=75)
        example.configuration = example.configuration.replace('expiresAfter: "10m"', 'expiresAfter: "1ms"')
        example.configure()
        example.run("--now", status=1)
        example.is_in(failed=1)
        equal([], healthchecks.pings)
