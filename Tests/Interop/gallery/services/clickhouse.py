"""real: ClickHouse 18.16, Debian's package"""

import contextlib
import json
import threading
import urllib.parse

from debian import Server, directory, free_port, libraries, served, unpacked
from kit import Example, equal, until

CONFIGURATION = """<yandex>
  <logger><level>error</level><console>1</console></logger>
  <listen_host>127.0.0.1</listen_host><http_port>{port}</http_port><tcp_port>{tcp}</tcp_port>
  <path>{place}/data/</path><tmp_path>{place}/tmp/</tmp_path><users_config>{place}/users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
  <mark_cache_size>5000000</mark_cache_size><max_concurrent_queries>2</max_concurrent_queries>
</yandex>
"""
USERS = """<yandex>
  <profiles><default><queue_max_wait_ms>50</queue_max_wait_ms></default></profiles><quotas><default/></quotas>
  <users><drainq>
    <password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
  </drainq></users>
</yandex>
"""
COLUMNS = "id String, time DateTime, user String, did String"
TABLE = f"CREATE TABLE events ({COLUMNS}) ENGINE = ReplacingMergeTree ORDER BY id"


@contextlib.contextmanager
def server():
    unpacked_at = unpacked("clickhouse", "clickhouse-server")
    with directory("clickhouse") as place:
        port = free_port()
        (place / "users.xml").write_text(USERS)
        (place / "config.xml").write_text(CONFIGURATION.format(place=place, port=port, tcp=free_port()))
        words = [unpacked_at / "usr/sbin/clickhouse-server", "--config-file", place / "config.xml"]
        with served(Server(words, port, libraries(unpacked_at), ready="/ping")) as server:
            yield server


def ask(server, query):
    headers = {"X-ClickHouse-User": "drainq", "X-ClickHouse-Key": "secret"}
    status, answer = server.ask(f"/?{urllib.parse.urlencode({'query': query})}", b"", headers=headers)
    equal(200, status, answer)
    return answer.decode()


def rows(server):
    return [json.loads(line) for line in ask(server, "SELECT * FROM events FINAL FORMAT JSONEachRow").splitlines()]


def queue(server, password="secret"):
    ask(server, "DROP TABLE IF EXISTS events")
    ask(server, TABLE)
    origins = {"http://clickhouse.example.net:8123": server.url}
    return Example("clickhouse", origins, {"clickhouse.password": password})


def event(did, time="2026-11-22 09:15:00"):
    return {"time": time, "user": "u1", "did": did}


def test_lines(server):
    """the lines that begin the example insert an event."""
    with queue(server) as example:
        example.follow_its_lines()
        found = [(row["time"], row["user"], row["did"]) for row in rows(server)]
        equal([("2026-11-22 09:15:00", "u1", "login")], found)


def test_events(server):
    """250 events take one request, and each is there once, though half of them arrive twice."""
    with queue(server) as example:
        texts = [f"{n} \"é\" \\ \t {{}}" for n in range(250)]
        ids = example.add(*(event(text) for text in texts), sync="none")
        half = "\n".join(json.dumps({"id": name} | event(text)) for name, text in zip(ids[::2], texts[::2]))
        query = urllib.parse.urlencode({"query": "INSERT INTO events FORMAT JSONEachRow"})
        headers = {"X-ClickHouse-User": "drainq", "X-ClickHouse-Key": "secret"}
        equal(200, server.ask(f"/?{query}", half.encode(), headers=headers)[0])
        example.run("--limit", "50000")
        example.is_in()
        equal(sorted(zip(ids, texts)), sorted((row["id"], row["did"]) for row in rows(server)))


def test_refused(server):
    """of a batch the event with a time that is none fails, and the others are there once."""
    with queue(server) as example:
        ids = example.add(event("1"), event("2"), event("3", time="yesterday"), event("4"))
        example.run(status=1)
        example.is_in(failed=1)
        equal(ids[2], example.only("failed")["id"])
        equal(["1", "2", "4"], sorted(row["did"] for row in rows(server)))
        equal("3\n", ask(server, "SELECT count() FROM events"))


def test_busy(server):
    """too many queries at once, in the words of ClickHouse, is tried again."""
    with queue(server) as example:
        example.add(event("1"))
        # Two queries take both places, and the next one waits for one no longer than queue_max_wait_ms.
        long = "SELECT sleep(1), {} FROM system.numbers LIMIT 8 SETTINGS max_block_size = 1"
        slow = [threading.Thread(target=ask, args=(server, long.format(n))) for n in range(2)]
        for thread in slow:
            thread.start()
        until(lambda: b"Too many" in server.ask("/?query=SELECT%201&user=drainq&password=secret")[1])
        example.run(status=75)
        row = example.only("deferred")
        assert "Too many simultaneous queries" in example.drainq("show", row["id"])
        for thread in slow:
            thread.join()
        example.run("--now")
        equal(1, len(rows(server)))


def test_table(server):
    """a table that is not there holds, and takes the events when it is made."""
    with queue(server) as example:
        ask(server, "DROP TABLE events")
        example.add(event("1"), event("2"))
        example.run(status=69)
        example.is_in(held=2)
        ask(server, TABLE)
        example.drainq("release", "--all")
        example.run()
        equal(2, len(rows(server)))


def test_password(server):
    """a wrong password holds, until the file has the right one."""
    with queue(server, password="wrong") as example:
        example.add(event("1"), event("2"))
        example.run(status=69)
        example.is_in(held=2)
        example.secret("clickhouse.password", "secret")
        example.run()
        equal(2, len(rows(server)))
