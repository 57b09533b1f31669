"""emulated: Salesforce's collections of records

From https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/resources_composite_sobjects_collections_upsert.htm
(at most 200 records, one result for each in their order) and the JWT bearer flow of its connected apps.
"""

from assertion import Tokens
from emulation import Answer, Emulation
from kit import Example, equal


def error(code, message="m"):
    return {"statusCode": code, "message": message, "fields": []}


class Salesforce(Emulation):
    def __init__(self, tokens):
        super().__init__()
        self.tokens, self.contacts, self.locked = tokens, {}, set()

    def answer(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.tokens.token}":
            return Answer(401, [{"message": "Session expired or invalid", "errorCode": "INVALID_SESSION_ID"}])
        if (request.method, request.target) != ("PATCH", "/services/data/v62.0/composite/sobjects/Contact/External__c"):
            return Answer(404, [{"errorCode": "NOT_FOUND", "message": "The requested resource does not exist"}])
        asked = request.json()
        if not asked or asked["allOrNone"] or len(asked["records"]) > 200:
            return Answer(400, [{"errorCode": "JSON_PARSER_ERROR", "message": "m"}])
        results = []
        for record in asked["records"]:
            assert record["attributes"] == {"type": "Contact"}
            key = record["External__c"]
            if key in self.locked:
                self.locked.discard(key)
                results.append({"success": False, "errors": [error("UNABLE_TO_LOCK_ROW")]})
            elif "@" not in record.get("Email", "@"):
                results.append({"success": False, "errors": [error("INVALID_EMAIL_ADDRESS")]})
            else:
                results.append({"id": f"003{key}", "success": True, "errors": [], "created": key not in self.contacts})
                self.contacts[key] = (record["LastName"], record.get("Email"))
        return Answer(200, results)


CLAIMS = {"iss": "3MVG9example", "sub": "drainq@example.com", "aud": "https://login.salesforce.com"}


def tokens():
    return Tokens("/services/oauth2/token", CLAIMS)


def queue(salesforce, given):
    origins = {"https://example.my.salesforce.com": salesforce.url, "https://login.salesforce.com": given.url}
    given.claims = CLAIMS | {"aud": given.url}
    return Example("salesforce", origins, {"salesforce.pem": given.key.read_text()})


def people(count):
    return [{"external": f"c{n}", "last": f'{n} "é"', "email": f"c{n}@example.com"} for n in range(count)]


def test_lines():
    """the lines that begin the example make a contact, with a token for the signed assertion."""
    with tokens() as given, Salesforce(given) as salesforce, queue(salesforce, given) as example:
        example.follow_its_lines()
        equal({"c-17": ("Lovelace", "ada@example.com")}, salesforce.contacts)


def test_batches():
    """450 contacts take three requests and one token, each contact once."""
    with tokens() as given, Salesforce(given) as salesforce, queue(salesforce, given) as example:
        example.add(*people(449), {"external": "plain", "last": "x"})
        example.run("--limit", "1000")
        equal(450, len(salesforce.contacts))
        equal(("x", None), salesforce.contacts["plain"])
        equal((3, 1), (len(salesforce.received), given.given), "requests and tokens")


def test_items():
    """a row that is locked is tried again, a value that is refused fails alone, and the others are there."""
    with tokens() as given, Salesforce(given) as salesforce, queue(salesforce, given) as example:
        salesforce.locked = {"c1"}
        example.add(*people(3), {"external": "bad", "last": "x", "email": "none"})
        example.run(status=1)
        example.is_in(deferred=1, failed=1)
        equal({"c0", "c2"}, set(salesforce.contacts))
        example.run("--now")
        equal({"c0", "c1", "c2"}, set(salesforce.contacts))


def test_token():
    """a session that has expired is renewed within the run; a key that was revoked holds."""
    with tokens() as given, Salesforce(given) as salesforce, queue(salesforce, given) as example:
        example.add(*people(2))
        example.run()
        given.given += 1
        example.add(*people(3))
        example.run()
        equal(3, len(salesforce.contacts))
        equal(3, given.given)
        given.given += 1
        given.revoked = True
        example.add(*people(4))
        example.run(status=69)
        example.is_in(held=4)


def test_limit():
    """the requests of a day that are used up wait; a page of another server is no delivery."""
    limit = Answer(403, [{"errorCode": "REQUEST_LIMIT_EXCEEDED", "message": "TotalRequests Limit exceeded."}])
    for answer in (limit, Answer(200, "<html>", media_type="text/html")):
        with tokens() as given, Salesforce(given) as salesforce, queue(salesforce, given) as example:
            salesforce.script = [answer]
            example.add(*people(2))
            example.run(status=75)
            example.is_in(deferred=2)
