"""emulated: Twilio's messages

From https://www.twilio.com/docs/messaging/api/message-resource and https://www.twilio.com/docs/api/errors (21211 is no
number, 21610 has unsubscribed, 20003 is no credential, 20429 is too many requests).
"""

import base64
import urllib.parse

from emulation import Answer, Emulation
from kit import Example, equal

ACCOUNT = "AC00000000000000000000000000000000"


def error(status, code, message):
    return Answer(status, {"code": code, "message": message, "more_info": "https://…", "status": status})


class Twilio(Emulation):
    def __init__(self):
        super().__init__()
        self.messages, self.token = [], "t0ken:with colon"

    def answer(self, request):
        basic = base64.b64encode(f"{ACCOUNT}:{self.token}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {basic}":
            return error(401, 20003, "Authenticate")
        if request.path != f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json":
            return error(404, 20404, "The requested resource was not found")
        if request.media_type != "application/x-www-form-urlencoded":
            return error(400, 21603, "A 'From' phone number is required.")
        form = dict(urllib.parse.parse_qsl(request.body.decode(), strict_parsing=True, keep_blank_values=True))
        if not form.get("To", "").startswith("+"):
            return error(400, 21211, "The 'To' number is not a valid phone number.")
        if form["To"] == "+1":
            return error(400, 21610, "Attempt to send to unsubscribed recipient")
        if "MediaUrl" in form and not form["MediaUrl"].startswith("http"):
            return error(400, 21620, "Invalid media URL(s)")
        self.messages.append((form["To"], form["Body"], form.get("MediaUrl")))
        return Answer(201, {"sid": f"SM{len(self.messages)}", "status": "queued"})


def queue(twilio):
    return Example("twilio", {"https://api.twilio.com": twilio.url}, {"twilio.token": twilio.token})


def test_lines():
    """the lines that begin the example send a message."""
    with Twilio() as twilio, queue(twilio) as example:
        example.follow_its_lines()
        equal([("+4915112345678", "Your order is on its way", None)], twilio.messages)


def test_form():
    """texts arrive as they are, and a picture only where there is one."""
    with Twilio() as twilio, queue(twilio) as example:
        example.add({"to": "+2", "text": "a & b=c + é", "media": "https://a.example/x?y=1&z"}, {"to": "+3", "text": "%"})
        example.run()
        equal({("+2", "a & b=c + é", "https://a.example/x?y=1&z"), ("+3", "%", None)}, set(twilio.messages))


def test_limit():
    """too many requests are tried again."""
    with Twilio() as twilio, queue(twilio) as example:
        twilio.script = [error(429, 20429, "Too Many Requests")]
        example.add({"to": "+2", "text": "a"})
        example.run(status=75)
        example.is_in(deferred=1)
        example.run("--now", status=None)
        example.drainq("release", "--all", status=None)
        example.run("--now", status=None)
        equal([("+2", "a", None)], twilio.messages)


def test_refused():
    """a number that is none and one that has unsubscribed fail; a wrong token holds."""
    with Twilio() as twilio, queue(twilio) as example:
        example.add({"to": "2", "text": "a"}, {"to": "+1", "text": "b"}, {"to": "+3", "text": "c"})
        example.run(status=1)
        example.is_in(failed=2)
        equal([("+3", "c", None)], twilio.messages)
    with Twilio() as twilio, queue(twilio) as example:
        example.secret("twilio.token", "old")
        example.add({"to": "+2", "text": "a"}, {"to": "+3", "text": "b"})
        example.run(status=69)
        example.is_in(held=2)
