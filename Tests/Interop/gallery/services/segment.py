"""emulated: Segment's tracking API

From https://segment.com/docs/connections/sources/catalog/libraries/server/http-api (batch: 500 KB, 32 KB an event, Basic
authentication with the write key, messageId against duplicates).
"""

import base64

from emulation import Answer, Emulation
from kit import Example, equal


class Segment(Emulation):
    def __init__(self):
        super().__init__()
        self.events, self.key = {}, "wk_1"

    def answer(self, request):
        basic = base64.b64encode(f"{self.key}:".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {basic}":
            return Answer(401, {"success": False, "message": "invalid write key"})
        if request.target != "/v1/batch" or request.media_type != "application/json":
            return Answer(404, "not found")
        asked = request.json()
        if not asked or len(request.body) > 500_000:
            return Answer(400, {"success": False, "message": "malformed JSON or too large"})
        for event in asked["batch"]:
            if len(str(event)) > 32_000:
                return Answer(400, {"success": False, "message": "Exceeded maximum size of event"})
        for event in asked["batch"]:
            self.events.setdefault(event["messageId"], event)
        return Answer(200, {"success": True})


def queue(segment, key="wk_1"):
    return Example("segment", {"https://api.segment.io": segment.url}, {"segment.key": key})


def users(count):
    return [{"user": f"u{n}", "properties": {"n": n, "é": '"'}} for n in range(count)]


def test_lines():
    """the lines that begin the example track an event."""
    with Segment() as segment, queue(segment) as example:
        example.follow_its_lines()
        [event] = segment.events.values()
        equal(("track", "u1", "upgrade", {"plan": "pro"}), tuple(event[k] for k in ("type", "userId", "event", "properties")))


def test_batches():
    """250 events take three requests, and one whose answer was lost counts once; properties may be missing."""
    with Segment() as segment, queue(segment) as example:

        def lose(request):
            segment.answer(request)
            return Answer(None)

        segment.script = [lose]
        ids = example.add(*users(249), {"user": "plain"}, type="seen")
        example.run("--limit", "1000", "--concurrency", "1", status=75)
        example.run("--limit", "1000", "--now")
        equal(set(ids), set(segment.events))
        assert len(segment.received) <= 4, len(segment.received)
        equal([False], ["properties" in event for event in segment.events.values() if event["userId"] == "plain"])


def test_refused():
    """an event that is too large fails alone; a wrong write key holds."""
    with Segment() as segment, queue(segment) as example:
        example.add(*users(3), {"user": "big", "properties": {"x": "y" * 40_000}})
        example.run(status=1)
        example.is_in(failed=1)
        equal(3, len(segment.events))
    with Segment() as segment, queue(segment, "wk_old") as example:
        example.add(*users(3))
        example.run(status=69)
        example.is_in(held=3)


def test_temporary():
    """too many requests, an outage and a page of another server are tried again."""
    for answer in (Answer(429, "", {"Retry-After": 1}), Answer(503), Answer(200, {"success": False}), Answer(200, "<html>")):
        with Segment() as segment, queue(segment) as example:
            segment.script = [answer]
            example.add(*users(2))
            example.run(status=75)
            example.is_in(deferred=2)
            example.run("--now", "--wait", "5s", "--until-empty", "--max-time", "20s")
            equal(2, len(segment.events))
