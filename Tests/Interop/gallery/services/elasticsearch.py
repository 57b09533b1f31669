"""emulated: Elasticsearch's _bulk

From https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk, filter_path from
https://www.elastic.co/docs/reference/elasticsearch/rest-apis/common-options.
"""

import json

from emulation import Answer, Emulation
from kit import Example, equal


def error(status, kind, reason):
    cause = {"type": kind, "reason": reason}
    return {"error": {"root_cause": [cause]} | cause, "status": status}


class Elasticsearch(Emulation):
    takes_gzip = True

    def __init__(self):
        super().__init__()
        self.documents, self.full, self.blocked = {}, set(), False

    def answer(self, request):
        if request.headers.get("Authorization") != "ApiKey a2V5":
            fields = {"WWW-Authenticate": "ApiKey"}
            return Answer(401, error(401, "security_exception", "missing authentication credentials"), fields)
        if request.method != "POST" or request.path != "/logs/_bulk":
            return Answer(405, {"error": f"Incorrect HTTP method for uri [{request.path}]", "status": 405})
        if request.media_type not in ("application/x-ndjson", "application/json"):
            reason = f"Content-Type header [{request.media_type}] is not supported"
            return Answer(406, {"error": reason, "status": 406})
        if not request.body.endswith(b"\n"):
            reason = "The bulk request must be terminated by a newline [\\n]"
            return Answer(400, error(400, "illegal_argument_exception", reason))
        lines = request.body[:-1].split(b"\n")
        if len(lines) % 2:
            return Answer(400, error(400, "illegal_argument_exception", "Malformed action/metadata line"))
        items = []
        for action, document in zip(lines[::2], lines[1::2]):
            try:
                action = json.loads(action)
            except ValueError:
                return Answer(400, error(400, "illegal_argument_exception", "Malformed action/metadata line"))
            items.append({"create": self.create(action["create"]["_id"], document)})
        equal("items.*.status,items.*.error.type,items.*.error.reason", request.query.get("filter_path"))
        return Answer(200, {"items": items})

    def create(self, name, document):
        def refuse(status, kind, reason):
            return {"status": status, "error": {"type": kind, "reason": reason}}

        if self.blocked:
            reason = "index [logs] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark];"
            return refuse(429, "cluster_block_exception", reason)
        try:
            document = json.loads(document)
        except ValueError:
            return refuse(400, "document_parsing_exception", "failed to parse")
        if not isinstance(document.get("message"), str):
            reason = "[1:2] failed to parse field [message] of type [text]"
            return refuse(400, "document_parsing_exception", reason)
        if name in self.documents:
            reason = f"[{name}]: version conflict, document already exists"
            return refuse(409, "version_conflict_engine_exception", reason)
        if document["message"] in self.full:
            self.full.discard(document["message"])
            return refuse(429, "es_rejected_execution_exception", "rejected execution of primary operation")
        self.documents[name] = document
        return {"status": 201}

    def messages(self):
        return sorted(document["message"] for document in self.documents.values())


def queue(elasticsearch, key="a2V5"):
    origins = {"https://es.example.com:9200": elasticsearch.url}
    smaller = {'base: "2s"': 'base: "200ms"', "max: 1000": "max: 100"}
    return Example("elasticsearch", origins, {"elasticsearch.key": key}, smaller)


def test_lines():
    """the lines that begin the example index a document."""
    with Elasticsearch() as elasticsearch, queue(elasticsearch) as example:
        example.follow_its_lines()
        equal(["started"], elasticsearch.messages())


def test_bulk():
    """250 documents take three requests, and each is there once under its operation's id."""
    with Elasticsearch() as elasticsearch, queue(elasticsearch) as example:
        ids = example.add(*({"message": f"{n:03} \u2028 \"quoted\""} for n in range(250)), sync="none")
        example.run("--limit", "10000")
        example.is_in()
        equal(set(ids), set(elasticsearch.documents))
        equal(3, len(elasticsearch.received), "requests")


def test_items():
    """in one answer: a document is created, one is refused for good, one is tried again."""
    with Elasticsearch() as elasticsearch, queue(elasticsearch) as example:
        elasticsearch.full = {"later"}
        example.add({"message": "good"}, {"message": {"not": "text"}}, {"message": "later"})
        # The 429 of one document holds back what goes to Elasticsearch; the one that it refuses is not alone yet.
        example.run(status=75)
        equal(["good"], elasticsearch.messages())
        example.run("--until-empty", "--max-time", "20s", status=1)
        equal(["good", "later"], elasticsearch.messages())
        example.is_in(failed=1)
        equal(400, example.only("failed")["lastStatus"])


def test_duplicates():
    """documents whose answer was lost are delivered by the 409 of the second attempt."""
    with Elasticsearch() as elasticsearch, queue(elasticsearch) as example:

        def lost(request):
            elasticsearch.answer(request)
            return Answer(502, "<html>Bad Gateway</html>", media_type="text/html")

        elasticsearch.script = [lost]
        example.add(*({"message": str(n)} for n in range(20)))
        example.run(status=75)
        example.is_in(deferred=20)
        equal(20, len(elasticsearch.documents))
        example.run("--now")
        example.is_in()
        equal(20, len(elasticsearch.documents))


def test_taken():
    """a document whose id another document has fails at its first attempt, by the same 409."""
    with Elasticsearch() as elasticsearch, queue(elasticsearch) as example:
        taken, _ = example.add({"message": "1"}, {"message": "2"})
        elasticsearch.documents[taken] = {"message": "of another"}
        example.run(status=1)
        equal(["2", "of another"], sorted(elasticsearch.messages()))
        equal((taken, 409), (example.only("failed")["id"], example.only("failed")["lastStatus"]))


def test_whole():
    """a bad key and a full disk hold the index, 429 for the whole request is tried again."""
    with Elasticsearch() as elasticsearch, queue(elasticsearch, key="b2xk") as example:
        example.add({"message": "1"}, {"message": "2"})
        example.run(status=69)
        example.is_in(held=2)
    with Elasticsearch() as elasticsearch, queue(elasticsearch) as example:
        elasticsearch.blocked = True
        example.add({"message": "1"}, {"message": "2"})
        example.run(status=69)
        example.is_in(held=2)
        elasticsearch.blocked = False
        example.drainq("release", "--all")
        elasticsearch.script = [Answer(429, error(429, "circuit_breaking_exception", "[parent] Data too large"))]
        events = example.run("--until-empty", "--max-time", "20s")
        equal(429, events[0]["status"])
        equal(["1", "2"], elasticsearch.messages())
