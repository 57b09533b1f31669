#!/usr/bin/env python3
"""How far one machine goes: the figures of drainq-sizing(7), measured.

    swift build -c release
    Tests/Benchmarks/sizing.py             print them
    Tests/Benchmarks/sizing.py --record    and put them into man/drainq-sizing.7
    Tests/Benchmarks/sizing.py --quick     a hundredth of it, once: whether all this works

Queues lie on an ext4 of their own with a journal, in an image that is mounted as a loop device and removed at the end;
without root, or with --here DIR, in a directory. The receiver is drainq's own, on the loopback interface of the same
machine, and has its share of the processors. Each figure is the median of several; beside some stands what the bare
system takes for the like of it at the same time, because ratios carry over and absolute times do not. `DRAINQ=PATH`
measures another binary. Takes about five minutes.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

root = pathlib.Path(__file__).resolve().parents[2]
drainq = pathlib.Path(os.environ.get("DRAINQ", root / ".build" / "release" / "drainq")).resolve()
body = '{"text":"' + "x" * 1013 + '"}\n'
quick = False


def scaled(count):
    return count // 100 if quick else count


class Ended:
    """A finished process: its times in seconds, its largest memory in bytes, its output."""

    def __init__(self, *arguments, given=None, queue=None, allowed=(0,)):
        environment = {**os.environ, "DRAINQ_QUEUE": str(queue), "SWIFT_BACKTRACE": "enable=no"}
        with tempfile.TemporaryFile() as output, open(given or os.devnull, "rb") as source:
            start = time.perf_counter()
            process = subprocess.Popen(
                arguments, stdin=source, stdout=output, stderr=subprocess.STDOUT, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            self.wall = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            # No more than is looked at: what this process takes would count as its children's, which begin as its copies.
            self.output = output.read(1 << 16).decode()
        assert process.returncode in allowed, (arguments, process.returncode, self.output[-1000:])
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss * 1024
        self.figures = self.wall, self.cpu, self.memory


def medians(count, measure):
    """Of each element of what `measure` returns, the median; one more before them is not counted."""
    if quick:
        return measure()
    measure()
    return [statistics.median(column) for column in zip(*(measure() for _ in range(count)))]


# --- The ground


@contextlib.contextmanager
def journaled(directory):
    """A directory on an ext4 with a journal, and what it is."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="drainq-sizing-", dir=directory))
    mount = work / "mount"
    mount.mkdir()
    kind = None
    try:
        if directory is None and os.geteuid() == 0:
            image = work / "image"
            with open(image, "wb") as file:
                file.truncate(8 << 30)
            subprocess.run(["mkfs.ext4", "-q", "-F", "-N", "1500000", image], check=True)
            if subprocess.run(["mount", "-o", "loop,noatime", image, mount]).returncode == 0:
                kind = "a journaled ext4 in a loop image"
        if kind is None:
            kind = subprocess.check_output(["stat", "-f", "-c", "%T", mount], text=True).strip()
        yield mount, kind
    finally:
        if os.path.ismount(mount):
            subprocess.run(["umount", mount], check=True)
        shutil.rmtree(work)


@contextlib.contextmanager
def receiver():
    with tempfile.TemporaryDirectory() as work:
        where = pathlib.Path(work) / "url"
        process = subprocess.Popen(
            [drainq, "receive", "--answer", "204", "--max-time", "30m", "--url-file", where], stdout=subprocess.DEVNULL)
        try:
            while not (where.exists() and where.read_text().strip()):
                assert process.poll() is None, "the receiver has ended"
                time.sleep(0.01)
            yield where.read_text().strip()
        finally:
            process.terminate()
            process.wait()


class Ground:
    def __init__(self, directory, url):
        self.directory = directory
        self.url = url
        self.inputs = {}
        self.count = 0

    def queue(self, **route):
        """A new queue on which a run tells its counts."""
        self.count += 1
        queue = self.directory / f"queue-{self.count}"
        Ended(drainq, "init", "--quiet", queue=queue)
        transport = route.pop("transport", "auto")
        fields = ", ".join(f"{name}: {value}" for name, value in route.items())
        (queue / "drainq.json").write_text(
            f'{{ routes: {{ default: {{ url: "{self.url}/{{type}}", {fields} }} }},\n'
            f'  destinations: {{ "{self.url}": {{ transport: "{transport}" }} }} }}\n')
        return queue

    def lines(self, count, text=body):
        """A file of so many payloads."""
        key = (count, len(text))
        if key not in self.inputs:
            self.inputs[key] = self.directory / f"lines-{count}-{len(text)}"
            with open(self.inputs[key], "w") as file:
                file.writelines(text for _ in range(count))
        return self.inputs[key]

    def add(self, queue, count, *options, text=body):
        return Ended(drainq, "add", "--quiet", *options, given=self.lines(count, text), queue=queue)


