"""emulated: Notion's pages

From https://developers.notion.com/reference/post-page, https://developers.notion.com/reference/status-codes and
https://developers.notion.com/reference/request-limits (429 with Retry-After in seconds).
"""

from emulation import Answer, Emulation
from kit import Example, equal


def error(status, code, message, headers=None):
    return Answer(status, {"object": "error", "status": status, "code": code, "message": message}, headers)


class Notion(Emulation):
    def __init__(self):
        super().__init__()
        self.pages, self.is_shared = [], True

    def answer(self, request):
        if request.headers.get("Authorization") != "Bearer ntn_1":
            return error(401, "unauthorized", "API token is invalid.")
        if request.headers.get("Notion-Version") != "2022-06-28":
            return error(400, "missing_version", "Notion-Version header should be defined")
        if (request.method, request.target) != ("POST", "/v1/pages") or request.media_type != "application/json":
            return error(400, "invalid_request_url", "Invalid request URL.")
        page = request.json()
        if page is None:
            return error(400, "invalid_json", "Error parsing JSON body.")
        if not self.is_shared:
            return error(404, "object_not_found", "Could not find database with ID: 00000000. Make sure it is shared.")
        properties = page["properties"]
        name = properties["Name"]["title"][0]["text"]["content"]
        if len(name) > 2000:
            return error(400, "validation_error", "body.properties.Name.title[0].text.content.length should be ≤ 2000")
        operation = properties["Operation"]["rich_text"][0]["text"]["content"]
        self.pages.append((name, properties["State"]["select"]["name"], operation))
        return Answer(200, {"object": "page", "id": f"page-{len(self.pages)}"})


def queue(notion, token="ntn_1"):
    replacing = {'rate: "3/s"': 'rate: "50/s"'}
    return Example("notion", {"https://api.notion.com": notion.url}, {"notion.token": token}, replacing)


def test_lines():
    """the lines that begin the example make a page."""
    with Notion() as notion, queue(notion) as example:
        example.follow_its_lines()
        equal([("The backup of db1 is done", "good")], [page[:2] for page in notion.pages])


def test_pages():
    """each record is one page with its operation's id, and has the default state where it has none."""
    with Notion() as notion, queue(notion) as example:
        ids = example.add(*[{"name": f'{n} "é" \\'} for n in range(5)])
        example.run()
        equal({(f'{n} "é" \\', "unknown", ids[n]) for n in range(5)}, set(notion.pages))


def test_temporary():
    """too many requests wait for the time they are told, uncharged; a conflict and an outage are tried again."""
    with Notion() as notion, queue(notion) as example:
        notion.script = [error(429, "rate_limited", "You have been rate limited.", {"Retry-After": 1})]
        example.add({"name": "a"})
        example.run(status=75)
        example.waits_uncharged(429)
        example.run("--until-empty", "--max-time", "20s")
        equal(1, len(notion.pages))
    for answer in (error(409, "conflict_error", "Conflict occurred while saving."), error(503, "service_unavailable", "")):
        with Notion() as notion, queue(notion) as example:
            notion.script = [answer]
            example.add({"name": "a"})
            example.run(status=75)
            example.is_in(deferred=1)


def test_refused():
    """a name that is too long fails alone; a token that is none and a database that is not shared hold."""
    with Notion() as notion, queue(notion) as example:
        example.add({"name": "x" * 2001}, {"name": "b"})
        example.run(status=1)
        example.is_in(failed=1)
        equal(["b"], [page[0] for page in notion.pages])
    with Notion() as notion, queue(notion) as example:
        notion.is_shared = False
        example.add({"name": "a"}, {"name": "b"})
        example.run(status=69)
        example.is_in(held=2)
    with Notion() as notion, queue(notion, "ntn_old") as example:
        example.add({"name": "a"}, {"name": "b"})
        example.run(status=69)
        example.is_in(held=2)


def test_elsewhere():
    """a page of another server is no delivery."""
    with Notion() as notion, queue(notion) as example:
        notion.script = [Answer(200, {"object": "list"})]
        example.add({"name": "a"})
        example.run(status=75)
        example.is_in(deferred=1)
