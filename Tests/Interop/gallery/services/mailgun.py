"""emulated: Mailgun's messages

From https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages (200 with an id, 400 for an
address, 401 for a key, 404 for a domain, 429).
"""

import base64
import urllib.parse

from emulation import Answer, Emulation
from kit import Example, equal


class Mailgun(Emulation):
    def __init__(self):
        super().__init__()
        self.mails, self.is_active = [], True

    def answer(self, request):
        if request.headers.get("Authorization") != "Basic " + base64.b64encode(b"api:key-1").decode():
            return Answer(401, "Forbidden")
        if request.target != "/v3/mg.example.com/messages":
            return Answer(404, {"message": "Domain not found: mg.example.com"})
        if not self.is_active:
            return Answer(400, {"message": "Domain mg.example.com is not allowed to send: The domain is unverified"})
        form = dict(urllib.parse.parse_qsl(request.body.decode(), strict_parsing=True, keep_blank_values=True))
        if request.media_type != "application/x-www-form-urlencoded" or "@" not in form.get("to", ""):
            return Answer(400, {"message": "to parameter is not a valid address. please check documentation"})
        self.mails.append((form["to"], form["subject"], form["text"], form.get("html"), form["h:Message-Id"]))
        return Answer(200, {"id": "<1@mg.example.com>", "message": "Queued. Thank you."})


def queue(mailgun, key="key-1"):
    return Example("mailgun", {"https://api.mailgun.net": mailgun.url}, {"mailgun.key": key})


def mail(to, **more):
    return {"to": to, "subject": "a & b=ü", "text": "1 + 1 = 2\r\n%41"} | more


def test_lines():
    """the lines that begin the example send a mail."""
    with Mailgun() as mailgun, queue(mailgun) as example:
        example.follow_its_lines()
        equal([("ada@example.com", "Your order", "It is on its way.")], [sent[:3] for sent in mailgun.mails])


def test_form():
    """texts arrive as they are, HTML only where there is some, and each mail has the id of its operation."""
    with Mailgun() as mailgun, queue(mailgun) as example:
        ids = example.add(mail("a@x.example"), mail("b@x.example", html="<b>1 & 2</b>"))
        example.run()
        equal({("a@x.example", "a & b=ü", "1 + 1 = 2\r\n%41", None, f"<{ids[0]}@mg.example.com>"),
               ("b@x.example", "a & b=ü", "1 + 1 = 2\r\n%41", "<b>1 & 2</b>", f"<{ids[1]}@mg.example.com>")},
              set(mailgun.mails))


def test_refused():
    """an address that is none fails alone; a wrong key, a domain that may not send, and an unpaid bill hold."""
    with Mailgun() as mailgun, queue(mailgun) as example:
        example.add(mail("none"), mail("b@x.example"))
        example.run(status=1)
        example.is_in(failed=1)
        equal(1, len(mailgun.mails))
    with Mailgun() as mailgun, queue(mailgun, "old") as example:
        example.add(mail("a@x.example"), mail("b@x.example"))
        example.run(status=69)
        example.is_in(held=2)
    with Mailgun() as mailgun, queue(mailgun) as example:
        mailgun.is_active = False
        example.add(mail("a@x.example"), mail("b@x.example"))
        example.run(status=69)
        example.is_in(held=2)
    with Mailgun() as mailgun, queue(mailgun) as example:
        mailgun.script = [Answer(402, {"message": "Payment required"})] * 2
        example.add(mail("a@x.example"), mail("b@x.example"))
        example.run(status=69)
        example.is_in(held=2)


def test_temporary():
    """too many requests, an outage and a page of another server are tried again."""
    for answer in (Answer(429, {"message": "Too many requests"}), Answer(500), Answer(200, "<html>", media_type="text/html")):
        with Mailgun() as mailgun, queue(mailgun) as example:
            mailgun.script = [answer]
            example.add(mail("a@x.example"))
            example.run(status=75)
            example.is_in(deferred=1)
