"""emulated: Slack's incoming webhooks

From https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks (errors) and
https://docs.slack.dev/apis/web-api/rate-limits (one message a second, short bursts).
"""

from emulation import Answer, Bucket, Emulation
from kit import Example, equal


class Slack(Emulation):
    def __init__(self, bucket=None):
        super().__init__()
        self.messages, self.archived, self.bucket = [], False, bucket

    def answer(self, request):
        if request.path != "/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX":
            return Answer(404, "no_service")
        if request.method != "POST":
            return Answer(405, "")
        if self.bucket and (seconds := self.bucket.wait()):
            return Answer(429, "rate_limited", {"Retry-After": int(seconds) + 1})
        message = request.json()
        if request.media_type != "application/json" or not isinstance(message, dict):
            return Answer(400, "invalid_payload")
        if not any(message.get(key) for key in ["text", "blocks", "attachments"]):
            return Answer(400, "no_text")
        if self.archived:
            return Answer(410, "channel_is_archived")
        self.messages.append(message["text"])
        return Answer(200, "ok")


def queue(slack, token="XXXXXXXXXXXXXXXXXXXXXXXX"):
    return Example(
        "slack", {"https://hooks.slack.com": slack.url}, {"slack.webhook": token}, {'"1/s"': '"100/s"'}
    )


def test_lines():
    """the lines that begin the example post a message."""
    with Slack() as slack, queue(slack) as example:
        example.follow_its_lines()
        equal(["The backup of db1 is done"], slack.messages)


def test_limit():
    """messages stay in order through a rate limit, and nobody is charged for waiting."""
    with Slack(Bucket(3, 1)) as slack, queue(slack) as example:
        texts = [f"<{n}> & \"söme\"" for n in range(5)]
        example.add(*({"text": text} for text in texts))
        events = example.run("--until-empty", "--max-time", "20s")
        equal(texts, slack.messages)
        assert any(event.get("status") == 429 for event in events), events
        assert all(event["attempts"] <= 1 for event in events if event["event"] == "attempt"), events


def test_payload():
    """a message that Slack cannot read fails, and the one behind it is posted."""
    with Slack() as slack, queue(slack) as example:
        example.add({"txt": "a slip"}, {"text": "good"})
        example.run(status=1)
        example.is_in(failed=1)
        equal(400, example.only("failed")["lastStatus"])
        equal(["good"], slack.messages)


def test_archived():
    """an archived channel holds all messages, and after its return they are posted."""
    with Slack() as slack, queue(slack) as example:
        slack.archived = True
        example.add({"text": "1"}, {"text": "2"})
        example.run(status=69)
        example.is_in(held=2)
        equal(1, len(slack.received), "requests to an archived channel")
        slack.archived = False
        example.drainq("release", "--all")
        example.run()
        equal(["1", "2"], slack.messages)


def test_webhook():
    """a webhook that is not there holds until its file changes."""
    with Slack() as slack, queue(slack, token="another") as example:
        example.add({"text": "1"})
        example.run(status=69)
        example.is_in(held=1)
        example.secret("slack.webhook", "XXXXXXXXXXXXXXXXXXXXXXXX")
        example.run()
        equal(["1"], slack.messages)