# --- The figures: what is measured, the figure, and what the bare system takes


def drained(ground, name, count, runs=1, **route):
    """Operations a second, processor time and memory of draining them with so many runs at once."""

    def once():
        queue = ground.queue(**route)
        ground.add(queue, count, "--sync=none")
        command = f'for _ in {" ".join("x" * runs)}; do "{drainq}" run --quiet --limit {count} & done; wait'
        ended = Ended("sh", "-c", command, queue=queue)
        left = Ended(drainq, "list", queue=queue).output
        assert not left, left
        shutil.rmtree(queue)
        return count / ended.wall, ended.cpu / count * 1000, ended.memory

    rate, cpu, memory = medians(3, once)
    yield f"{name}", f"{rate:,.0f} a second", f"{cpu:.2f} s of processor time for 1,000, {memory / 1e6:.0f} MB"


def bare_files(directory, count):
    """Seconds for one small file written, synced, renamed, and its directory synced."""
    content = body.encode()
    descriptor = os.open(directory, os.O_RDONLY)
    start = time.perf_counter()
    for index in range(count):
        with open(directory / "temporary", "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(directory / "temporary", directory / str(index))
        os.fsync(descriptor)
    spent = (time.perf_counter() - start) / count
    os.close(descriptor)
    return spent


def adding(ground):
    queue = ground.queue()
    one = ground.lines(1)
    wall, = medians(15, lambda: (Ended(drainq, "add", "--quiet", given=one, queue=queue).wall,))
    bare = ground.directory / "bare"
    bare.mkdir()
    spent = statistics.median(bare_files(bare, 20) for _ in range(5))
    start, = medians(15, lambda: (Ended("true").wall,))
    yield ("one durable add, a process", f"{wall * 1000:.1f} ms",
           f"a file synced and renamed {spent * 1000:.1f} ms, a process {start * 1000:.1f} ms")
    count = scaled(10_000)
    wall, = medians(3, lambda: (ground.add(ground.queue(), count).wall,))
    loose, = medians(3, lambda: (ground.add(ground.queue(), count, "--sync=none").wall,))
    yield "bulk add, durable", f"{count / wall:,.0f} a second", f"{count / loose:,.0f} with --sync=none"


def idle(ground):
    queue = ground.queue()
    wall, cpu, memory = medians(20, lambda: Ended(drainq, "run", queue=queue).figures)
    start, = medians(20, lambda: (Ended("true").wall,))
    yield ("a run on an empty queue", f"{wall * 1000:.1f} ms",
           f"{cpu * 1000:.1f} ms of processor time, {memory / 1e6:.0f} MB; a process {start * 1000:.1f} ms")


def reading(directory):
    """Seconds for reading the names."""
    start = time.perf_counter()
    with os.scandir(directory) as entries:
        for _ in entries:
            pass
    return time.perf_counter() - start


def choosing(ground):
    queue = ground.queue()
    held = 0
    for size in (1_000, 100_000, 1_000_000)[:1 if quick else None]:
        ground.add(queue, size - held, "--sync=none", text='{"n":1}\n')
        held = size
        wall, _, memory = medians(3, lambda: Ended(drainq, "run", "--dry-run", "--limit", "5", queue=queue).figures)
        bare, = medians(3, lambda: (reading(queue / "new"),))
        yield (f"choosing out of {size:,}", f"{wall * 1000:,.0f} ms",
               f"{memory / 1e6:.0f} MB; reading the names {bare * 1000:,.0f} ms")
    shutil.rmtree(queue)


def space(ground):
    queue = ground.queue()

    def used():
        free = os.statvfs(ground.directory)
        return free.f_bfree * free.f_frsize, free.f_ffree

    count = scaled(10_000)
    ground.lines(count)
    subprocess.run(["sync", "-f", ground.directory], check=True)
    before = used()
    ground.add(queue, count)
    subprocess.run(["sync", "-f", ground.directory], check=True)
    after = used()
    size = next((queue / "new").iterdir()).stat().st_size
    yield ("disk for an operation of 1 KB", f"{(before[0] - after[0]) / count / 1024:.1f} KiB",
           f"a file of {size} bytes, its name, {(before[1] - after[1]) / count:.0f} inode")


def queues(ground):
    count = scaled(200)
    made = [ground.queue() for _ in range(count)]
    inodes = sum(1 for _ in made[0].rglob("*")) + 1
    cpu, = medians(3, lambda: (sum(Ended(drainq, "run", queue=queue).cpu for queue in made) / count,))
    yield ("an idle queue that is run once a minute", f"{cpu / 60:.3%} of a core",
           f"{60 / cpu:,.0f} queues to a core, {inodes} inodes each")


def destinations(ground):
    """Ten operations for each of many destinations, which answer, and which are not there."""
    many = scaled(1_000)
    port = ground.url.rsplit(":", 1)[1]

    def once(port):
        queue = ground.queue()
        lines = ground.directory / "destinations"
        with open(lines, "w") as file:
            for number in range(many * 10):
                url = f"http://d{number % many}.localhost:{port}/x"
                file.write(json.dumps({"drainq": 1, "url": url, "payload": number}) + "\n")
        Ended(drainq, "add", "--quiet", "--envelope", "--sync=none", given=lines, queue=queue)
        ended = Ended("sh", "-c", f'"{drainq}" run --quiet --limit {many * 10} || test $? = 75', queue=queue)
        left = Ended(drainq, "list", "--state", "new", queue=queue).output
        assert bool(left) == (port == 1), left
        shutil.rmtree(queue)
        return ended.wall, ended.memory

    (up, memory), (down, _) = medians(3, lambda: once(port)), medians(3, lambda: once(1))
    yield (f"ten for each of {many:,} destinations", f"{up:.1f} s",
           f"{memory / 1e6:.0f} MB; {down:.1f} s to find that none of them is there")


def figures(ground):
    for name, route in [
            ("drained by libcurl", {"transport": "libcurl"}), ("drained by URLSession", {"transport": "urlsession"}),
            ("drained in batches of 100", {"transport": "libcurl", "batch": "{ max: 100 }"})]:
        yield from drained(ground, name, scaled(5_000), **route)
    yield from drained(ground, "drained by two runs at once", scaled(5_000), runs=2, transport="libcurl")
    yield from adding(ground)
    yield from idle(ground)
    yield from choosing(ground)
    yield from space(ground)
    yield from queues(ground)
    yield from destinations(ground)


def machine():
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    return f"{os.cpu_count()} cores ({model[1] if model else platform.machine()}), Linux {platform.release()}"


def record(page, rows, where):
    """Replaces what stands between the marks of the page."""
    text = page.read_text()
    table = [".Bl -tag -width Ds"]
    for name, figure, beside in rows:
        table += [f".It {name}", figure, ".Po", *textwrap.wrap(beside, 78), ".Pc"]
    table += [".El", ".Pp", *textwrap.wrap(f"On {where}, {datetime.date.today():%B %Y}.", 78)]
    begin, end = '.\\" figures: Tests/Benchmarks/sizing.py --record\n', '.\\" end of figures\n'
    head, rest = text.split(begin)
    page.write_text(head + begin + "\n".join(table) + "\n" + end + rest.split(end, 1)[1])


def main():
    global quick
    parser = argparse.ArgumentParser(description="measure how far this machine goes")
    parser.add_argument("--record", metavar="PAGE", nargs="?", type=pathlib.Path, const=root / "man/drainq-sizing.7",
                        help="put the figures into man/drainq-sizing.7")
    parser.add_argument("--here", metavar="DIR", help="make the queues here, on whatever file system this is")
    parser.add_argument("--quick", action="store_true", help="measure a hundredth, once")
    options = parser.parse_args()
    quick = options.quick
    if not os.access(drainq, os.X_OK):
        sys.exit("build first: swift build -c release")
    rows = []
    with journaled(options.here) as (directory, kind), receiver() as url:
        where = f"{machine()}, {kind}"
        print(where)
        for row in figures(Ground(directory, url)):
            rows.append(row)
            print(f"{row[0]:40} {row[1]:20} ({row[2]})", flush=True)
    if options.record:
        record(options.record, rows, where)


main()
