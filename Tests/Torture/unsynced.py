#!/usr/bin/env python3
"""A file system that drops what was not synced, and reorders the rest.

The system calls of the real binary are written down by strace and played again on a model of a disk, which knows of
each name and each byte whether it has been synced. From each point of the log crash states are drawn: any subset of the
names that were not synced, any part, or zeros, of the bytes. A rename is there, or not, or shows the file under both
names (no file system in use shows it under none). Where renames are links, link and unlink are two steps.

- Every operation that had been answered for, and was not removed by then, is there and whole.
- Nothing stands in the queue that is not whole.
- What an answer has left for later operations of its key is there, or the operation is.
- An older value of a key has not come back alone when the newer one has been delivered.
- The real binary, run on a sample of these states, delivers each operation once, and leaves nothing behind.

Then the syncs that the promise hangs on are left out of the log: each must be missed.
"""

import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import tempfile

from torture import Queue, Receiver, add_chains, effort, end, expect, listed, made, parse, scratch, test, with_chain

rows = ("new", "deferred", "failed", "delivered", "claimed")
calls = "openat,write,fsync,syncfs,mkdirat,renameat,renameat2,linkat,unlinkat"


# When others have written their files: their operations were created then.
written = 1_780_000_000


class Lost(AssertionError):
    """The promise was broken."""


class Disk:
    """Names and bytes as a process sees them, with what is not synced of them."""

    def __init__(self):
        # Inodes: a dictionary of names, or bytes.
        self.nodes, self.synced = {0: {}}, {0: {}}
        # Steps that are not synced, in order: each puts names and takes names, of directories.
        self.pending = []

    def load(self, path, inode=0):
        """What stands in a real directory, synced."""
        for entry in listed(path):
            child = len(self.nodes)
            self.nodes[inode][entry.name] = self.synced[inode][entry.name] = child
            if entry.is_dir(follow_symlinks=False):
                self.nodes[child], self.synced[child] = {}, {}
                self.load(entry.path, child)
            else:
                self.nodes[child] = self.synced[child] = pathlib.Path(entry.path).read_bytes()

    def find(self, path):
        inode = 0
        for name in path.split("/"):
            inode = inode if name in ("", ".") else self.nodes[inode][name]
        return inode

    def place(self, path):
        parent, _, name = path.rpartition("/")
        return self.find(parent), name

    def step(self, puts=(), takes=()):
        for directory, name, inode in puts:
            self.nodes[directory][name] = inode
        for directory, name, inode in takes:
            del self.nodes[directory][name]
        self.pending.append((list(puts), list(takes)))

    def make(self, path, content):
        inode = len(self.nodes)
        self.nodes[inode], self.synced[inode] = content, type(content)()
        self.step(puts=[(*self.place(path), inode)])

    def move(self, source, target, keeps=False):
        inode = self.find(source)
        self.step([(*self.place(target), inode)], [] if keeps else [(*self.place(source), inode)])

    def remove(self, path):
        self.step(takes=[(*self.place(path), self.find(path))])

    def write(self, path, data):
        self.nodes[self.find(path)] += data

    def sync(self, path):
        inode = self.find(path)
        if isinstance(self.nodes[inode], bytes):
            self.synced[inode] = self.nodes[inode]
            return
        left = []
        for puts, takes in self.pending:
            if any(directory == inode for directory, _, _ in takes):
                apply(self.synced, puts, takes)
            elif any(directory == inode for directory, _, _ in puts):
                # The source of a rename may still show it too.
                apply(self.synced, puts, [])
                if takes:
                    left.append(([], takes))
            else:
                left.append((puts, takes))
        self.pending = left

    def sync_all(self):
        for puts, takes in self.pending:
            apply(self.synced, puts, takes)
        self.pending = []
        for inode, content in self.nodes.items():
            if isinstance(content, bytes):
                self.synced[inode] = content

    def crash(self, chance):
        """One of the states that a crash can leave, path → bytes; a directory's own path → None."""
        nodes = {inode: dict(content) if isinstance(content, dict) else content for inode, content in self.synced.items()}
        likely = chance.choice((0, 0.1, 0.5, 0.9, 1))
        for puts, takes in self.pending:
            if chance.random() < likely:
                apply(nodes, puts, takes if not puts or chance.random() < 0.8 else [])
        for inode, content in self.nodes.items():
            if isinstance(content, bytes) and content != self.synced[inode]:
                rest = content[len(self.synced[inode]):]
                torn = rest[: chance.randrange(len(rest))]
                nodes[inode] += chance.choice((b"", torn, b"\0" * len(rest), rest, rest))
        return tree(nodes)

    def now(self):
        return tree(self.nodes)


