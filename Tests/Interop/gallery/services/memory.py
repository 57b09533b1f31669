"""real: Firebase's callable functions, the SDK of PyPI

The SDK's own handler answers; only the check of the token's signature, for which it would ask Google, is replaced.
"""

import contextlib
import json

from debian import Server, directory, free_port, served
from kit import Example, equal
from pypi import python_with

# The SDK brings 120 MB.

FUNCTIONS = '''
import json, sys
import firebase_admin.auth
from firebase_functions import https_fn
from flask import Flask, request

memories, script, app = {}, [], Flask("functions")


def verify(token, *_, **__):
    if token != "good":
        raise firebase_admin.auth.InvalidIdTokenError("the signature is wrong")
    return {"sub": "user", "uid": "user"}


firebase_admin.auth.verify_id_token = verify


@https_fn.on_call()
def add(call):
    if call.auth is None:
        raise https_fn.HttpsError(https_fn.FunctionsErrorCode.UNAUTHENTICATED, "who are you?")
    if script:
        raise https_fn.HttpsError(https_fn.FunctionsErrorCode[script.pop(0)], "as it was told")
    if len(call.data["content"]) > 100:
        raise https_fn.HttpsError(https_fn.FunctionsErrorCode.INVALID_ARGUMENT, "the content is too long")
    memories[call.raw_request.headers["Idempotency-Key"]] = call.data["content"]
    return {"success": True}


app.add_url_rule("/addSupermemoryMemory", "add", lambda: add(request), methods=["POST"])
app.add_url_rule("/memories", "memories", lambda: list(memories.values()))
app.add_url_rule("/script", "script", lambda: script.extend(request.json) or "", methods=["POST"])
app.run("127.0.0.1", int(sys.argv[1]), threaded=True)
'''


@contextlib.contextmanager
def server():
    python = python_with("firebase-functions==0.4.3")
    port = free_port()
    with directory("functions") as place:
        (place / "functions.py").write_text(FUNCTIONS)
        with served(Server([python, place / "functions.py", port], port, ready="/memories")) as server:
            yield server


def memories(server):
    return json.loads(server.ask("/memories")[1])


def prepare(server, *codes):
    """The function raises these codes, one for each call, and then none."""
    server.ask("/script", json.dumps(codes).encode(), headers={"Content-Type": "application/json"})


def queue(server, token="good"):
    origins = {"https://us-central1-example.cloudfunctions.net": server.url}
    return Example("memory", origins, {"firebase.token": token})


def add(example, *texts):
    return example.add(*({"content": text} for text in texts), type="addSupermemoryMemory")


def test_stored(server):
    """memories are stored once, through every code that is tried again."""
    with queue(server) as example:
        for code in ["UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL", "UNKNOWN"]:
            prepare(server, code)
            add(example, f"{code} \"é\" \u2028")
            example.run(status=75)
            example.is_in(deferred=1)
            example.drainq("release", "--all")
            example.run("--now")
            example.is_in()
            equal(1, sum(code in text for text in memories(server)))


def test_refused(server):
    """INVALID_ARGUMENT fails the one, and the SDK's own 400 for what is no call is the same."""
    with queue(server) as example:
        add(example, "x" * 101, "short")
        example.run(status=1)
        example.is_in(failed=1)
        assert "short" in memories(server)
        equal(400, server.ask("/addSupermemoryMemory", b"{}", headers={"Content-Type": "application/json"})[0])


def test_token(server):
    """a token that is not valid holds, until the file has another one."""
    with queue(server, token="expired") as example:
        add(example, "a", "b")
        example.run(status=69)
        example.is_in(held=2)
        example.secret("firebase.token", "good")
        example.run()
        assert {"a", "b"} <= set(memories(server))
