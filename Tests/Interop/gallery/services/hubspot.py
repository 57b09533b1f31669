"""emulated: HubSpot's contacts

From https://developers.hubspot.com/docs/api/crm/contacts (batch upsert, 207 with the errors of single inputs, which
objectWriteTraceId names) and https://developers.hubspot.com/docs/api/usage-details (429 with policyName).
"""

from emulation import Answer, Emulation
from kit import Example, equal


def error(status, category, message, headers=None, **more):
    return Answer(status, {"status": "error", "category": category, "message": message} | more, headers)


class HubSpot(Emulation):
    def __init__(self):
        super().__init__()
        self.contacts, self.token, self.has_scope = {}, "pat-1", True

    def answer(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return error(401, "EXPIRED_AUTHENTICATION", "The OAuth token used to make this call expired")
        if not self.has_scope:
            return error(403, "MISSING_SCOPES", "This app hasn't been granted all required scopes")
        if request.target != "/crm/v3/objects/contacts/batch/upsert":
            return Answer(404, "<html>not found</html>", media_type="text/html")
        asked = request.json()
        if not asked or not 1 <= len(asked["inputs"]) <= 100:
            return error(400, "VALIDATION_ERROR", "Invalid input JSON")
        addresses = [one["id"] for one in asked["inputs"]]
        if len(set(addresses)) < len(addresses):
            return error(400, "VALIDATION_ERROR", "Duplicate IDs found in batch input")
        results, errors = [], []
        for one in asked["inputs"]:
            if "@" not in one["id"]:
                trace = {"objectWriteTraceId": [one["objectWriteTraceId"]]}
                errors.append({"status": "error", "category": "VALIDATION_ERROR", "context": trace})
                continue
            self.contacts.setdefault(one["id"], {}).update(one["properties"])
            results.append({"id": str(len(results)), "properties": one["properties"]})
        if errors:
            return Answer(207, {"status": "COMPLETE", "results": results, "numErrors": len(errors), "errors": errors})
        return Answer(200, {"status": "COMPLETE", "results": results})


def queue(hubspot, token="pat-1"):
    replacing = {'rate: "10/s"': 'rate: "50/s"'}
    return Example("hubspot", {"https://api.hubapi.com": hubspot.url}, {"hubspot.token": token}, replacing)


def contact(name, **properties):
    return {"email": f"{name}@example.com", "properties": properties or {"firstname": name}}


def test_lines():
    """the lines that begin the example make a contact."""
    with HubSpot() as hubspot, queue(hubspot) as example:
        example.follow_its_lines()
        equal({"ada@example.com": {"firstname": "Ada"}}, hubspot.contacts)


def test_order():
    """changes of one contact stay in order, never two in one request, and contacts share requests."""
    with HubSpot() as hubspot, queue(hubspot) as example:
        example.add(*[contact(f"c{n % 10}", n=n, **{f"p{n}": "é"}) for n in range(40)])
        example.run("--limit", "100")
        equal({n % 10: n for n in range(40)}, {int(key[1]): value["n"] for key, value in hubspot.contacts.items()})
        equal(5, len(hubspot.contacts["c0@example.com"]))
        assert len(hubspot.received) <= 12, len(hubspot.received)


def test_items():
    """a contact that is refused fails alone, after it was sent alone; the others of its request are there."""
    with HubSpot() as hubspot, queue(hubspot) as example:
        example.add(contact("a"), {"email": "none", "properties": {"x": 1}}, contact("b"))
        example.run(status=1)
        example.is_in(failed=1)
        equal({"a@example.com", "b@example.com"}, set(hubspot.contacts))
        equal(["none"], [one["id"] for one in hubspot.received[-1].json()["inputs"]])


def test_limits():
    """the limit of ten seconds is tried again, that of the day waits for its time, uncharged."""
    for policy, fields in (("TEN_SECONDLY_ROLLING", None), ("DAILY", {"Retry-After": 3600})):
        with HubSpot() as hubspot, queue(hubspot) as example:
            hubspot.script = [error(429, "RATE_LIMITS", "limit", fields, errorType="RATE_LIMIT", policyName=policy)]
            example.add(contact("a"), contact("b"))
            example.run(status=75)
            example.is_in(deferred=2)
            if fields:
                example.waits_uncharged(429)


def test_token():
    """a token that has expired and one without the scope hold, and a new one ends it."""
    with HubSpot() as hubspot, queue(hubspot) as example:
        hubspot.token = "pat-2"
        example.add(contact("a"), contact("b"))
        example.run(status=69)
        example.is_in(held=2)
        example.secret("hubspot.token", "pat-2")
        example.run()
        equal(2, len(hubspot.contacts))
    with HubSpot() as hubspot, queue(hubspot) as example:
        hubspot.has_scope = False
        example.add(contact("a"), contact("b"))
        example.run(status=69)
        example.is_in(held=2)


def test_elsewhere():
    """a page of another server is no delivery."""
    with HubSpot() as hubspot, queue(hubspot) as example:
        hubspot.script = [Answer(200, "<html>", media_type="text/html")]
        example.add(contact("a"))
        example.run(status=75)
        example.is_in(deferred=1)
