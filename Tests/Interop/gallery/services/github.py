"""emulated: GitHub's REST API, issues

From https://docs.github.com/en/rest/issues/issues#create-an-issue and
https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api (403 or 429; x-ratelimit-remaining 0 and
x-ratelimit-reset, or retry-after, or a message alone).
"""

import time

from emulation import Answer, Emulation
from kit import Example, equal

SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


class GitHub(Emulation):
    def __init__(self):
        super().__init__()
        self.issues, self.limited_until, self.has_issues = [], 0, True
        self.followed = []

    def answer(self, request):
        if not request.headers.get("User-Agent"):
            return Answer(403, "Request forbidden by administrative rules.")
        if request.headers.get("Authorization") != "Bearer github_pat_1":
            return Answer(401, {"message": "Bad credentials", "status": "401"})
        limit = {"x-ratelimit-limit": 5000, "x-ratelimit-reset": int(self.limited_until)}
        if time.time() < self.limited_until:
            limit["x-ratelimit-remaining"] = 0
            return Answer(403, {"message": "API rate limit exceeded for user ID 1."}, limit)
        limit["x-ratelimit-remaining"] = 4999
        numbers = range(1, len(self.issues) + 1)
        if request.path in (f"/repos/example/app/issues/{n}/comments" for n in numbers) and request.method == "POST":
            self.followed.append((request.path, request.json().get("body")))
            return Answer(201, {"id": 1}, limit)
        if request.path in (f"/repos/example/app/issues/{n}" for n in numbers) and request.method == "PATCH":
            self.followed.append((request.path, request.json().get("state")))
            return Answer(200, {"number": 1}, limit)
        if request.method != "POST" or request.path != "/repos/example/app/issues":
            return Answer(404, {"message": "Not Found", "status": "404"}, limit)
        if not self.has_issues:
            return Answer(410, {"message": "Issues are disabled for this repo"}, limit)
        issue = request.json()
        if not isinstance(issue, dict):
            return Answer(400, {"message": "Problems parsing JSON"}, limit)
        if not isinstance(issue.get("title"), str):
            errors = [{"resource": "Issue", "field": "title", "code": "missing_field"}]
            return Answer(422, {"message": "Validation Failed", "errors": errors}, limit)
        self.issues.append(issue["title"])
        return Answer(201, {"number": len(self.issues), "title": issue["title"]}, limit)


def queue(github, token="github_pat_1"):
    return Example("github", {"https://api.github.com": github.url}, {"github.token": token}, {'"1/s"': '"100/s"'})


def test_lines():
    """the lines that begin the example open an issue, comment on it and close it."""
    with GitHub() as github, queue(github) as example:
        example.follow_its_lines()
        equal(["db1: the backup failed"], github.issues)
        equal(2, len(github.followed))


def test_chain():
    """what follows an issue has its number, which GitHub gives; behind an issue that failed nothing is sent."""
    path = "/repos/example/app/issues/"
    with GitHub() as github, queue(github) as example:
        example.add({"title": "another"})
        example.add({"title": "db1"}, type="open", key="db1")
        example.add({"body": "again"}, type="comment", key="db1")
        example.add({"state": "closed"}, type="close", key="db1")
        example.run()
        equal([(f"{path}2/comments", "again"), (f"{path}2", "closed")], github.followed)
    with GitHub() as github, queue(github) as example:
        example.add({"body": "no title"}, type="open", key="db1")
        example.add({"body": "again"}, type="comment", key="db1")
        example.run(status=1)
        example.is_in(failed=1, held=1)
        equal([], github.followed)


def test_hour():
    """403 with x-ratelimit-remaining 0 waits until x-ratelimit-reset, uncharged, and no token is blamed."""
    with GitHub() as github, queue(github) as example:
        def exhaust(request):
            """The hour is over when the first request is there."""
            github.limited_until = int(time.time()) + 2

        github.script = [exhaust]
        example.add(*({"title": str(n)} for n in range(3)))
        events = example.run("--until-empty", "--max-time", "20s")
        equal(["0", "1", "2"], github.issues)
        equal(1, sum(event.get("status") == 403 for event in events), "requests before the reset")
        assert all(event["attempts"] <= 1 for event in events if event["event"] == "attempt"), events


def test_secondary():
    """secondary limits defer: with retry-after uncharged, with a message alone by the schedule of minutes."""
    with GitHub() as github, queue(github) as example:
        github.script = [Answer(403, {"message": SECONDARY}, {"retry-after": 60, "x-ratelimit-remaining": 4990})]
        example.add({"title": "1"})
        example.run(status=75)
        example.waits_uncharged(403)
    with GitHub() as github, queue(github) as example:
        github.script = [Answer(403, {"message": SECONDARY}, {"x-ratelimit-remaining": 4990})]
        example.add({"title": "1"})
        example.run(status=75)
        example.is_in(deferred=1)
        example.run("--now")
        equal(["1"], github.issues)


def test_issue():
    """an issue without a title fails, and the next one is opened."""
    with GitHub() as github, queue(github) as example:
        example.add({"body": "no title"}, {"title": "good"})
        example.run(status=1)
        example.is_in(failed=1)
        equal(422, example.only("failed")["lastStatus"])
        equal(["good"], github.issues)


def test_token():
    """a bad token, and a repository without issues, hold all of them after few requests."""
    with GitHub() as github, queue(github, token="expired") as example:
        example.add(*({"title": str(n)} for n in range(10)))
        example.run(status=69)
        example.is_in(held=10)
        assert len(github.received) <= 3, len(github.received)
        example.secret("github.token", "github_pat_1")
        example.run()
        equal(10, len(github.issues))
    with GitHub() as github, queue(github) as example:
        github.has_issues = False
        example.add({"title": "1"})
        example.run(status=69)
        example.is_in(held=1)
