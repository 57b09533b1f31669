"""emulated: PagerDuty's Events API v2

From https://developer.pagerduty.com/docs/events-api-v2-overview (202 with status success, dedup_key) and its response
codes (400 invalid event, 429, 5xx).
"""

from emulation import Answer, Emulation
from kit import Example, equal


def invalid(*errors):
    return Answer(400, {"status": "invalid event", "message": "Event object is invalid", "errors": list(errors)})


class PagerDuty(Emulation):
    KEY = "0123456789abcdef0123456789abcdef"

    def __init__(self):
        super().__init__()
        self.incidents, self.log = {}, []

    def answer(self, request):
        if request.target != "/v2/enqueue" or request.media_type != "application/json":
            return Answer(404, "Not Found")
        event = request.json()
        if event is None:
            return invalid("JSON is malformed")
        if len(event["routing_key"]) != 32:
            return invalid("Length of 'routing_key' is incorrect (should be 32 characters)")
        if event["routing_key"] != self.KEY:
            return invalid("Invalid routing key")
        action, key = event["event_action"], event["dedup_key"]
        if action == "trigger":
            content = event["payload"]
            if content["severity"] not in ("critical", "warning", "error", "info"):
                return invalid("'payload.severity' is invalid (must be one of the following: …)")
            self.incidents.setdefault(key, content["summary"])
        elif action == "resolve":
            self.incidents.pop(key, None)
        self.log.append((action, key))
        return Answer(202, {"status": "success", "message": "Event processed", "dedup_key": key})


def queue(pagerduty, key=PagerDuty.KEY):
    return Example("pagerduty", {"https://events.pagerduty.com": pagerduty.url}, {"pagerduty.key": key})


def alarm(summary, **more):
    return {"summary": summary, "source": "db1"} | more


def test_lines():
    """the lines that begin the example open an incident and resolve it, in this order."""
    with PagerDuty() as pagerduty, queue(pagerduty) as example:
        example.follow_its_lines()
        equal([("trigger", "db1-backup"), ("resolve", "db1-backup")], pagerduty.log)


def test_once():
    """an alarm whose answer was lost is one incident, and its resolution does not overtake it."""
    with PagerDuty() as pagerduty, queue(pagerduty) as example:

        def lose(request):
            pagerduty.answer(request)
            return Answer(None)

        pagerduty.script = [lose]
        example.add(alarm('"é"'), type="trigger", key="k")
        example.add({}, type="acknowledge", key="k")
        example.run(status=75)
        equal({"k": '"é"'}, pagerduty.incidents)
        example.run("--now")
        equal(["trigger", "trigger", "acknowledge"], [action for action, _ in pagerduty.log])
        equal({"k": '"é"'}, pagerduty.incidents)


def test_refused():
    """an event that is none fails alone; an integration key that is none holds, and so does a torn one."""
    with PagerDuty() as pagerduty, queue(pagerduty) as example:
        example.add(alarm("a", severity="bad"), type="trigger", key="a")
        example.add(alarm("b", severity="info"), type="trigger", key="b")
        example.run(status=1)
        example.is_in(failed=1)
        equal({"b": "b"}, pagerduty.incidents)
    for key in ("f" * 32, "short"):
        with PagerDuty() as pagerduty, queue(pagerduty, key) as example:
            example.add(alarm("a"), type="trigger", key="a")
            example.add(alarm("b"), type="trigger", key="b")
            example.run(status=69)
            example.is_in(held=2)


def test_temporary():
    """too many events, an outage and a page of another server are tried again."""
    for answer in (Answer(429, "Too Many Requests"), Answer(502), Answer(200, "<html>", media_type="text/html")):
        with PagerDuty() as pagerduty, queue(pagerduty) as example:
            pagerduty.script = [answer]
            example.add(alarm("a"), type="trigger", key="a")
            example.run(status=75)
            example.is_in(deferred=1)
