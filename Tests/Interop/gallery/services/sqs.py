"""real: Amazon SQS as moto has it, PyPI; botocore checks each signature"""

import contextlib
import json

from aws import amazon, secrets
from kit import Example, equal

QUEUE = "https://sqs.eu-central-1.amazonaws.com/123456789012/events.fifo"

# moto brings 300 MB.


@contextlib.contextmanager
def server():
    with amazon() as aws:
        yield aws


def queue(aws, **files):
    """A queue of SQS that is empty, and one of drainq's."""
    name = "events.fifo"
    with contextlib.suppress(AssertionError):
        aws.call("sqs", "delete_queue", QueueUrl=f"{aws.moto.url}/123456789012/{name}")
    aws.url_of_queue = aws.call("sqs", "create_queue", QueueName=name, Attributes={"FifoQueue": "true"})["QueueUrl"]
    origins = {QUEUE: aws.url_of_queue, "https://sqs.eu-central-1.amazonaws.com": aws.url}
    return Example("sqs", origins, secrets | files)


def messages(aws):
    """What another client receives, in its order."""
    found = []
    while True:
        answer = aws.call(
            "sqs", "receive_message", QueueUrl=aws.url_of_queue, MaxNumberOfMessages=10,
            MessageSystemAttributeNames=["All"])
        if not answer.get("Messages"):
            return found
        for message in answer["Messages"]:
            found.append((message["Attributes"]["MessageDeduplicationId"], json.loads(message["Body"])))
            aws.call(
                "sqs", "delete_message", QueueUrl=aws.url_of_queue, ReceiptHandle=message["ReceiptHandle"])


def test_lines(aws):
    """the lines that begin the example send two messages, and botocore signs them alike."""
    with queue(aws) as example:
        example.follow_its_lines()
        equal({"u1", "u2"}, {body["user"] for _, body in messages(aws)})
        aws.signed_well()


def test_order(aws):
    """the messages of a user arrive in order, each once, ten in a request."""
    with queue(aws) as example:
        before = len(aws.proxy.seen())
        ids = example.add(*({"user": f"u{n % 10}", "n": n, "text": "é \"/\n"} for n in range(20)), sync="none")
        example.run("--until-empty")
        example.is_in()
        got = messages(aws)
        equal(sorted(ids), sorted(identifier for identifier, _ in got))
        for user in {body["user"] for _, body in got}:
            numbers = [body["n"] for _, body in got if body["user"] == user]
            equal(sorted(numbers), numbers, user)
        assert len(aws.signed_well()) - before <= 6, "requests"


def test_failures(aws):
    """of one batch a message fails, one is tried again, the others are there."""
    with queue(aws) as example:
        first, second, third = example.add({"user": "u1"}, {"user": "u2"}, {"user": "u3"})
        failed = [
            {"Id": first, "SenderFault": True, "Code": "InvalidMessageContents", "Message": "no"},
            {"Id": second, "SenderFault": False, "Code": "InternalError", "Message": "later"},
        ]
        answer = {"Successful": [{"Id": third, "MessageId": "m", "MD5OfMessageBody": "0"}], "Failed": failed}
        aws.proxy.refuse(200, json.dumps(answer))
        # The first is sent once more, alone, before it fails.
        aws.proxy.refuse(200, json.dumps({"Failed": failed[:1]}))
        example.run(status=1)
        example.is_in(failed=1, deferred=1)
        equal(first, example.only("failed")["id"])
        example.run("--now")
        equal([second], [identifier for identifier, _ in messages(aws)])


def test_duplicates(aws):
    """messages whose answer was lost are there once."""
    with queue(aws) as example:
        (identifier,) = example.add({"user": "u1"})
        example.run()
        example.drainq("add", "--id", identifier, input='{"user":"u1"}')
        example.run()
        equal([identifier], [name for name, _ in messages(aws)])


def test_whole(aws):
    """a wrong key and a queue that is not there hold, throttling is tried again, each attempt signed anew."""
    with queue(aws, **{"aws.key": "another"}) as example:
        example.add({"user": "u1"}, {"user": "u2"})
        example.run(status=69)
        example.is_in(held=2)
        example.secret("aws.key", secrets["aws.key"])
        example.run()
        equal(2, len(messages(aws)))
    with queue(aws) as example:
        aws.call("sqs", "delete_queue", QueueUrl=aws.url_of_queue)
        example.add({"user": "u1"})
        example.run(status=69)
        example.is_in(held=1)
    with queue(aws) as example:
        example.add({"user": "u1"})
        aws.proxy.refuse(400, json.dumps({"__type": "com.amazonaws.sqs#RequestThrottled", "message": "slow"}))
        example.run(status=75)
        example.is_in(deferred=1)
        example.run("--now")
        example.is_in()
        equal(1, len(messages(aws)))


def test_secrecy(aws):
    """a server that says the signature and the keys again has nothing of it in the queue."""
    with queue(aws) as example:
        example.add({"user": "u1"})
        aws.proxy.refuse(400, json.dumps({"__type": "x", "message": "SENT", "key": secrets["aws.key"]}))
        said = example.drainq("run", "--json", status=1) + example.drainq("list", "--json")
        assert "SENT" in said and secrets["aws.key"] not in said, said