def apply(nodes, puts, takes):
    for directory, name, inode in puts:
        nodes[directory][name] = inode
    for directory, name, inode in takes:
        if nodes[directory].get(name) == inode:
            del nodes[directory][name]


class Content(bytes):
    """The bytes of a file, which knows its inode: two names of one file are no two files."""


def tree(nodes, inode=0, path=""):
    found = {}
    for name, child in nodes[inode].items():
        if isinstance(nodes[child], dict):
            found[path + name] = None
            found.update(tree(nodes, child, f"{path}{name}/"))
        else:
            found[path + name] = Content(nodes[child])
            found[path + name].inode = child
    return found


# MARK: - The log

text = r'"((?:\\x[0-9a-f]{2})*)"'
patterns = {
    "make": rf'openat\(\d+<ROOT>, {text}, [A-Z_|]*O_CREAT.*\) = \d+',
    "directory": rf'mkdirat\(\d+<ROOT>, {text}, .*\) = 0',
    "write": rf'write\(\d+<ROOT/(.*?)>, {text}, \d+\) = (\d+)',
    "answer": rf'write\(1<.*?>, {text}, \d+\) = (\d+)',
    "sync": r'fsync\(\d+<ROOT(/.*?)?>\) = 0',
    "sync all": r'syncfs\(\d+<ROOT.*>\) = 0',
    "move": rf'renameat2?\(\d+<ROOT>, {text}, \d+<ROOT>, {text}(?:, \w+)?\) = 0',
    "link": rf'linkat\(\d+<ROOT>, {text}, \d+<ROOT>, {text}, 0\) = 0',
    "remove": rf'unlinkat\(\d+<ROOT>, {text}, (?:0|AT_REMOVEDIR)\) = 0',
}


def decoded(digits):
    return bytes.fromhex((digits or "").replace("\\x", ""))


def events(queue, words, input, links):
    """What a command does to the queue, in order."""
    log = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "log"
    strace = ["strace", "-qq", "-y", "-xx", "-s", "1000000", "-o", str(log), "-e", "trace=" + calls]
    if links:
        strace += ["-e", "inject=renameat2:error=EINVAL"]
    result = queue(*words, input=input, before=strace)
    expect(result.returncode in (0, 1, 75), result.stderr)
    # Of the main thread alone, which is the one that touches the queue. Paths of descriptors may be in hex too.
    plain = re.sub(r"<((?:\\x[0-9a-f]{2})+)>", lambda match: f"<{decoded(match[1]).decode()}>", log.read_text())
    root = re.escape(str(queue.path))
    compiled = {kind: re.compile(pattern.replace("ROOT", root)) for kind, pattern in patterns.items()}
    for line in plain.splitlines():
        for kind, pattern in compiled.items():
            if match := pattern.search(line):
                yield kind, match.groups()
                break


def play(disk, kind, groups):
    if kind == "make":
        path = decoded(groups[0]).decode()
        if path not in disk.now():
            disk.make(path, b"")
    elif kind == "directory":
        disk.make(decoded(groups[0]).decode(), {})
    elif kind == "write":
        disk.write(groups[0], decoded(groups[1])[: int(groups[2])])
    elif kind == "sync":
        disk.sync((groups[0] or "/")[1:])
    elif kind == "sync all":
        disk.sync_all()
    elif kind in ("move", "link"):
        disk.move(decoded(groups[0]).decode(), decoded(groups[1]).decode(), keeps=kind == "link")
    elif kind == "remove":
        disk.remove(decoded(groups[0]).decode())


# MARK: - Invariants

