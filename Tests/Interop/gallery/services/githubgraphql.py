"""emulated: GitHub's GraphQL API

From https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api (200 with the error
RATE_LIMITED, 200 or 403 for a secondary limit) and the errors' types in https://docs.github.com/en/graphql/reference.
"""

import time

from emulation import Answer, Emulation
from kit import Example, equal


def failure(kind, message, headers=None):
    error = {"message": message, "path": ["addComment"]} | ({"type": kind} if kind else {})
    return Answer(200, {"data": {"addComment": None}, "errors": [error]}, headers)


class GitHub(Emulation):
    def __init__(self, points=5000):
        super().__init__()
        self.comments, self.points, self.end = [], points, int(time.time()) + 2

    def answer(self, request):
        if request.headers.get("Authorization") != "Bearer ghp_1":
            return Answer(401, {"message": "Bad credentials", "status": "401"})
        if request.target != "/graphql" or request.media_type != "application/json":
            return Answer(404, {"message": "Not Found"})
        if self.points == 0 and time.time() >= self.end:
            self.points = 5000
        limits = {"x-ratelimit-remaining": max(0, self.points - 1), "x-ratelimit-reset": self.end}
        if self.points == 0:
            return failure("RATE_LIMITED", "API rate limit already exceeded for user ID 1.", limits)
        self.points -= 1
        asked = request.json()
        if not asked or "addComment(input: $input)" not in asked["query"]:
            return Answer(200, {"errors": [{"message": "Parse error on \"}\""}]}, limits)
        comment = asked["variables"]["input"]
        if not comment["clientMutationId"] or comment["subjectId"] == "I_none":
            return failure("NOT_FOUND", "Could not resolve to a node with the global id of 'I_none'", limits)
        if comment["subjectId"].startswith("I_private"):
            return failure("FORBIDDEN", "Resource not accessible by personal access token", limits)
        self.comments.append((comment["subjectId"], comment["body"]))
        node = {"commentEdge": {"node": {"id": f"IC_{len(self.comments)}"}}}
        return Answer(200, {"data": {"addComment": node}}, limits)


def queue(github, token="ghp_1"):
    replacing = {'rate: "1/s"': 'rate: "50/s"'}
    return Example("githubgraphql", {"https://api.github.com": github.url}, {"github.token": token}, replacing)


def comment(text, subject="I_1"):
    return {"subject": subject, "text": text}


def test_lines():
    """the lines that begin the example make a comment."""
    with GitHub() as github, queue(github) as example:
        example.follow_its_lines()
        equal([("I_kwDOAA", "The backup of db1 is done")], github.comments)


def test_last_point():
    """the success that uses up the points keeps the next comment back until the hour is over; none is refused."""
    with GitHub(points=2) as github, queue(github) as example:
        example.add(*[comment(f'{n} "é"') for n in range(4)])
        example.run("--until-empty", "--max-time", "30s")
        equal([f'{n} "é"' for n in range(4)], [text for _, text in github.comments])
        equal(4, len(github.received), "requests")


def test_limits():
    """limits wait uncharged: of the points, and of comments at once in three shapes."""
    with GitHub(points=0) as github, queue(github) as example:
        example.add(comment("a"))
        example.run(status=75)
        example.waits_uncharged(200)
        example.run("--until-empty", "--max-time", "30s")
        equal(1, len(github.comments))
    secondary = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
    for answer in (Answer(403, secondary, {"retry-after": 1}), Answer(200, secondary), Answer(403, secondary)):
        with GitHub() as github, queue(github) as example:
            github.script = [answer]
            example.add(comment("a"))
            example.run(status=75)
            example.is_in(deferred=1)


def test_refused():
    """a subject that is not there fails alone; a token that may not, or is none, holds."""
    with GitHub() as github, queue(github) as example:
        example.add(comment("a", "I_none"), comment("b"))
        example.run(status=1)
        example.is_in(failed=1)
        equal([("I_1", "b")], github.comments)
    with GitHub() as github, queue(github) as example:
        example.add(comment("a", "I_private"), comment("b", "I_private2"))
        example.run(status=69)
        example.is_in(held=2)
    with GitHub() as github, queue(github, "ghp_old") as example:
        example.add(comment("a"), comment("b", "I_2"))
        example.run(status=69)
        example.is_in(held=2)


def test_internal():
    """GitHub's own failure is tried again, and so is a page of another server."""
    own = failure(None, "Something went wrong while executing your query. Please include `ABC` when reporting this.")
    for answer in (own, Answer(502, "bad gateway"), Answer(200, "<html>", media_type="text/html")):
        with GitHub() as github, queue(github) as example:
            github.script = [answer]
            example.add(comment("a"))
            example.run(status=75)
            example.run("--now")
            equal(1, len(github.comments))
