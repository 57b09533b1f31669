"""emulated: Telegram's bots

From https://core.telegram.org/bots/api#making-requests (`ok`, `error_code`, `description`, `parameters.retry_after`)
and https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
"""

from emulation import Answer, Emulation
from kit import Example, equal

TOKEN = "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"


def error(status, description, **parameters):
    more = {"parameters": parameters} if parameters else {}
    return Answer(status, {"ok": False, "error_code": status, "description": description} | more)


class Telegram(Emulation):
    def __init__(self):
        super().__init__()
        self.messages, self.blocked, self.is_revoked = [], set(), False

    def answer(self, request):
        # The colon of the token stands as it is: RFC 3986 allows it.
        if request.target != f"/bot{TOKEN}/sendMessage":
            return error(404, "Not Found")
        if self.is_revoked:
            return error(401, "Unauthorized")
        message = request.json()
        if request.media_type != "application/json" or not isinstance(message, dict):
            return error(400, "Bad Request: message text is empty")
        if message.get("chat_id") in self.blocked:
            return error(403, "Forbidden: bot was blocked by the user")
        if not message.get("text"):
            return error(400, "Bad Request: message text is empty")
        self.messages.append((message["chat_id"], message["text"]))
        return Answer(200, {"ok": True, "result": {"message_id": len(self.messages)}})


def queue(telegram):
    return Example("telegram", {"https://api.telegram.org": telegram.url}, {"telegram.token": TOKEN})


def test_lines():
    """the lines that begin the example send a message, and the colon of the token stays one."""
    with Telegram() as telegram, queue(telegram) as example:
        example.follow_its_lines()
        equal([(42, "The backup of db1 is done")], telegram.messages)


def test_limit():
    """too many messages wait for the time in the body, uncharged."""
    with Telegram() as telegram, queue(telegram) as example:
        telegram.script = [error(429, "Too Many Requests: retry after 1", retry_after=1)]
        example.add({"chat_id": 1, "text": "a"})
        events = example.run("--until-empty", "--max-time", "20s")
        equal([(1, "a")], telegram.messages)
        assert all(event["attempts"] <= 1 for event in events if event["event"] == "attempt"), events


def test_blocked():
    """a user who has blocked the bot fails alone, and so does an empty text."""
    with Telegram() as telegram, queue(telegram) as example:
        telegram.blocked = {1}
        example.add({"chat_id": 1, "text": "a"}, {"chat_id": 2, "text": ""}, {"chat_id": 3, "text": "c"})
        example.run(status=1)
        example.is_in(failed=2)
        equal([(3, "c")], telegram.messages)


def test_token():
    """a token that was revoked holds all messages, and one that another server takes for none does not deliver."""
    with Telegram() as telegram, queue(telegram) as example:
        telegram.is_revoked = True
        example.add({"chat_id": 1, "text": "a"}, {"chat_id": 2, "text": "b"})
        example.run(status=69)
        example.is_in(held=2)
    with Telegram() as telegram, queue(telegram) as example:
        telegram.script = [Answer(200, "<html>Welcome to the hotel</html>", media_type="text/html")]
        example.add({"chat_id": 1, "text": "a"})
        example.run(status=75)
        example.is_in(deferred=1)