def operations(state):
    """id → states of whatever stands in a row under a canonical name; all of it must be whole."""
    found = {}
    for path, content in state.items():
        row, _, name = path.partition("/")
        if row in rows and content is not None and re.match(r"\d{8}T", name.rsplit("/", 1)[-1]):
            try:
                header, body = parse(content)
                if len(body) != header["length"]:
                    raise ValueError(f"{len(body)} of {header['length']} bytes")
            except (ValueError, KeyError) as error:
                raise Lost(f"{path} is not whole: {error}") from error
            found.setdefault(header["id"], []).append(row)
    return found


def examine(promised, now, state):
    found = operations(state)
    standing = operations(now)
    for operation in promised:
        if operation in standing and operation not in found:
            raise Lost(f"{operation} is lost, which stood in {standing[operation]}")
        newest = re.sub(r"-\d$", "-2", operation)
        if newest in promised and newest not in found and operation in found:
            raise Lost(f"{operation} has come back without {newest}")
        if operation.startswith("create-") and operation not in found and not is_kept(operation[-1], state):
            raise Lost(f"{operation} is delivered, and what its answer left is lost")
    return found


def is_kept(key, state):
    """Whether the value is there that an answer has left for the key."""
    content = state.get(f"state/keys/{hashlib.sha256(key.encode()).hexdigest()[:24]}.json", b"")
    try:
        return json.loads(content)["values"]["id"]["value"] == "made"
    except ValueError:
        return False


def recover(state, scenario, found, now):
    """What the real binary makes of a state that a crash has left of what stood there."""
    receiver = scenario["good"] = scenario["good"] or Receiver(made)
    seen = len(receiver.ids())
    place = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "q"
    place.mkdir()
    names = {}
    for path, content in state.items():
        if content is None:
            (place / path).mkdir(mode=0o700)
        elif content.inode in names:
            os.link(names[content.inode], place / path)
        else:
            names[content.inode] = place / path
            (place / path).write_bytes(content)
            os.utime(place / path, (written, written))
    queue = Queue.standing(place)
    configuration = place.with_name("drainq.json")
    configuration.write_text(json.dumps(with_chain({"routes": {"default": {"url": receiver.url + "/{id}", **scenario["route"]}}})))
    result = queue("run", "--json", "--until-empty", "--now", "--config", configuration)
    # A file of others that shows under two names looks like a hard link: it is told, and kept in quarantine.
    isolated = list(queue.files("quarantine"))
    expect(result.returncode == (65 if isolated else 0), result.returncode, result.stderr)
    left = [path for row in ("new", "deferred", "claimed", "tmp") for path in queue.files(row) if ",h=1" not in path.name]
    ids = receiver.ids()[seen:]
    if left or len(set(ids)) < len(ids) or isolated and scenario["name"] != "files of others":
        raise Lost(f"left: {left}, in quarantine: {isolated}, sent: {ids}")
    for name in (f"foreign-{index}" for index in range(3) if scenario["name"] == "files of others"):
        # What is in tmp/ alone has been delivered: its copy there had been renamed. Files of state/ tell of it.
        standing = [path for path, content in now.items() if not path.startswith(("tmp/", "state/")) and name in str(content)]
        if standing and name not in ids:
            expect(any(name in path.read_text() for path in isolated), name, "is lost, which stood in", standing)
    for operation, states in found.items():
        if operation not in ids and not set(states) & {"failed", "delivered"} and not scenario["route"] and scenario["name"] != "hold":
            raise Lost(f"{operation} was not delivered, which stood in {states}: {result.stderr} {sorted(state)}")
    shutil.rmtree(place.parent)


def lines(count):
    return "".join(json.dumps({"n": number}) + "\n" for number in range(count))


def put_others(queue):
    for index in range(3):
        path = queue.path / "tmp" / f"other-{index}"
        path.write_text(json.dumps({"drainq": 1, "id": f"foreign-{index}", "payload": index}))
        os.utime(path, (written, written))
        path.rename(queue.path / "new" / path.name)


def put_values(queue):
    for value in range(3):
        for key in "ab":
            queue("add", "--key", key, "--id", f"{key}-{value}", input="1")


def put_failed(queue):
    queue("add", input=lines(4))
    for path in list(queue.files("new")):
        path.rename(queue.path / "failed" / path.name)


def put(count):
    return lambda queue: queue("add", input=lines(count))


def exported():
    other = Queue("http://localhost/")
    put(12)(other)
    return other("export").stdout


