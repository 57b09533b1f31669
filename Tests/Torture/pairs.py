#!/usr/bin/env python3
"""Two commands at the same moment on one operation: each pair of the sixteen verbs that change operations, while the operation
waits, is deferred, has failed or is in quarantine; also with one of the two killed. These invariants hold: the operation is in
one place; it arrives once, and once more for each command that has put it in again; a command that has answered 0 has done
what it says; what no command has removed arrives or is there.

By default a sample of 150 of 1,088 cells; `DRAINQ_TORTURE=8 Tests/Torture/pairs.py` takes all.
"""

import collections
import concurrent.futures
import itertools
import json
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

from torture import Queue, Receiver, effort, end, expect, scratch, test

Verb = collections.namedtuple("Verb", "words input", defaults=(None,))

# {name}: the operation's id, or its file in quarantine. {file}: a new file.
verbs = {
    "retry": Verb("retry {name}"),
    "as newest": Verb("retry --as-newest {name}"),
    "drop": Verb("drop {name}"),
    "drop with followers": Verb("drop --followers {name}"),
    "hold": Verb("hold {name}"),
    "release": Verb("release {name}"),
    "export and drop": Verb("export --then-drop --to {file} {name}"),
    "import": Verb("import", "exported"),
    "replace": Verb("import --replace", "edited"),
    "atomic add": Verb("add --atomic --envelope", "envelope"),
    "add": Verb("add --envelope", "envelope"),
    "send": Verb("send --envelope", "envelope"),
    "run": Verb("run --now"),
    "repair": Verb("check --repair"),
    "pause": Verb("pause"),
    "resume": Verb("resume"),
}
states = ("new", "deferred", "failed", "quarantined")
adding = {"import", "atomic add", "add", "send"}
removing = {"drop", "drop with followers", "export and drop"}
# What a command may answer: nothing was done, or another process was faster.
refusals = {1, 65, 66, 69, 74, 75}

receiver = Receiver("/bad/* 404 *1000000000", "204")
envelope = json.dumps({"drainq": 1, "id": "x", "key": "k", "payload": {"text": "first", "n": 1}})


def configure(queue, url, **route):
    route = {"url": url, "key": "k", "ordering": "key", "onFailure": "hold", "retry": {"base": "1ms", "attempts": 9}, **route}
    (queue.path / "drainq.json").write_text(json.dumps({"routes": {"default": route}}))


def prepared(state):
    """A queue whose operation `x` is in the state, with `y` of its key behind it."""
    queue = Queue("http://127.0.0.1:1/")
    follower = json.dumps({"drainq": 1, "id": "y", "key": "k", "payload": {"text": "follower", "n": 1}})
    if state == "quarantined":
        configure(queue, receiver.url, require={"pointer": "/missing", "exists": True})
        expect(queue("add", "--envelope", input=envelope).returncode == 65)
    else:
        configure(queue, receiver.url + "/bad/{id}" if state == "failed" else "http://127.0.0.1:1/")
        expect(queue("add", "--envelope", input=envelope).returncode == 0)
        if state != "new":
            queue("run")
    configure(queue, receiver.url + "/PLACE/{id}/{payload.text}")
    expect(queue("add", "--envelope", input=follower).returncode == 0)
    return queue


def places(queue, id):
    """The places of an operation. A line in quarantine is none yet."""
    return queue.operations().get(id, [])


originals = {state: prepared(state) for state in states}
# A line in quarantine cannot be exported.
exported = {state: originals[state]("export", "x").stdout or originals["new"]("export", "x").stdout for state in states}
expect(all(exported.values()), "nothing was exported")


def name_in(queue, state):
    if state != "quarantined":
        return "x"
    return next(path.name for path in (queue.path / "quarantine").iterdir() if path.suffix != ".reason")


