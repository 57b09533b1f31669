"""emulated: an OpenTelemetry collector, OTLP over HTTP with JSON

From https://opentelemetry.io/docs/specs/otlp/ (partial success; 429, 502, 503 and 504 are to be tried again, nothing
else) and the JSON mapping there: 64-bit integers are text.
"""

from emulation import Answer, Emulation
from kit import Example, equal


class Collector(Emulation):
    takes_gzip = True

    def __init__(self):
        super().__init__()
        self.records = []

    def answer(self, request):
        if request.path != "/v1/logs":
            return Answer(404, "404 page not found")
        if request.method != "POST":
            return Answer(405, "405 method not allowed, supported: [POST]")
        if request.media_type not in ("application/json", "application/x-protobuf"):
            return Answer(415, "415 unsupported media type, supported: [application/json, application/x-protobuf]")
        body, accepted, rejected = request.json(), [], 0
        if not isinstance(body, dict):
            return Answer(400, {"code": 3, "message": "ReadObject: expect { or , or } or n"})
        for resource in body["resourceLogs"]:
            equal("service.name", resource["resource"]["attributes"][0]["key"])
            for record in (record for scope in resource["scopeLogs"] for record in scope["logRecords"]):
                if not record["timeUnixNano"].isdigit():
                    return Answer(400, {"code": 3, "message": "readUint64: unexpected character"})
                if len(record["body"]["stringValue"]) > 1000:
                    rejected += 1
                else:
                    accepted.append((record["attributes"][0]["value"]["stringValue"], record["body"]["stringValue"]))
        self.records += accepted
        if not rejected:
            return Answer(200, {"partialSuccess": {}})
        partial = {"rejectedLogRecords": str(rejected), "errorMessage": "a body is too long"}
        return Answer(200, {"partialSuccess": partial})


def queue(collector):
    return Example("otlp", {"http://collector.example.net:4318": collector.url}, replacing={"max: 200": "max: 100"})


def record(text, time=1_795_338_900_000_000_000):
    return {"time": str(time), "level": "INFO", "text": text}


def test_lines():
    """the lines that begin the example send a record."""
    with Collector() as collector, queue(collector) as example:
        example.follow_its_lines()
        equal(["started"], [text for _, text in collector.records])


def test_batches():
    """250 records take three requests, each record once."""
    with Collector() as collector, queue(collector) as example:
        ids = example.add(*(record(f"{n}\n\"é\"") for n in range(250)))
        example.run("--limit", "10000")
        equal(sorted(ids), sorted(name for name, _ in collector.records))
        equal(3, len(collector.received), "requests")


def test_partial():
    """a partial success fails the record that was refused, the others arrive, and their ids tell the second time."""
    with Collector() as collector, queue(collector) as example:
        ids = example.add(record("1"), record("2"), record("x" * 1001), record("4"))
        example.run(status=1)
        example.is_in(failed=1)
        equal(ids[2], example.only("failed")["id"])
        equal({ids[0], ids[1], ids[3]}, {name for name, _ in collector.records})


def test_warning():
    """a partial success without a refused record is a delivery."""
    with Collector() as collector, queue(collector) as example:
        warning = {"partialSuccess": {"rejectedLogRecords": "0", "errorMessage": "use a newer exporter"}}
        collector.script = [Answer(200, warning)]
        example.add(record("1"))
        example.run()
        example.is_in()


def test_errors():
    """503 with Retry-After is waited for, 502 is tried again, 400 and 500 fail as the protocol says."""
    with Collector() as collector, queue(collector) as example:
        busy = Answer(503, {"code": 14, "message": "queue is full"}, {"Retry-After": "1"})
        collector.script = [busy, Answer(502, "")]
        example.add(record("1"))
        events = example.run("--until-empty", "--max-time", "2s", status=75)
        equal([0, 1], [event["attempts"] for event in events if event["event"] == "attempt"])
        example.run("--now")
        equal(1, len(collector.records))
        collector.script = [Answer(500, {"code": 13, "message": "permanent"})]
        example.add(record("2"))
        example.run(status=1)
        example.add(record("3", time="soon"))
        example.run(status=1)
        example.is_in(failed=2)
