"""emulated: Google Cloud Pub/Sub, publish

From https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.topics/publish,
https://cloud.google.com/pubsub/docs/reference/error-codes and https://cloud.google.com/pubsub/quotas.
"""

import base64
import json

from emulation import Answer, Emulation
from kit import Example, equal

GCLOUD = 'test "$*" = "auth print-access-token" && cat "$HOME/token"'


class PubSub(Emulation):
    def __init__(self):
        super().__init__()
        self.messages, self.topics = [], {"orders"}

    def answer(self, request):
        def refuse(code, status, message):
            return Answer(code, {"error": {"code": code, "message": message, "status": status}})

        if request.headers.get("Authorization") != "Bearer ya29.new":
            message = "Request had invalid authentication credentials. Expected OAuth 2 access token."
            return refuse(401, "UNAUTHENTICATED", message)
        topic = request.path.removeprefix("/v1/projects/example/topics/").removesuffix(":publish")
        if request.method != "POST" or topic not in self.topics:
            return refuse(404, "NOT_FOUND", f"Resource not found (resource={topic}).")
        body = request.json()
        if not isinstance(body, dict) or not 0 < len(body.get("messages", [])) <= 1000 or len(request.body) > 10**7:
            return refuse(400, "INVALID_ARGUMENT", "The value for message_count is too large or too small.")
        messages = []
        for message in body["messages"]:
            if not message.get("data") and not message.get("attributes"):
                return refuse(400, "INVALID_ARGUMENT", "One or more messages in the publish request is empty.")
            if any(len(value) > 1024 or not isinstance(value, str) for value in message["attributes"].values()):
                return refuse(400, "INVALID_ARGUMENT", "An attribute value is too long.")
            messages.append((message["attributes"]["id"], json.loads(base64.b64decode(message["data"], validate=True))))
        self.messages += messages
        return Answer(200, {"messageIds": [str(n) for n in range(len(messages))]})


def queue(pubsub, token="ya29.new"):
    origins = {"https://pubsub.googleapis.com": pubsub.url}
    example = Example("pubsub", origins, replacing={"max: 500": "max: 100"}, commands={"gcloud": GCLOUD})
    example.file("token", token.encode())
    return example


def test_lines():
    """the lines that begin the example publish two messages."""
    with PubSub() as pubsub, queue(pubsub) as example:
        example.follow_its_lines()
        equal([{"order": 1}, {"order": 2}], [payload for _, payload in pubsub.messages])


def test_batches():
    """250 messages take three requests, each message once, with its operation's id."""
    with PubSub() as pubsub, queue(pubsub) as example:
        ids = example.add(*({"order": n, "text": "\"é\" \\ \u0001"} for n in range(250)), sync="none")
        example.run("--limit", "10000")
        equal(sorted(ids), sorted(name for name, _ in pubsub.messages))
        equal(3, len(pubsub.received), "requests")


def test_large():
    """what one request may have counts the base64 of the messages and the envelope."""
    with PubSub() as pubsub, queue(pubsub) as example:
        example.configuration = example.configuration.replace('maxBytes: "9MB"', 'maxBytes: "90kB"')
        example.configure()
        example.add(*({"n": n, "text": "x" * 30_000} for n in range(4)))
        example.run()
        equal(4, len(pubsub.messages))
        equal(2, len(pubsub.received), "requests")


def test_token():
    """a token that has ended is asked for anew and sent again as the same attempt; one that stays bad holds."""
    with PubSub() as pubsub, queue(pubsub) as example:
        script = 'cat "$HOME/token"; printf ya29.new > "$HOME/token"'
        example.file("token", b"ya29.old")
        example.command("gcloud", script)
        example.add({"order": 1})
        events = example.run()
        equal(1, events[0]["attempts"])
        equal(1, len(pubsub.messages))
    with PubSub() as pubsub, queue(pubsub, token="ya29.old") as example:
        example.add({"order": 1}, {"order": 2})
        example.run(status=69)
        example.is_in(held=2)


def test_errors():
    """UNAVAILABLE is tried again, a topic that is not there holds, a message that is too long fails alone."""
    with PubSub() as pubsub, queue(pubsub) as example:
        unavailable = {"code": 503, "message": "The service is unavailable.", "status": "UNAVAILABLE"}
        pubsub.script = [Answer(503, {"error": unavailable})]
        example.add(*({"order": n} for n in range(5)))
        example.run(status=75)
        example.is_in(deferred=5)
        pubsub.topics = set()
        example.run("--now", status=69)
        example.is_in(held=5)
        pubsub.topics = {"orders"}
        example.drainq("release", "--all")
        refused = {"code": 400, "message": "Message failed schema validation.", "status": "INVALID_ARGUMENT"}
        bad = base64.b64encode(b'{"order": 3}')
        pubsub.script = [lambda request: Answer(400, {"error": refused}) if bad in request.body else None] * 20
        example.run("--now", status=1)
        example.is_in(failed=1)
        equal({0, 1, 2, 4}, {payload["order"] for _, payload in pubsub.messages})
        equal(4, len(pubsub.messages))