def scenario(name, words, ready=lambda queue: None, input="", answers=(), route={}, **configuration):
    return dict(name=name, words=words.split(), ready=ready, input=input, answers=answers, route=route,
                configuration=configuration, good=None)


scenarios = [
    scenario("add", "add", input=lines(2)),
    scenario("add, many lines", "add", input=lines(20)),
    scenario("add --atomic", "add --atomic", input=lines(3)),
    scenario("import", "import", input=exported()),
    scenario("delivered", "run", put(7)),
    scenario("deferred", "run", put(5), answers=["503"]),
    scenario("mixed", "run", put(8), answers=["204", "503", "404", "204"]),
    scenario("failed", "run", put(3), answers=["404"]),
    scenario("kept", "run", put(3), retention={"delivered": "1d"}),
    scenario("coalescing", "run", put_values, route={"coalesce": True}),
    scenario("files of others", "run", put_others),
    scenario("retry", "retry --all", put_failed),
    scenario("hold", "hold --all", put(3)),
    scenario("drop", "drop --all", put(3)),
    scenario("chains", "run", add_chains, answers=[made], route={"keep": {"id": "/id"}}),
]


def draw(scenario, chance, share, links=False, without=lambda kind, groups: False, recoveries=0):
    """Plays a scenario and looks at crash states of each point; returns how many, and how many the binary recovered."""
    queue = Queue(Receiver(*scenario["answers"]).url + "/{id}", None, scenario["route"], **scenario["configuration"])
    scenario["ready"](queue)
    disk = Disk()
    disk.load(queue.path)
    promised = set(operations(disk.now()))
    points, states = [], 0
    for kind, groups in list(events(queue, scenario["words"], scenario["input"], links)):
        if without(kind, groups):
            continue
        play(disk, kind, groups)
        if kind == "answer" and scenario["words"][0] in ("add", "import"):
            promised |= set(decoded(groups[0]).decode().split())
        now = disk.now()
        for _ in range(share):
            state = disk.crash(chance)
            found = examine(promised, now, state)
            states += 1
            points.append((state, found, now))
    expect(set(disk.now()) == set(tree_of(queue.path)), "the model is not what happened")
    for state, found, now in chance.sample(points, min(recoveries, len(points))):
        recover(state, scenario, found, now)
    return states, min(recoveries, len(points))


def tree_of(path):
    return [str(entry.relative_to(path)) for entry in path.rglob("*")]


for links in (False, True):
    way = "where renames are links" if links else "where a rename is one step"
    with test(f"whatever was not synced is dropped or reordered, {way}: nothing is lost") as told:
        states = recovered = 0
        for each in scenarios:
            chance = random.Random(f"{each['name']} {links}")
            try:
                more = draw(each, chance, 12 * effort, links, recoveries=4 * effort)
            except Lost as error:
                raise AssertionError(f"{each['name']}: {error}") from error
            states, recovered = states + more[0], recovered + more[1]
        told += [f"{states} states", f"{recovered} recovered by drainq"]


def is_file(kind, groups):
    return kind == "sync" and re.fullmatch(r"/tmp/.*/\d+", groups[0] or "")


def is_directory(kind, groups):
    return kind == "sync" and not is_file(kind, groups)


left_out = [
    ("the sync of a file", 0, is_file, False),
    ("the sync of a file's directory", 0, is_directory, False),
    ("the sync of many files", 1, lambda kind, groups: kind == "sync all", False),
    ("the sync of a directory of many", 1, is_directory, False),
    ("the sync of what is superseded", 9, is_directory, False),
    ("the sync of a kept value", 14, lambda kind, groups: kind == "sync" and "/state/keys/" in (groups[0] or ""), False),
    ("the sync of the directory of kept values", 14, lambda kind, groups: kind == "sync" and groups[0] == "/state/keys", False),
    ("the sync between a link and an unlink", 5, is_directory, True),
]
with test("a sync that is left out of the log is missed") as told:
    for what, index, without, links in left_out:
        try:
            draw(scenarios[index], random.Random(what), 40, links, without)
        except Lost:
            continue
        raise AssertionError(f"nobody misses {what}")
    told.append(f"{len(left_out)} syncs")

end()
