#!/usr/bin/env python3
"""Numbers that nobody would write, wherever a number can stand: options, variables, configuration, files of the queue, names,
answers. Whatever drainq thinks of one, it ends by itself with a status that the manual knows: no trap (a signal), no internal
error (70), and what waits is still there.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile

from torture import Queue, Receiver, binary, end, expect, parse, scratch, test

# Around the ends of 32, 53, 63 and 64 bits, beyond those, and what only looks like a number.
whole = [
    "0", "1", "-1", "2147483647", "2147483648", "4294967296", "9007199254740993", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
    "9" * 40,
]
others = ["-0", "0.5", "1e18", "1e19", "1e308", "-1e308", "1e309", "1e-400", "5e-324", "0x7fffffffffffffff"]
numbers = whole + others
units = ["us", "ms", "s", "m", "h", "d", "B", "kB", "MiB", "TiB", "/s", "/d"]
moments = [
    "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1677-09-21T00:12:43Z", "1969-12-31T23:59:59.999999Z",
    "1970-01-01T00:00:00Z", "2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775808Z", "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59:60+23:59", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59",
]
allowed = set(range(0, 70)) | set(range(71, 80))


def survives(result, *told):
    text = result.stderr if isinstance(result.stderr, str) else result.stderr.decode(errors="replace")
    expect(result.returncode in allowed and "Fatal error" not in text, result.returncode, *told, text[-400:])


receiver = Receiver()
refusing = "http://127.0.0.1:9/{id}"


def small(url=refusing, **configuration):
    """A queue with an operation in it."""
    queue = Queue(url, **configuration)
    expect(queue("add", input='{"n":1}\n').returncode == 0)
    return queue


def options():
    """Each option that takes a value, with the commands that have it, from the help itself."""
    for command in ("run", "add", "send", "list", "show", "status", "retry", "drop", "hold", "release", "export", "import",
                    "check", "explain", "receive", "demo"):
        text = subprocess.run([binary, command, "--help"], capture_output=True, text=True).stdout
        for name in re.findall(r"(--[a-z-]+) (?:N|D|TIME|SIZE|N/s|T|AGE|DURATION|[A-Z]+)\b", text):
            if name not in ("--queue", "--config", "--output", "--url-file"):
                yield command, name


with test("options") as told:
    queue, count = small(), 0
    values = numbers + [number + unit for number in whole[:8] for unit in units] + moments
    values += [f"200 length={n}" for n in whole] + [f"200 size={n}" for n in ("0", "-1", "9223372036854775808")]
    for command, name in sorted(set(options())):
        for value in values:
            # What would wait for something is given no time; what would do something has nothing to do it with.
            words = {"run": ["--dry-run"], "receive": [], "status": [], "demo": ["--help"], "explain": []}.get(command, [])
            if command == "receive" and name != "--max-time":
                words = ["--max-time", "1ms"]
            if command == "receive" and name == "--max-time" or command == "status" and name == "--interval":
                continue
            if command in ("retry", "drop", "hold", "release"):
                words = ["--dry-run", "--all"]
            try:
                survives(queue(command, *words, f"{name}={value}", input="{}\n", timeout=3), command, name, value)
            except subprocess.TimeoutExpired:
                expect(command in ("send", "receive", "run"), command, name, value, "does not end")
            count += 1
        for path in queue.files("new"):
            header, _ = parse(path.read_bytes())
        shutil.rmtree(queue.path)
        queue = small()
    told.append(f"{count} points")


with test("durations that are waited for") as told:
    count = 0
    for value in ("9223372036854s", "2562047788h", "106751991d", "9223372036854775ms", "0s", "1ms"):
        for words in (["run", "--grace", value], ["run", "--max-time", value], ["run", "--rate", "1/d", "--max-time", value]):
            queue = small(receiver.url + "/{id}")
            survives(queue(*words), words)
            count += 1
        process = subprocess.Popen(
            queue.command("status", "--watch", "--interval", value), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.wait(0.3)
        except subprocess.TimeoutExpired:
            process.terminate()
        process.communicate()
        expect(process.returncode in (0, -15, 64, 143), process.returncode, "status --watch --interval", value)
        count += 1
    told.append(f"{count} points")


def configurations():
    """Every key that can have a number, a size, a duration or a rate, alone in a configuration."""
    spots = [
        ("limits", key) for key in ("operations", "bytes", "operationBytes", "minimumFree")] + [
        ("retention", "delivered"), ("retention", "failed"), ("version",), ("hooks", "atMostEvery"), ("conditions", "power")]
    spots += [("routes", "default", *path) for path in (
        ("expiresAfter",), ("keyTTL",), ("answerLimit",), ("timeouts", "connect"), ("timeouts", "request"), ("timeouts", "total"),
        ("batch", "max"), ("batch", "maxBytes"), ("retry", "base"), ("retry", "multiplier"), ("retry", "max"),
        ("retry", "attempts"), ("retry", "maxAge"), ("retry", "jitter"), ("retry", "schedule"), ("retryRateLimited", "base"))]
    spots += [("destinations", "http://127.0.0.1:9", key) for key in (
        "concurrency", "rate", "suspendAfter", "coolDown", "coolDownMax", "retryAfterMax", "holdProbe")]
    spots += [("secrets", "s", "ttl")]
    for spot in spots:
        for number in numbers:
            yield spot, number
            for unit in ("ms", "s", "d", "TiB", "/s", "/d"):
                yield spot, json.dumps(number + unit)


def written(spot, value):
    """The text of a configuration in which the number is written as it is."""
    document = {"routes": {"default": {"url": refusing}}}
    place = document
    for key in spot[:-1]:
        place = place.setdefault(key, {})
    if spot[-1] == "schedule":
        value = f"[{value}, {value}]"
    if spot[-2:-1] == ("s",):
        place["command"] = ["true"]
    place[spot[-1]] = "@"
    return json.dumps(document).replace('"@"', value)


with test("configuration") as told:
    count = taken = 0
    for spot, value in configurations():
        queue = small() if count % 200 == 0 else queue
        (queue.path / "drainq.json").write_text(written(spot, value))
        result = queue("explain")
        survives(result, spot, value)
        count += 1
        if result.returncode != 78:
            taken += 1
            for words in (["add"], ["run"], ["status"], ["list"]):
                try:
                    survives(queue(*words, input='{"n":2}\n', timeout=2), spot, value, words)
                except subprocess.TimeoutExpired:
                    expect(words == ["run"], spot, value, "does not end")
    told.append(f"{count} points, {taken} taken")


def mutations(document, path=()):
    """(path, kind) of each number and moment in a document."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from mutations(value, (*path, key))
    elif isinstance(document, list):
        for index, value in enumerate(document[:2]):
            yield from mutations(value, (*path, index))
    elif isinstance(document, (int, float)) and not isinstance(document, bool):
        yield path, numbers
    elif isinstance(document, str) and re.match(r"\d{4}-\d\d-\d\dT", document):
        yield path, [json.dumps(moment) for moment in moments]


