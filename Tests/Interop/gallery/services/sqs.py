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
    found = aws.script(
        "sqs",
        "answer = []\n"
        "while found := client.receive_message(\n"
        "        QueueUrl=sys.argv[3], MaxNumberOfMessages=10, MessageSystemAttributeNames=['All']).get('Messages'):\n"
        "    answer += found\n"
        "    for message in found:\n"
        "        client.delete_message(QueueUrl=sys.argv[3], ReceiptHandle=message['ReceiptHandle'])\n",
        aws.url_of_queue)
    return [(message["Attributes"]["MessageDeduplicationId"], json.loads(message["Body"])) for message in found]


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


def test_group(aws):
    """of batches of ten one message fails each: order in a group holds, nothing is lost, nothing comes twice."""
    with queue(aws) as example:
        before = len(aws.proxy.seen())
        # Ten groups; in each step of them one is refused twice before it is taken, and one message for good.
        payloads = [{"user": f"u{n % 10}", "n": n, "mark": f"<{n}>"} for n in range(100)]
        ids = example.add(*payloads, sync="none")
        for step in range(10):
            aws.proxy.fail(f"<{step * 10 + (step * 3) % 10}>", sender_fault=False, times=2)
        # In a batch, and alone once more.
        aws.proxy.fail("<55>", sender_fault=True, times=2)
        for _ in range(30):
            example.run("--now", "--limit", "1000", status=None)
            if set(example.states()) <= {"failed"}:
                break
        example.is_in(failed=1)
        equal(ids[55], example.only("failed")["id"])
        got = messages(aws)
        equal(sorted(set(ids) - {ids[55]}), sorted(identifier for identifier, _ in got))
        for user in {body["user"] for _, body in got}:
            numbers = [body["n"] for _, body in got if body["user"] == user]
            equal(sorted(numbers), numbers, user)
        sizes = [request["entries"] for request in aws.signed_well()[before:]]
        assert sizes.count(10) >= 2 and max(sizes) == 10, sizes
        example.drainq("retry", ids[55])
        example.run()
        equal([ids[55]], [identifier for identifier, _ in messages(aws)])


def test_lost_answers(aws):
    """batches whose answers were lost are in the queue of SQS once, in order."""
    with queue(aws) as example:
        ids = example.add(*({"user": f"u{n % 5}", "n": n} for n in range(10)), sync="none")
        aws.proxy.lose(2)
        for _ in range(10):
            example.run("--now", status=None)
            if not example.rows():
                break
        got = messages(aws)
        equal(sorted(ids), sorted(identifier for identifier, _ in got))
        for user in {body["user"] for _, body in got}:
            equal(*(f([body["n"] for _, body in got if body["user"] == user]) for f in (sorted, list)), user)


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
