"""emulated: Confluent's REST proxy for Kafka, API v2

From https://docs.confluent.io/platform/current/kafka-rest/api.html (embedded formats, offsets with an error_code
of their own: 1 is for ever, 2 may pass).
"""

import json

from emulation import Answer, Emulation
from kit import Example, equal


class RESTProxy(Emulation):
    def __init__(self):
        super().__init__()
        self.partitions, self.topics, self.leaderless = {0: [], 1: [], 2: []}, {"events"}, set()

    def answer(self, request):
        def refuse(status, code, message):
            return Answer(status, {"error_code": code, "message": message}, media_type="application/vnd.kafka.v2+json")

        if request.headers.get("Accept", "*/*") not in ("*/*", "application/json", "application/vnd.kafka.v2+json"):
            return refuse(406, 406, "HTTP 406 Not Acceptable")
        if request.media_type != "application/vnd.kafka.json.v2+json":
            return refuse(415, 415, "HTTP 415 Unsupported Media Type")
        topic = request.path.removeprefix("/topics/")
        if request.method != "POST" or topic not in self.topics:
            return refuse(404, 40401, "Topic not found.")
        body = request.json()
        if not isinstance(body, dict) or not isinstance(body.get("records"), list):
            return refuse(422, 422, "Request cannot be processed. records may not be empty")
        offsets = [self.produce(record) for record in body["records"]]
        answer = {"offsets": offsets, "key_schema_id": None, "value_schema_id": None}
        return Answer(200, answer, media_type="application/vnd.kafka.v2+json")

    def produce(self, record):
        failure = {"partition": None, "offset": None}
        if len(json.dumps(record)) > 100_000:
            return failure | {"error_code": 1, "error": "The message is larger than max.request.size"}
        if record["key"] in self.leaderless:
            self.leaderless.discard(record["key"])
            return failure | {"error_code": 2, "error": "This server is not the leader for that topic-partition."}
        number = sum(record["key"].encode()) % 3
        self.partitions[number].append(record["value"])
        return {"partition": number, "offset": len(self.partitions[number]) - 1, "error_code": None, "error": None}

    def values(self):
        return [value for partition in self.partitions.values() for value in partition]


def queue(proxy):
    return Example("kafka", {"http://kafka.example.net:8082": proxy.url}, replacing={"max: 500": "max: 100"})


def test_lines():
    """the lines that begin the example produce two records."""
    with RESTProxy() as proxy, queue(proxy) as example:
        example.follow_its_lines()
        equal({"u1", "u2"}, {value["event"]["user"] for value in proxy.values()})
        equal(1, len(proxy.received), "requests")


def test_order():
    """the records of a user are in order in their partition, each once."""
    with RESTProxy() as proxy, queue(proxy) as example:
        ids = example.add(*({"user": f"u{n % 7}", "n": n} for n in range(250)), sync="none")
        example.run("--limit", "10000", "--concurrency", "1")
        equal(set(ids), {value["id"] for value in proxy.values()})
        equal(250, len(proxy.values()))
        equal(3, len(proxy.received), "requests")
        for partition in proxy.partitions.values():
            for user in {value["event"]["user"] for value in partition}:
                numbers = [value["event"]["n"] for value in partition if value["event"]["user"] == user]
                equal(sorted(numbers), numbers, user)


def test_records():
    """of one batch a record is too large and fails, one meets no leader and is tried again."""
    with RESTProxy() as proxy, queue(proxy) as example:
        proxy.leaderless = {"u2"}
        example.add({"user": "u1"}, {"user": "u2"}, {"user": "u3", "text": "x" * 100_000})
        example.run(status=1)
        example.is_in(deferred=1, failed=1)
        equal(["u1"], [value["event"]["user"] for value in proxy.values()])
        example.run("--now")
        equal({"u1", "u2"}, {value["event"]["user"] for value in proxy.values()})
        equal(2, len(proxy.values()))


def test_topic():
    """a topic that is not there holds its records, and takes them when it is made."""
    with RESTProxy() as proxy, queue(proxy) as example:
        proxy.topics = set()
        example.add({"user": "u1"}, {"user": "u2"})
        example.run(status=69)
        example.is_in(held=2)
        proxy.topics = {"events"}
        example.drainq("release", "--all")
        proxy.script = [Answer(500, {"error_code": 50003, "message": "Retriable Kafka exception"})]
        example.run(status=75)
        example.is_in(deferred=2)
        example.run("--now")
        equal(2, len(proxy.values()))