def replaced(document, path, value):
    copy = json.loads(json.dumps(document))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = "@"
    return json.dumps(copy, separators=(",", ":")).replace('"@"', value)


with test("state/") as told:
    count = 0
    queue = Queue(refusing, retention={"failed": "30d"}, hooks={"held": ["true"]},
                  destinations={"http://127.0.0.1:9": {"suspendAfter": 1}})
    queue("add", input='{"n":1}\n{"n":2}\n')
    queue("run", "--now")
    queue("hold", "--destination", "http://127.0.0.1:9")
    for path in sorted((queue.path / "state").iterdir()):
        try:
            whole_file = path.read_text()
            document = json.loads(whole_file)
        except (ValueError, OSError):
            continue
        for place, values in mutations(document):
            for value in values:
                path.write_text(replaced(document, place, value) + "\n")
                for words in (["status"], ["status", "--json"], ["status", "--prometheus"], ["list"], ["run"]):
                    survives(queue(*words), path.name, place, value, words)
                count += 1
        path.write_text(whole_file)
    told.append(f"{count} points")


with test("operations' files, and files of strangers") as told:
    count = 0
    queue = Queue(Receiver("503 Retry-After:77").url + "/{id}")
    queue("add", "--delay", "1ms", input='{"n":1}\n')
    queue("run", "--now")
    (path,) = queue.files("deferred")
    contents = path.read_bytes()
    header, *lines = contents.decode().splitlines()
    for number, line in enumerate([header, *lines]):
        if not line.startswith("{"):
            continue
        document = json.loads(line)
        for place, values in mutations(document):
            for value in values:
                changed = [header, *lines]
                changed[number] = replaced(document, place, value)
                copy = tempfile.mkdtemp(dir=scratch)
                shutil.copytree(queue.path, copy, dirs_exist_ok=True)
                other = Queue.standing(copy)
                (other.path / "deferred" / path.name).write_text("\n".join(changed) + "\n")
                for words in (["list"], ["show", "--json", json.loads(header)["id"]], ["show", json.loads(header)["id"]],
                              ["export"], ["run", "--now"]):
                    survives(other(*words), number, place, value, words)
                shutil.rmtree(copy)
                count += 1
    template = {"drainq": 1, "body": {"n": 1}, "createdAt": 0, "notBefore": 0, "expiresAt": 0, "length": 0}
    for key in [*list(template)[2:], "attempts", "drainq"]:
        for value in numbers + [json.dumps(moment) for moment in moments]:
            text = replaced(template | {key: 0}, (key,), value)
            (queue.path / "tmp/f").write_text(text)
            (queue.path / "tmp/f").rename(queue.path / f"new/{count}")
            count += 1
    survives(queue("run", "--now", "--until-empty", "--max-time", "2s"), "strangers' files")
    survives(queue("list"))
    told.append(f"{count} points")