def cell(number, pair, state, kills):
    place = f"c{number}"
    path = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "q"
    shutil.copytree(originals[state].path, path, symlinks=True)
    queue = Queue.standing(path)
    configuration = path / "drainq.json"
    configuration.write_text(configuration.read_text().replace("PLACE", place))
    name = name_in(queue, state)
    processes = []
    for verb in pair:
        words, text = verbs[verb]
        processes.append(subprocess.Popen(
            queue.command(*(word.format(name=name, file=path.parent / f"exported-{len(processes)}") for word in words.split())), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        time.sleep(random.choice([0, 0, random.uniform(0, 0.03)]))
        given = {
            "exported": exported[state], "edited": exported[state].replace('"first"', '"edited"'),
            "envelope": envelope + "\n", None: ""}[text]
        # The pipe takes it without a reader.
        processes[-1].stdin.write(given)
        processes[-1].stdin.close()
        processes[-1].stdin = None
    if kills:
        time.sleep(random.uniform(0, 0.05))
        processes[random.randrange(2)].kill()
    ended = [process.communicate(timeout=60) for process in processes]
    statuses = [process.returncode for process in processes]
    answered = {verb for verb, status in zip(pair, statuses) if status == 0}
    said = f"cell {number}: {pair} of a {state} operation answered {statuses}: {ended}"
    expect(all(status in {0, -9 if kills else 0} | refusals for status in statuses), said)
    # A command that is killed between its calls leaves the old file beside the new one, until the next run.
    expect(len(places(queue, "x")) <= 1 or -9 in statuses, said, "and the operation is in", places(queue, "x"))
    # What is left arrives, unless it has failed.
    for _ in range(3):
        queue("resume")
        queue("release", "x")
        queue("run", "--now")
    arrived = [target.split("/")[3] for target in (request["target"] for request in receiver.requests())
               if target.startswith(f"/{place}/x/")]
    followers = sum(request["target"].startswith(f"/{place}/y/") for request in receiver.requests())
    left, left_followers = places(queue, "x"), places(queue, "y")
    in_quarantine = state == "quarantined" and (path / "quarantine" / name).exists()
    said += f"; arrived: {arrived}, left: {left}; followers arrived: {followers}, left: {left_followers}"
    added = sum(verb in adding for verb in pair)
    removed = removing & (set(pair) if kills else answered)
    expect(len(left) <= 1, said)
    expect(len(arrived) <= 1 + added + kills, said, "- too often")
    expect(removed or arrived or left or in_quarantine, said, "- lost")
    expect(followers <= 1 + kills, said, "- the follower came too often")
    expect(followers or left_followers or "drop with followers" in removed, said, "- the follower is lost")
    if kills:
        return
    if removed and not added:
        expect(not arrived and not left and not in_quarantine, said, "- a removed operation is not gone")
    if len(answered & removing) == 2 or pair[0] == pair[1] and pair[0] in removing and statuses == [0, 0]:
        expect(added, said, "- both have removed one operation")
    files = [file.read_text() for file in path.parent.glob("exported-*")]
    if "replace" in answered and not added:
        expect("first" not in arrived, said, "- what was replaced has arrived")
        if "export and drop" in answered:
            expect(any("edited" in file for file in files), said, files, "- what was dropped was not exported")
    if "export and drop" in answered:
        expect(any('"id":"x"' in file for file in files), said, files, "- what was dropped was not exported")


cells = list(itertools.product(itertools.combinations_with_replacement(verbs, 2), states, (False, True)))
if effort < 8:
    cells = random.sample(cells, 150 * effort)

with test("of two commands at the same moment each has done what it answers, and nothing is lost or there twice") as told:
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        problems = []

        def tried(numbered):
            number, (pair, state, kills) = numbered
            try:
                cell(number, pair, state, kills)
            except AssertionError as problem:
                problems.append(str(problem))

        list(pool.map(tried, enumerate(cells)))
    expect(not problems, f"{len(problems)} cells:\n" + "\n".join(problems[:10]))
    told.append(f"{len(cells)} cells")

receiver.end()
end()
