"""real: Amazon S3 as moto has it, PyPI, over TLS; botocore checks each signature"""

import contextlib
import json

from aws import amazon, secrets
from kit import Example, equal

ORIGIN = "https://scans.s3.eu-central-1.amazonaws.com"

# moto brings 300 MB.


@contextlib.contextmanager
def server():
    with amazon(tls=True) as aws:
        aws.call(
            "s3", "create_bucket", Bucket="scans", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        yield aws


def queue(aws, transport="auto", **files):
    # By path instead of by host: there is no DNS here.
    here = {
        ORIGIN + "/plant-7": aws.url + "/scans/plant-7", ORIGIN: aws.url,
        "concurrency: 4": f'concurrency: 4, transport: "{transport}", caFile: "{aws.proxy.certificate}"',
    }
    return Example("s3", here, secrets | files)


def stored(aws, key):
    return bytes.fromhex(aws.call("s3", "get_object", Bucket="scans", Key=key)["Body"])


def test_lines(aws):
    """the lines that begin the example put a file and an object."""
    with queue(aws) as example:
        content = bytes(range(256)) * 400
        example.file("var/lib/scans/1.tiff", content)
        example.follow_its_lines()
        equal(content, stored(aws, "plant-7/scans/1.tiff"))
        equal(b'{"scanner":7}', stored(aws, "plant-7/notes/1.json"))
        payloads = sorted(request["payload"] == "UNSIGNED-PAYLOAD" for request in aws.signed_well())
        equal([False, True], payloads, "the file alone is not signed")


def test_names(aws):
    """names with blanks, colons, umlauts and percent signs are signed as S3 reads them."""
    with queue(aws) as example:
        names = ["a b.txt", "a:b@c,d;e=f&g.txt", "ü/ß.txt", "100%.txt", "a+b.txt", "(a)'!*~.txt", "x//y"]
        for name in names:
            example.drainq("add", "--key", name, input=json.dumps(name[0], ensure_ascii=False))
        example.run("--until-empty")
        example.is_in()
        for name in names:
            equal(f'"{name[0]}"'.encode(), stored(aws, f"plant-7/{name}"), name)
        aws.signed_well()


def test_answers(aws):
    """a slow store and a wrong clock are tried again, a bucket that is not there holds."""
    with queue(aws) as example:
        example.add({"n": 1}, key="1")
        for status, code in [(503, "SlowDown"), (403, "RequestTimeTooSkewed")]:
            aws.proxy.refuse(status, f"<Error><Code>{code}</Code></Error>")
            example.run("--now", status=75)
            example.is_in(deferred=1)
        example.run("--now")
        equal(b'{"n": 1}', stored(aws, "plant-7/1"))
        example.configuration = example.configuration.replace("/scans/", "/nobodys/")
        example.configure()
        example.add({"n": 1}, key="1")
        example.run(status=69)
        example.is_in(held=1)


def test_refusals(aws):
    """a file to be sent without TLS is refused before it is taken."""
    with queue(aws) as example:
        example.configuration = example.configuration.replace('url: "https:', 'url: "http:')
        example.configure()
        path = example.file("var/lib/scans/2.tiff", b"x")
        example.drainq("add", "--type", "file", "--key", "2", "--body-file", path, status=65)