with test("names") as told:
    count = 0
    queue = small()
    (path,) = queue.files("new")
    contents = path.read_bytes()
    stamp, _, rest = path.name.partition("-")
    for year in ("0000", "1969", "1970", "2262", "9999"):
        for due in ("", ",n=99991231T235959Z", ",n=19700101T000000Z"):
            for counts in ("", ",a=9999", ",a=9999,i=99", ",i=5", ",a=99999999999999999999"):
                name = f"{year}{stamp[4:]}-" + rest.replace(".json", "") + due + counts + ".json"
                for state in ("new", "deferred", "failed"):
                    other = small()
                    (other.path / state / name).write_bytes(contents)
                    for words in (["list"], ["status"], ["run", "--now"], ["check"]):
                        survives(other(*words), state, name, words)
                    shutil.rmtree(other.path.parent)
                    count += 1
    told.append(f"{count} points")


with test("answers") as told:
    values = numbers + ["Fri, 31 Dec 9999 23:59:59 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Thu, 01 Jan 0000 00:00:00 GMT", "1, 1"]
    answers = [f"{status} Retry-After:{json.dumps(value)}" for status in (429, 503) for value in values]
    answers += [f"{status}" for status in (100, 199, 599, 999)] + [f"200 Content-Length:{value}" for value in numbers]
    count = 0
    for answer in answers:
        try:
            strange = Receiver(answer)
        except AssertionError:
            continue
        queue = small(strange.url + "/{id}")
        configuration = json.loads((queue.path / "drainq.json").read_text())
        configuration["routes"]["default"]["timeouts"] = {"total": "1s"}
        (queue.path / "drainq.json").write_text(json.dumps(configuration))
        for words in (["run"], ["list"], ["status"], ["show", *queue.operations()]):
            survives(queue(*words), answer, words)
        strange.end()
        shutil.rmtree(queue.path.parent)
        count += 1
    told.append(f"{count} points")


with test("variables") as told:
    queue, count = small(), 0
    for variable in ("COLUMNS", "LINES"):
        for value in numbers:
            # Only a terminal asks for it.
            result = subprocess.run(
                ["script", "-qec", " ".join([*queue.command("list")]), "/dev/null"], capture_output=True, text=True,
                stdin=subprocess.DEVNULL, env={**os.environ, variable: value, "TERM": "xterm"}, timeout=20)
            survives(result, variable, value)
            count += 1
    told.append(f"{count} points")

end()
