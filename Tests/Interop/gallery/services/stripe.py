"""emulated: Stripe's payment intents

From https://docs.stripe.com/api/idempotent_requests (the first result of a key is saved, its 500 too; another body
with the same key is 400; a key in use is 409), https://docs.stripe.com/api/errors and
https://docs.stripe.com/error-low-level.
"""

import urllib.parse

from emulation import Answer, Emulation
from kit import Example, equal


def error(status, kind, message, headers=None, **more):
    return Answer(status, {"error": {"type": kind, "message": message} | more}, headers)


class Stripe(Emulation):
    def __init__(self):
        super().__init__()
        self.payments, self.saved, self.breaks, self.in_use = [], {}, False, set()

    def answer(self, request):
        if request.headers.get("Authorization") != "Bearer sk_test_1":
            return error(401, "invalid_request_error", "Invalid API Key provided: sk_test_*")
        if request.method != "POST" or request.path != "/v1/payment_intents":
            return error(404, "invalid_request_error", f"Unrecognized request URL ({request.method}: {request.path}).")
        key = request.headers.get("Idempotency-Key", "")
        if not 0 < len(key) <= 255:
            return error(400, "idempotency_error", "Idempotency keys have at most 255 characters.")
        if key in self.in_use:
            self.in_use.discard(key)
            fields = {"Stripe-Should-Retry": "true"}
            message = "There is currently another in-progress request using this Idempotent Key."
            return error(409, "idempotency_error", message, fields, code="idempotency_key_in_use")
        if key in self.saved:
            body, answer = self.saved[key]
            if body != request.body:
                message = "Keys for idempotent requests can only be used with the same parameters."
                return error(400, "idempotency_error", message)
            return Answer(answer.status, answer.body.decode(), answer.headers | {"Idempotent-Replayed": "true"})
        answer, is_saved = self.pay(request)
        if is_saved:
            self.saved[key] = request.body, answer
        return answer

    def pay(self, request):
        """The answer, and whether it is saved: what was refused before anything was done is not."""
        if request.media_type != "application/x-www-form-urlencoded":
            message = "Invalid request (check that your POST content type is right)."
            return error(400, "invalid_request_error", message), False
        form = dict(urllib.parse.parse_qsl(request.body.decode(), strict_parsing=True))
        if not form.get("amount", "").isdigit():
            message = f"Invalid integer: {form.get('amount')}"
            return error(400, "invalid_request_error", message, code="parameter_invalid_integer"), False
        if self.breaks:
            return error(500, "api_error", "An unknown error occurred."), True
        if form["payment_method"] == "pm_card_declined":
            return error(402, "card_error", "Your card was declined.", code="card_declined"), True
        self.payments.append((form["customer"], int(form["amount"]), form["metadata[operation]"]))
        return Answer(200, {"id": f"pi_{len(self.payments)}", "status": "succeeded"}), True


def queue(stripe, key="sk_test_1"):
    return Example("stripe", {"https://api.stripe.com": stripe.url}, {"stripe.key": key})


def payment(amount, customer="cus_1", method="pm_1"):
    return {"customer": customer, "method": method, "amount": amount, "currency": "eur"}


def test_lines():
    """the lines that begin the example make a payment."""
    with Stripe() as stripe, queue(stripe) as example:
        example.follow_its_lines()
        equal([("cus_1", 1200)], [made[:2] for made in stripe.payments])


def test_once():
    """a payment whose answer was lost is made once, and the second answer is the first one's."""
    with Stripe() as stripe, queue(stripe) as example:

        def lost(request):
            stripe.answer(request)
            return Answer(504, "upstream request timeout")

        stripe.script = [lost]
        ids = example.add(payment(1), payment(2, customer="cus_2 & söhne"))
        example.run(status=75)
        example.run("--now")
        example.is_in()
        equal(sorted(ids), sorted(made[2] for made in stripe.payments))
        equal({"cus_1", "cus_2 & söhne"}, {made[0] for made in stripe.payments})


def test_waiting():
    """a rate limit and a key that is in use are tried again."""
    with Stripe() as stripe, queue(stripe) as example:
        stripe.script = [error(429, "invalid_request_error", "Request rate limit exceeded.", {"Retry-After": 1})]
        name = example.add(payment(1))[0]
        stripe.in_use = {f'"{name}"'}
        events = example.run("--until-empty", "--max-time", "2s", status=75)
        equal([429, 409], [event["status"] for event in events if event["event"] == "attempt"])
        example.is_in(deferred=1)
        example.run("--now")
        equal(1, len(stripe.payments))


def test_refused():
    """a declined card and a wrong amount fail, and the customer's next payment is made."""
    with Stripe() as stripe, queue(stripe) as example:
        example.add(payment(1, method="pm_card_declined"), payment("1.50"), payment(3))
        example.run(status=1)
        equal({400, 402}, {row["lastStatus"] for row in example.rows()})
        example.is_in(failed=2)
        equal([3], [made[1] for made in stripe.payments])


def test_replayed():
    """a 500 that Stripe repeats for its key fails: no further attempt could be answered otherwise."""
    with Stripe() as stripe, queue(stripe) as example:
        stripe.breaks = True
        example.add(payment(1))
        example.run(status=75)
        example.is_in(deferred=1)
        stripe.breaks = False
        example.run("--now", status=1)
        example.is_in(failed=1)
        equal([], stripe.payments)


def test_key():
    """a key that is not valid holds."""
    with Stripe() as stripe, queue(stripe, key="sk_test_old") as example:
        example.add(payment(1), payment(2, customer="cus_2"))
        example.run(status=69)
        example.is_in(held=2)


def test_age():
    """what may have arrived more than 24 hours ago is held, so that nobody pays twice."""
    with Stripe() as stripe, queue(stripe) as example:
        example.configuration = example.configuration.replace('keyTTL: "24h"', 'keyTTL: "1ms"')
        example.configure()

        def lost(request):
            stripe.answer(request)
            return Answer(None)

        stripe.script = [lost]
        example.add(payment(1))
        example.run(status=75)
        example.run("--now", status=69)
        example.is_in(held=1)
        equal(1, len(stripe.received), "requests")
