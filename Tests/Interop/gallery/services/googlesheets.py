"""emulated: Google Sheets, values:append

From https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values/append and
https://developers.google.com/workspace/sheets/api/limits (429 RESOURCE_EXHAUSTED); tokens as in
https://developers.google.com/identity/protocols/oauth2/service-account.
"""

import re

from assertion import Tokens
from emulation import Answer, Emulation
from kit import Example, equal

CLAIMS = {"iss": "drainq@example.iam.gserviceaccount.com", "scope": "https://www.googleapis.com/auth/spreadsheets"}


def error(status, name, message):
    return Answer(status, {"error": {"code": status, "status": name, "message": message}})


class Sheets(Emulation):
    def __init__(self, tokens):
        super().__init__()
        self.tokens, self.rows, self.is_shared = tokens, [], True

    def answer(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.tokens.token}":
            return error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        if not self.is_shared:
            return error(403, "PERMISSION_DENIED", "The caller does not have permission")
        if request.path != "/v4/spreadsheets/0000example/values/Log!A1:append":
            return error(404, "NOT_FOUND", "Requested entity was not found.")
        equal({"valueInputOption": "RAW", "insertDataOption": "INSERT_ROWS"}, request.query)
        asked = request.json()
        if asked is None:
            return error(400, "INVALID_ARGUMENT", "Invalid JSON payload received.")
        for row in asked["values"]:
            if any(len(str(cell)) > 50_000 for cell in row):
                return error(400, "INVALID_ARGUMENT", "Your input contains more than the maximum of 50000 characters in a cell.")
        self.rows += asked["values"]
        return Answer(200, {"updates": {"updatedRows": len(asked["values"])}})


def tokens():
    return Tokens("/token", CLAIMS)


def queue(sheets, given):
    origins = {"https://sheets.googleapis.com": sheets.url, "https://oauth2.googleapis.com": given.url}
    replacing = {"https://www.googleapis.com/auth/spreadsheets": "http://127.0.0.1/auth/spreadsheets"}
    given.claims = CLAIMS | {"scope": "http://127.0.0.1/auth/spreadsheets"}
    return Example("googlesheets", origins, {"google.pem": given.key.read_text()}, replacing)


def lines(count):
    return [{"host": "db1", "text": f'{n} "é"'} for n in range(count)]


def test_lines():
    """the lines that begin the example append a row, with a token for the signed assertion."""
    with tokens() as given, Sheets(given) as sheets, queue(sheets, given) as example:
        example.follow_its_lines()
        [row] = sheets.rows
        equal(["db1", "The backup is done"], row[2:])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row[1]), row


def test_batches():
    """600 rows take two requests and one token; each row is there once, in the order of its request."""
    with tokens() as given, Sheets(given) as sheets, queue(sheets, given) as example:
        ids = example.add(*lines(599), {"host": "plain"})
        example.run("--limit", "1000", "--concurrency", "1")
        equal(ids, [row[0] for row in sheets.rows])
        equal("", sheets.rows[-1][3])
        equal((2, 1), (len(sheets.received), given.given), "requests and tokens")


def test_refused():
    """a cell that is too long fails its row alone; a sheet that is not shared holds."""
    with tokens() as given, Sheets(given) as sheets, queue(sheets, given) as example:
        example.add(*lines(3), {"host": "big", "text": "x" * 50_001})
        example.run(status=1)
        example.is_in(failed=1)
        equal(3, len(sheets.rows))
    with tokens() as given, Sheets(given) as sheets, queue(sheets, given) as example:
        sheets.is_shared = False
        example.add(*lines(3))
        example.run(status=69)
        example.is_in(held=3)


def test_temporary():
    """a quota of the minute waits, and a page of another server is no delivery."""
    quota = error(429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Write requests'")
    with tokens() as given, Sheets(given) as sheets, queue(sheets, given) as example:
        sheets.script = [quota]
        example.add(*lines(2))
        example.run(status=75)
        example.is_in(deferred=2)
    with tokens() as given, Sheets(given) as sheets, queue(sheets, given) as example:
        sheets.script = [Answer(200, {})]
        example.add(*lines(2))
        example.run(status=75)
        example.is_in(deferred=2)


def test_token():
    """a token that has expired is renewed within the run."""
    with tokens() as given, Sheets(given) as sheets, queue(sheets, given) as example:
        example.add(*lines(1))
        example.run()
        given.given += 1
        example.add(*lines(1))
        example.run()
        equal(2, len(sheets.rows))
