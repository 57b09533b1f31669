"""real: Amazon SNS as moto has it, PyPI; botocore checks each signature"""

import contextlib
import json

from aws import amazon, secrets
from kit import Example, equal

TOPIC = "arn:aws:sns:eu-central-1:123456789012:alarms"

# moto brings 300 MB.


@contextlib.contextmanager
def server():
    with amazon() as aws:
        aws.call("sns", "create_topic", Name="alarms")
        queue = aws.call("sqs", "create_queue", QueueName="alarms")["QueueUrl"]
        aws.call(
            "sns", "subscribe", TopicArn=TOPIC, Protocol="sqs", Endpoint="arn:aws:sqs:eu-central-1:123456789012:alarms")
        aws.queue_of_topic = queue
        yield aws


def queue(aws, **files):
    return Example("sns", {"https://sns.eu-central-1.amazonaws.com": aws.url}, secrets | files)


def published(aws):
    """What a subscriber of the topic has received."""
    answer = aws.call("sqs", "receive_message", QueueUrl=aws.queue_of_topic, MaxNumberOfMessages=10)
    for message in answer.get("Messages", []):
        aws.call("sqs", "delete_message", QueueUrl=aws.queue_of_topic, ReceiptHandle=message["ReceiptHandle"])
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def test_lines(aws):
    """the lines that begin the example publish a message, which a subscriber gets."""
    with queue(aws) as example:
        example.follow_its_lines()
        (message,) = published(aws)
        equal("Disk full", message["Subject"])
        equal("db-1 has 1% left", message["Message"])
        aws.signed_well()


def test_text(aws):
    """a message arrives as it was given, whatever is in it."""
    with queue(aws) as example:
        text = {"subject": "a+b & c=d", "message": "é\u2028\"\\/%41 +"}
        example.add(text)
        example.run()
        (message,) = published(aws)
        equal(text["subject"], message["Subject"])
        equal(text["message"], message["Message"])


def test_answers(aws):
    """throttling is tried again, a topic that is not there holds, a message without a subject is never taken."""
    with queue(aws) as example:
        example.add({"subject": "1", "message": "x"})
        aws.proxy.refuse(400, json.dumps({"Error": {"Type": "Sender", "Code": "Throttling"}, "RequestId": "x"}))
        example.run(status=75)
        example.is_in(deferred=1)
        example.run("--now")
        equal(1, len(published(aws)))
        example.drainq("add", input='{"message":"x"}', status=65)
        example.configuration = example.configuration.replace("%3Aalarms", "%3Aothers")
        example.configure()
        example.add({"subject": "2", "message": "x"})
        example.run(status=69)
        # The line without a subject is kept.
        example.is_in(held=1, quarantined=1)
