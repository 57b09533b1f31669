"""What every service of the gallery shares: tests, and a queue made from an example."""

import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

root = pathlib.Path(__file__).resolve().parents[3]
examples = root / "etc/drainq/examples"
binary = pathlib.Path(os.environ.get("DRAINQ", root / ".build/debug/drainq")).resolve()
# In memory where there is a file system for that: a gallery is not a test of disks.
memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
failed = False

for variable in list(os.environ):
    if variable.lower().endswith("_proxy") or variable.startswith("DRAINQ"):
        del os.environ[variable]


def run(name, module):
    """Runs the tests of a service: its functions whose names begin with `test_`, in their order. Where the module has a
    context manager `server`, it is entered once, and each test gets what it yields."""
    tests = [value for key, value in vars(module).items() if key.startswith("test_")]
    with contextlib.ExitStack() as stack:
        arguments = []
        if hasattr(module, "server"):
            with told(name, "the server starts"):
                arguments = [stack.enter_context(module.server())]
            if not arguments:
                return
        for test in tests:
            with told(name, test.__doc__.splitlines()[0].rstrip(".")):
                test(*arguments)


@contextlib.contextmanager
def told(name, sentence):
    """Prints a line for what is done within."""
    global failed
    start = time.monotonic()
    try:
        yield
    except Exception:
        failed = True
        print(f"not ok {name}: {sentence}")
        print("    " + traceback.format_exc()[-6000:].rstrip().replace("\n", "\n    "))
    else:
        print(f"ok {name}: {sentence} ({time.monotonic() - start:.1f} s)")
    sys.stdout.flush()


def equal(expected, got, what=""):
    assert expected == got, f"{what or 'value'}: expected {short(expected)}, got {short(got)}"


def short(value):
    text = repr(value)
    return text if len(text) <= 500 else f"{text[:500]}… ({len(text)} characters)"


def until(true, patience=20):
    """Waits for what a server does in its own time: until `true()`, which is returned."""
    end = time.monotonic() + patience
    while not (value := true()):
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.05)
    return value


class Example:
    """A queue with one of the examples, as it stands there but for its addresses and for the paths below /etc and /var.

    `origins` maps each origin that the example names to one on this machine, and must name them all. `secrets` are the
    files below /etc/drainq, `replacing` other texts; each of them must be there. `commands` are programs for PATH."""

    def __init__(self, name, origins, secrets=None, replacing=None, commands=None):
        self.name = name
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"drainq-{name}-", dir=memory))
        self.queue = self.directory / "queue"
        for path in ["etc/drainq", "var/lib", "bin"]:
            (self.directory / path).mkdir(parents=True)
        self.text = (examples / f"{name}.json5").read_text()
        self.configuration = self.localized(self.text, origins, replacing or {})
        for file, value in (secrets or {}).items():
            self.secret(file, value)
        (self.directory / "bin/drainq").symlink_to(binary)
        for command, script in (commands or {}).items():
            self.command(command, script)
        self.environment = os.environ | {
            "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}",
            "DRAINQ_QUEUE": str(self.queue),
            "HOME": str(self.directory),
        }
        self.drainq("init")
        self.configure()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory, ignore_errors=True)

    def localized(self, text, origins, replacing):
        for original, replacement in (origins | replacing).items():
            assert original in text, f"the example has no '{original}' in it"
            text = text.replace(original, replacement)
        text = re.sub(r"(?<![\w.])/(etc/drainq|var/lib)/", rf"{self.directory}/\1/", text)
        code = re.sub(r"^\s*//.*$", "", text, flags=re.M)
        elsewhere = re.findall(r"https?://(?!127\.0\.0\.1\b|localhost\b)[^\"/]+", code)
        assert not elsewhere, f"the test leaves these addresses as they are: {elsewhere}"
        return text

    def configure(self):
        (self.queue / "drainq.json").write_text(self.configuration)

    def secret(self, file, value):
        """Writes a file below /etc/drainq, for its owner alone."""
        path = self.directory / "etc/drainq" / file
        path.touch(mode=0o600)
        path.write_text(value + "\n")

    def command(self, name, script):
        path = self.directory / "bin" / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def file(self, path, content):
        """Writes a file below the directory, which stands for /."""
        path = self.directory / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return str(path)

    def drainq(self, *arguments, input="", status=0):
        """What the program prints, where it ends with that status; `None` is any of those of a run that came to its end."""
        ended = subprocess.run(
            [str(binary), *map(str, arguments)], input=input, capture_output=True, text=True, timeout=60,
            env=self.environment, cwd=self.directory,
        )
        assert ended.returncode in ((0, 1, 69, 75) if status is None else (status,)), (
            f"drainq {' '.join(map(str, arguments))}: status {ended.returncode}, not {status}\n"
            f"{ended.stdout[-2000:]}{ended.stderr[-2000:]}"
        )
        return ended.stdout

    def add(self, *payloads, **options):
        """Adds an operation for each payload; the ids. Options are those of `drainq add`, with _ for -."""
        words = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)]
        lines = "".join(json.dumps(payload, ensure_ascii=False) + "\n" for payload in payloads)
        return self.drainq("add", *words, input=lines).split()

    def run(self, *arguments, status=0):
        """The events of a run, where it ends with that status."""
        return [json.loads(line) for line in self.drainq("run", "--json", *arguments, status=status).splitlines()]

    def rows(self):
        return [json.loads(line) for line in self.drainq("list", "--json").splitlines()]

    def states(self):
        """How many operations are in each state; those of `delivered` have left the queue."""
        return dict(collections.Counter(row["state"] for row in self.rows()))

    def is_in(self, **states):
        equal(states, self.states(), "states of the queue")

    def only(self, state):
        """The one operation in that state."""
        rows = [row for row in self.rows() if row["state"] == state]
        equal(1, len(rows), f"operations {state}")
        return rows[0]

    def waits_uncharged(self, status=None):
        """Every deferred operation waits because the server asked for time: no attempt counts."""
        rows = self.rows()
        assert rows and all(row.get("attempts", 0) == 0 for row in rows), rows
        if status:
            assert any(row.get("lastStatus") == status for row in rows), rows

    def follow_its_lines(self):
        """Does what the comment that begins the example says, line by line: the queue is empty afterwards."""
        lines = re.findall(r"^//   (.*)$", self.text, flags=re.M)
        assert len(lines) >= 3, "three lines that use it"
        assert any(" add" in line for line in lines) and lines[-1].startswith("drainq run"), lines
        # It is made for another queue than this one, which has the addresses of this machine already.
        equal(f"drainq init --example {self.name}", lines[0])
        self.drainq("init", "--queue", self.directory / "made", "--example", self.name)
        equal(self.text, (self.directory / "made/drainq.json").read_text().split("\n", 1)[1])
        for line in lines[1:]:
            line = re.sub(r"(?<![\w.])/(etc/drainq|var/lib)/", rf"{self.directory}/\1/", line)
            ended = subprocess.run(
                ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, timeout=60,
                env=self.environment, cwd=self.directory,
            )
            assert ended.returncode == 0, f"{line}: status {ended.returncode}\n{ended.stdout}{ended.stderr}"
        self.is_in()
