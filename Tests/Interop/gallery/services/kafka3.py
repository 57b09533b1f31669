"""emulated: Kafka's REST API, v3

From https://docs.confluent.io/platform/current/kafka-rest/api.html (Records): the body of a status 200 has the record's
own error_code, 200 where Kafka has it.
"""

import base64

from emulation import Answer, Emulation
from kit import Example, equal


class RESTv3(Emulation):
    def __init__(self):
        super().__init__()
        self.records, self.exists = [], True

    def answer(self, request):
        def refuse(status, code, message):
            return Answer(status, {"error_code": code, "message": message})

        if request.headers.get("Authorization") != "Basic a2V5OnNlY3JldA==":
            return refuse(401, 40101, "Unauthorized")
        if request.media_type != "application/json":
            return refuse(415, 415, "HTTP 415 Unsupported Media Type")
        if request.method != "POST" or request.path != "/kafka/v3/clusters/cluster-1/topics/events/records":
            return refuse(404, 404, "HTTP 404 Not Found")
        if not self.exists:
            return refuse(404, 40403, "This server does not host this topic-partition.")
        body = request.json()
        for part in ["key", "value"]:
            if body is None or body.get(part, {}).get("type") not in ("JSON", "STRING", "BINARY"):
                return refuse(400, 400, "Bad Request: data is not of its type")
        if len(request.body) > 100_000:
            return Answer(200, {"error_code": 400, "message": "Bad Request: The message is too large"})
        identifier = base64.b64decode(body["headers"][0]["value"]).decode()
        self.records.append((identifier, body["key"]["data"], body["value"]["data"]))
        value = {"type": "JSON", "size": len(request.body)}
        return Answer(
            200, {"error_code": 200, "cluster_id": "cluster-1", "topic_name": "events", "partition_id": 0,
                  "offset": len(self.records) - 1, "timestamp": "2026-11-23T00:00:00Z", "value": value})


def queue(kafka, key="a2V5OnNlY3JldA=="):
    return Example("kafka3", {"https://kafka.example.net": kafka.url}, {"kafka.key": key})


def test_lines():
    """the lines that begin the example produce two records."""
    with RESTv3() as kafka, queue(kafka) as example:
        example.follow_its_lines()
        equal({"u1", "u2"}, {key for _, key, _ in kafka.records})


def test_order():
    """the records of a user are in order, each once under its operation's id."""
    with RESTv3() as kafka, queue(kafka) as example:
        ids = example.add(*({"user": f"u{n % 3}", "n": n} for n in range(30)), sync="none")
        example.run("--until-empty")
        equal(sorted(ids), sorted(identifier for identifier, _, _ in kafka.records))
        for user in ["u0", "u1", "u2"]:
            numbers = [value["n"] for _, key, value in kafka.records if key == user]
            equal(sorted(numbers), numbers, user)


def test_record():
    """in an answer with 200: a record that Kafka cannot take now is tried again, one that is too large fails."""
    with RESTv3() as kafka, queue(kafka) as example:
        example.add({"user": "u1"}, {"user": "u2", "text": "x" * 100_000})
        kafka.script = [Answer(200, {"error_code": 50003, "message": "Retriable Kafka exception"})]
        # The first request is that of the first record.
        example.run("--concurrency", "1", status=1)
        example.is_in(deferred=1, failed=1)
        example.run("--now")
        equal(["u1"], [key for _, key, _ in kafka.records])


def test_whole():
    """a wrong key and a topic that is not there hold."""
    with RESTv3() as kafka, queue(kafka, key="b2xk") as example:
        example.add({"user": "u1"}, {"user": "u2"})
        example.run(status=69)
        example.is_in(held=2)
    with RESTv3() as kafka, queue(kafka) as example:
        kafka.exists = False
        example.add({"user": "u1"}, {"user": "u2"})
        example.run(status=69)
        example.is_in(held=2)
        kafka.exists = True
        example.drainq("release", "--all")
        example.run("--until-empty")
        equal(2, len(kafka.records))
