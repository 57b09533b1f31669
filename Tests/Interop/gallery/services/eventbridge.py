"""real: Amazon EventBridge as moto has it, PyPI; botocore checks each signature"""

import contextlib
import json

from aws import amazon, secrets
from kit import Example, equal

# moto brings 300 MB.


@contextlib.contextmanager
def server():
    with amazon() as aws:
        aws.call("events", "create_event_bus", Name="plant-7")
        aws.call("events", "put_rule", Name="all", EventBusName="plant-7", EventPattern='{"source": ["drainq"]}')
        queue = aws.call("sqs", "create_queue", QueueName="events")["QueueUrl"]
        aws.call(
            "events", "put_targets", Rule="all", EventBusName="plant-7",
            Targets=[{"Id": "1", "Arn": "arn:aws:sqs:eu-central-1:123456789012:events"}])
        aws.queue_of_bus = queue
        yield aws


def queue(aws, **files):
    return Example("eventbridge", {"https://events.eu-central-1.amazonaws.com": aws.url}, secrets | files)


def events(aws):
    """What the target of a rule has received."""
    found = []
    while True:
        answer = aws.call("sqs", "receive_message", QueueUrl=aws.queue_of_bus, MaxNumberOfMessages=10)
        if not answer.get("Messages"):
            return found
        for message in answer["Messages"]:
            found.append(json.loads(message["Body"]))
            aws.call("sqs", "delete_message", QueueUrl=aws.queue_of_bus, ReceiptHandle=message["ReceiptHandle"])


def test_lines(aws):
    """the lines that begin the example put two events, which a rule passes on."""
    with queue(aws) as example:
        example.follow_its_lines()
        got = events(aws)
        equal([{"order": 17}, {"order": 18}], sorted((event["detail"] for event in got), key=str))
        equal({"order.placed"}, {event["detail-type"] for event in got})
        equal(1, len(aws.signed_well()), "requests")


def test_batches(aws):
    """25 events take three requests, and each is there once with its operation's id."""
    with queue(aws) as example:
        before = len(aws.proxy.seen())
        ids = example.add(*({"n": n} for n in range(25)), sync="none")
        example.run("--until-empty")
        equal(sorted(ids), sorted(event["resources"][0] for event in events(aws)))
        equal(3, len(aws.signed_well()) - before, "requests")


def test_entries(aws):
    """of one batch, by place: an event is there, one fails, one is tried again."""
    with queue(aws) as example:
        _, second, third = example.add({"n": 1}, {"n": 2}, {"n": 3})
        entries = [
            {"EventId": "e"}, {"ErrorCode": "MalformedDetail", "ErrorMessage": "Detail is malformed."},
            {"ErrorCode": "ThrottlingException", "ErrorMessage": "Rate exceeded"},
        ]
        aws.proxy.refuse(200, json.dumps({"FailedEntryCount": 2, "Entries": entries}))
        # The second is sent once more, alone, before it fails.
        aws.proxy.refuse(200, json.dumps({"FailedEntryCount": 1, "Entries": entries[1:2]}))
        example.run(status=1)
        example.is_in(failed=1, deferred=1)
        equal(second, example.only("failed")["id"])
        example.run("--now")
        equal([third], [event["resources"][0] for event in events(aws)])


def test_whole(aws):
    """a wrong key holds, and throttling is tried again."""
    with queue(aws, **{"aws.key": "another"}) as example:
        example.add({"n": 1}, {"n": 2})
        example.run(status=69)
        example.is_in(held=2)
    with queue(aws) as example:
        example.add({"n": 1})
        aws.proxy.refuse(400, json.dumps({"__type": "ThrottlingException", "message": "Rate exceeded"}))
        example.run(status=75)
        example.is_in(deferred=1)
        example.run("--now")
        equal(1, len(events(aws)))
