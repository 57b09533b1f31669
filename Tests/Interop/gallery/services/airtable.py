"""emulated: Airtable's records

From https://airtable.com/developers/web/api/update-multiple-records (upsert, at most ten records),
https://airtable.com/developers/web/api/errors and https://airtable.com/developers/web/api/rate-limits (five requests a
second for a base, then 429 for 30 seconds).
"""

from emulation import Answer, Emulation
from kit import Example, equal


def error(status, kind, message):
    return Answer(status, {"error": {"type": kind, "message": message}})


LIMITED = Answer(429, {"errors": [{"error": "RATE_LIMIT_REACHED", "message": "Rate limit exceeded."}]})
BILLING = Answer(429, {"errors": [{"error": "PUBLIC_API_BILLING_LIMIT_EXCEEDED", "message": "API limit exceeded"}]})


class Airtable(Emulation):
    FIELDS = {"Operation", "Name", "Amount", "Note"}

    def __init__(self):
        super().__init__()
        self.records, self.fields, self.writes = {}, set(self.FIELDS), 0

    def answer(self, request):
        if request.headers.get("Authorization") != "Bearer pat_1":
            return error(401, "AUTHENTICATION_REQUIRED", "Authentication required")
        if request.target != "/v0/appExample0000000/Orders":
            return Answer(404, {"error": "NOT_FOUND"})
        asked = request.json()
        if request.method != "PATCH" or not asked or asked["performUpsert"] != {"fieldsToMergeOn": ["Operation"]}:
            return error(422, "INVALID_REQUEST_UNKNOWN", "Invalid request: parameter validation failed.")
        records = [record["fields"] for record in asked["records"]]
        if not 1 <= len(records) <= 10:
            return error(422, "INVALID_REQUEST", "records must have at most 10 elements")
        # One bad record refuses all of them.
        for record in records:
            if unknown := set(record) - self.fields:
                return error(422, "UNKNOWN_FIELD_NAME", f'Unknown field name: "{unknown.pop()}"')
            if not isinstance(record["Amount"], (int, float)):
                return error(422, "INVALID_VALUE_FOR_COLUMN", 'Field "Amount" cannot accept the provided value')
        for record in records:
            self.records[record["Operation"]] = record
        self.writes += 1
        return Answer(200, {"records": [{"id": f"rec{n}", "fields": record} for n, record in enumerate(records)]})


def queue(airtable, token="pat_1"):
    replacing = {'rate: "4/s"': 'rate: "50/s"', 'base: "30s"': 'base: "1s"'}
    return Example("airtable", {"https://api.airtable.com": airtable.url}, {"airtable.token": token}, replacing)


def rows(count):
    return [{"name": f'{n} "é"', "amount": n} for n in range(count)]


def test_lines():
    """the lines that begin the example make two records, and a note only where there is one."""
    with Airtable() as airtable, queue(airtable) as example:
        example.follow_its_lines()
        equal({("Ada", 12, None), ("Bob", 7, "by phone")},
              {(r["Name"], r["Amount"], r.get("Note")) for r in airtable.records.values()})


def test_batches():
    """twenty-five records take three requests, and one whose answer was lost is not there twice."""
    with Airtable() as airtable, queue(airtable) as example:
        lost = []

        def lose(request):
            lost.append(airtable.answer(request))
            return Answer(None)

        airtable.script = [lose]
        ids = example.add(*rows(25))
        example.run("--concurrency", "1", status=75)
        example.run("--now")
        example.is_in()
        equal(set(ids), set(airtable.records))
        equal(1, len(lost))
        assert len(airtable.received) <= 4, len(airtable.received)


def test_one_bad_record():
    """a value that a column cannot take fails its record alone; the nine others are there."""
    with Airtable() as airtable, queue(airtable) as example:
        payloads = rows(10)
        payloads[6]["amount"] = "many"
        example.add(*payloads)
        example.run(status=1)
        example.is_in(failed=1)
        equal(9, len(airtable.records))


def test_limits():
    """too many requests wait; a quota of the month that is used up holds."""
    with Airtable() as airtable, queue(airtable) as example:
        airtable.script = [LIMITED]
        example.add(*rows(2))
        example.run(status=75)
        example.is_in(deferred=2)
        example.run("--until-empty", "--max-time", "20s")
        equal(2, len(airtable.records))
    with Airtable() as airtable, queue(airtable) as example:
        airtable.script = [BILLING, BILLING]
        example.add(*rows(2))
        example.run(status=69)
        example.is_in(held=2)


def test_table():
    """a field that is not there, a token that is none and another server's page lose nothing."""
    with Airtable() as airtable, queue(airtable) as example:
        airtable.fields = {"Operation", "Name"}
        example.add(*rows(12))
        example.run(status=69)
        example.is_in(held=12)
    with Airtable() as airtable, queue(airtable, "pat_old") as example:
        example.add(*rows(12))
        example.run(status=69)
        example.is_in(held=12)
    with Airtable() as airtable, queue(airtable) as example:
        airtable.script = [Answer(200, "<html>Sign in</html>", media_type="text/html")]
        example.add(*rows(2))
        example.run(status=75)
        example.is_in(deferred=2)
