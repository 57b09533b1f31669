"""real: RabbitMQ 3.10 with its management plugin, Debian's packages"""

import base64
import contextlib
import json
import os
import pathlib

from debian import Server, directory, free_port, libraries, served, unpacked
from emulation import Answer, Emulation
from kit import Example, equal

CREDENTIALS = base64.b64encode(b"guest:guest").decode()


@contextlib.contextmanager
def server():
    place = unpacked("rabbitmq", "rabbitmq-server")
    rabbit = next(place.glob("usr/lib/rabbitmq/lib/rabbitmq_server-*"))
    erlang = place / "usr/lib/erlang"
    erlang = erlang if erlang.exists() else "/usr/lib/erlang"
    names, port = free_port(), free_port()
    with directory("rabbitmq") as work:
        (work / "plugins").write_text("[rabbitmq_management].\n")
        (work / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{free_port()}\nmanagement.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {port}\n"
            "log.console = true\nlog.console.level = error\n"
        )
        # Debian's own looks for Erlang in /usr/lib.
        runtime = next(pathlib.Path(erlang).glob("erts-*")) / "bin"
        erl = work / "erl"
        variables = f"ROOTDIR={erlang} BINDIR={runtime} EMU=beam PROGNAME=erl"
        erl.write_text(f'#!/bin/sh\n{variables} exec {runtime}/erlexec "$@"\n')
        erl.chmod(0o755)
        environment = libraries(place) | {
            "HOME": str(work), "PATH": f"{work}:{os.environ['PATH']}",
            "ERL_EPMD_ADDRESS": "127.0.0.1", "ERL_EPMD_PORT": str(names),
            "RABBITMQ_NODENAME": "gallery@localhost", "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_MNESIA_BASE": str(work / "data"), "RABBITMQ_LOG_BASE": str(work / "log"),
            "RABBITMQ_CONFIG_FILE": str(work / "rabbitmq.conf"), "RABBITMQ_ENABLED_PLUGINS_FILE": str(work / "plugins"),
        }
        # Started here, so that it ends here: Erlang would leave one behind.
        names = Server([runtime / "epmd", "-address", "127.0.0.1", "-port", names], names, environment)
        with served(names, Server([rabbit / "sbin/rabbitmq-server"], port, environment)) as server:
            yield server


def api(server, method, path, body=None, status=(200, 201, 204)):
    headers = {"Authorization": f"Basic {CREDENTIALS}", "Content-Type": "application/json"}
    code, answer = server.ask(f"/api/{path}", json.dumps(body or {}).encode(), method, headers)
    assert code in status, (path, code, answer)
    return json.loads(answer) if answer else None


def messages(server):
    """The messages of the queue, in its order; they are taken out."""
    wanted = {"count": 10_000, "ackmode": "ack_requeue_false", "encoding": "auto"}
    found = api(server, "POST", "queues/%2F/orders/get", wanted)
    return [(message["properties"]["message_id"], json.loads(message["payload"])) for message in found]


def make(server, arguments=None):
    arguments = {"x-queue-type": "quorum"} | (arguments or {})
    api(server, "PUT", "queues/%2F/orders", {"durable": True, "arguments": arguments})


def queue(server, credentials=CREDENTIALS, arguments=None):
    api(server, "DELETE", "queues/%2F/orders", status=(204, 404))
    make(server, arguments)
    origins = {"http://rabbitmq.example.net:15672": server.url}
    return Example("rabbitmq", origins, {"rabbitmq.credentials": credentials})


def test_lines(server):
    """the lines that begin the example publish a message."""
    with queue(server) as example:
        example.follow_its_lines()
        equal([{"order": 1}], [payload for _, payload in messages(server)])


