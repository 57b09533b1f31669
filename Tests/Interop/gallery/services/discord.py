"""emulated: Discord's webhooks

From https://discord.com/developers/docs/resources/webhook#execute-webhook and
https://discord.com/developers/docs/topics/rate-limits (429 with retry_after in the body, X-RateLimit-* on each answer).
"""

import math
import time

from emulation import Answer, Bucket, Emulation
from kit import Example, equal


class Discord(Emulation):
    def __init__(self, bucket=None):
        super().__init__()
        self.messages, self.bucket, self.exists = [], bucket, True

    def answer(self, request):
        if request.path != "/api/webhooks/100000000000000000/token-of-68-characters" or not self.exists:
            return Answer(404, {"message": "Unknown Webhook", "code": 10015})
        limit = {"X-RateLimit-Limit": 5, "X-RateLimit-Bucket": "80c17d2f203122d936070c88c8d10f33"}
        if self.bucket and (seconds := self.bucket.wait()):
            limit |= {"X-RateLimit-Remaining": 0, "X-RateLimit-Reset": f"{time.time() + seconds:.3f}"}
            limit |= {"X-RateLimit-Reset-After": f"{seconds:.3f}", "X-RateLimit-Scope": "user"}
            limit |= {"Retry-After": math.ceil(seconds)}
            body = {"message": "You are being rate limited.", "retry_after": round(seconds, 3), "global": False}
            return Answer(429, body, limit)
        message = request.json()
        if request.media_type != "application/json" or not isinstance(message, dict):
            return Answer(400, {"message": "The request body contains invalid JSON.", "code": 50109}, limit)
        content = message.get("content")
        if not content and not message.get("embeds"):
            return Answer(400, {"message": "Cannot send an empty message", "code": 50006}, limit)
        if len(content or "") > 2000:
            errors = {"content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH"}]}}
            return Answer(400, {"message": "Invalid Form Body", "code": 50035, "errors": errors}, limit)
        self.messages.append(content)
        if request.query.get("wait") == "true":
            return Answer(200, {"id": str(len(self.messages)), "content": content}, limit)
        return Answer(204, None, limit)


def queue(discord):
    return Example("discord", {"https://discord.com": discord.url}, {"discord.webhook": "token-of-68-characters"})


def test_lines():
    """the lines that begin the example post a message."""
    with Discord() as discord, queue(discord) as example:
        example.follow_its_lines()
        equal(["The backup of db1 is done"], discord.messages)


def test_limit():
    """the fraction of a second in the body is waited for, and no attempt is charged."""
    with Discord(Bucket(2, 0.6)) as discord, queue(discord) as example:
        example.add(*({"content": str(n)} for n in range(5)))
        start = time.monotonic()
        events = example.run("--until-empty", "--max-time", "20s")
        equal([str(n) for n in range(5)], discord.messages)
        attempts = [event for event in events if event["event"] == "attempt"]
        assert any(event.get("status") == 429 for event in attempts), attempts
        assert all(event["attempts"] <= 1 for event in attempts), attempts
        # Two waits: the header would have made each a second.
        assert time.monotonic() - start < 10


def test_content():
    """an empty message and one that is too long fail, and the good one is posted."""
    with Discord() as discord, queue(discord) as example:
        example.add({"content": ""}, {"content": "x" * 2001}, {"content": "good"})
        example.run(status=1)
        example.is_in(failed=2)
        equal(["good"], discord.messages)


def test_webhook():
    """a webhook that was deleted holds all messages after one request."""
    with Discord() as discord, queue(discord) as example:
        discord.exists = False
        example.add({"content": "1"}, {"content": "2"})
        example.run(status=69)
        example.is_in(held=2)
        equal(1, len(discord.received), "requests to a webhook that is gone")