def test_messages(server):
    """100 messages are in the quorum queue once, byte for byte, under their operations' ids."""
    with queue(server) as example:
        payloads = [{"order": n, "text": "\"é\" \\ \u0001"} for n in range(100)]
        ids = example.add(*payloads)
        example.run()
        equal(sorted(zip(ids, map(json.dumps, payloads))), sorted((i, json.dumps(p)) for i, p in messages(server)))


def test_unrouted(server):
    """routed: false is no delivery: the messages are held, and published when there is a queue."""
    with queue(server) as example:
        api(server, "DELETE", "queues/%2F/orders")
        example.add(*({"order": n} for n in range(3)))
        example.run(status=69)
        example.is_in(held=3)
        make(server)
        example.drainq("release", "--all")
        example.run()
        equal({0, 1, 2}, {payload["order"] for _, payload in messages(server)})


def test_full(server):
    """a queue that is full and rejects is waited for, and takes the message when there is room."""
    limits = {"x-max-length": 1, "x-overflow": "reject-publish", "x-queue-type": "classic"}
    with queue(server, arguments=limits) as example:
        example.add(*({"order": n} for n in range(2)))
        example.run("--concurrency", "1", status=75)
        waiting = example.only("deferred")
        equal(400, waiting["lastStatus"])
        equal([0], [payload["order"] for _, payload in messages(server)])
        example.run("--now")
        equal([1], [payload["order"] for _, payload in messages(server)])


def test_vhost(server):
    """a virtual host that is not there holds, and nothing is lost."""
    with queue(server) as example:
        example.configuration = example.configuration.replace("exchanges/%2F/", "exchanges/plant/")
        example.configure()
        example.add({"order": 1}, {"order": 2})
        example.run(status=69)
        example.is_in(held=2)
        example.configuration = example.configuration.replace("exchanges/plant/", "exchanges/%2F/")
        example.configure()
        example.run()
        equal(2, len(messages(server)))


def test_exchange(server):
    """an exchange that is not there, or that the user may not write to, holds, though RabbitMQ says 400 of one message."""
    with queue(server) as example:
        permissions = {"configure": ".*", "write": ".*", "read": ".*"}
        example.configuration = example.configuration.replace("amq.default", "plant")
        example.configure()
        example.add({"order": 1})
        example.run(status=69)
        example.is_in(held=1)
        api(server, "PUT", "exchanges/%2F/plant", {"type": "fanout"})
        api(server, "POST", "bindings/%2F/e/plant/q/orders")
        api(server, "PUT", "permissions/%2F/guest", permissions | {"write": ""})
        example.drainq("release", "--all")
        example.run(status=69)
        example.is_in(held=1)
        api(server, "PUT", "permissions/%2F/guest", permissions)
        example.drainq("release", "--all")
        example.run()
        equal([{"order": 1}], [payload for _, payload in messages(server)])


def test_another(server):
    """what answers 200 in the place of RabbitMQ has taken nothing: the message waits for RabbitMQ."""
    with queue(server) as example, Emulation() as portal:
        portal.script += [Answer(200, "<html>Maintenance</html>", media_type="text/html"), Answer(200, {"status": "ok"})]
        real, example.configuration = example.configuration, example.configuration.replace(server.url, portal.url)
        example.configure()
        example.add({"order": 1}, {"order": 2})
        example.run(status=75)
        example.is_in(deferred=2)
        example.configuration = real
        example.configure()
        example.run("--now")
        equal({1, 2}, {payload["order"] for _, payload in messages(server)})


def test_password(server):
    """a wrong password holds, until the file has the right one."""
    with queue(server, base64.b64encode(b"guest:wrong").decode()) as example:
        example.add({"order": 1}, {"order": 2})
        example.run(status=69)
        example.is_in(held=2)
        example.secret("rabbitmq.credentials", CREDENTIALS)
        example.run()
        equal(2, len(messages(server)))


def test_outage(server):
    """an outage defers."""
    with queue(server) as example:
        server.stop()
        example.add({"order": 1}, {"order": 2})
        example.run(status=75)
        example.is_in(deferred=2)
