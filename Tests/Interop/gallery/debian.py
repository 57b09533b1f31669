"""Servers of Debian, unpacked into a directory of one's own: nothing is installed, so nothing is started and nothing is
left behind but a cache."""

import contextlib
import functools
import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "drainq-gallery"
apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}


@functools.cache
def update():
    """Once in a process."""
    subprocess.run([*apt, "update"], check=True, env=quiet)


def unpacked(name, *packages):
    """The directory that stands for / of these packages and of those that they need and that the machine lacks."""
    place = cache / name
    if place.exists():
        return place
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        update()
        simulated = subprocess.run(
            [*apt, "install", "--simulate", "--no-install-recommends", *packages],
            check=True, env=quiet, capture_output=True, text=True,
        ).stdout
        lacking = {line.split()[1] for line in simulated.splitlines() if line.startswith("Inst ")}
        # apt-get downloads as a user of its own.
        os.chmod(work, 0o777)
        subprocess.run(
            [*apt, "download", *sorted(lacking | set(packages))], check=True, cwd=work, env=quiet,
            stderr=subprocess.DEVNULL,
        )
        tree = pathlib.Path(work) / "tree"
        for package in pathlib.Path(work).glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, tree], check=True)
        tree.rename(place)
    return place


def libraries(place):
    """The environment in which a program of `place` finds its libraries."""
    found = {str(path.parent) for tree in ["lib", "usr/lib"] for path in (place / tree).rglob("*.so*")}
    return {"LD_LIBRARY_PATH": ":".join(sorted(found, key=len))} if found else {}


def free_port():
    """A port below the range that the kernel assigns from, so that nobody else gets it until a server listens there."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(min(10_000, first - 1000), first)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


class Server:
    """A program that listens on loopback ports. `stop` and `start` are an outage."""

    def __init__(self, command, port, environment=None, ready=None, patience=60):
        self.command, self.port, self.ready, self.patience = [str(word) for word in command], port, ready, patience
        self.environment = os.environ | (environment or {})
        self.url = f"http://127.0.0.1:{port}"
        self.log = tempfile.TemporaryFile()
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=self.environment,
            start_new_session=True,
        )
        end = time.monotonic() + self.patience
        while not self.listens():
            if self.process.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                said = self.log.read().decode(errors="replace")[-3000:]
                raise RuntimeError(f"{self.command[0]} does not answer (status {self.process.poll()}): {said}")
            time.sleep(0.05)

    def listens(self):
        try:
            if self.ready:
                return self.ask(self.ready)[0] < 400
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        except OSError:
            return False

    def stop(self):
        """Ends it, and what it has started: their process group is their own."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, 15)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, 9)
                self.process.wait()
        self.process = None

    def ask(self, path, body=None, method=None, headers=None):
        """Status and body of an answer; the server's own way to see what it has."""
        request = urllib.request.Request(self.url + path, body, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()


@contextlib.contextmanager
def served(*servers):
    """Starts the servers, and ends them; the last one is what the tests get."""
    try:
        for server in servers:
            server.start()
        yield servers[-1]
    finally:
        for server in reversed(servers):
            server.stop()


@contextlib.contextmanager
def directory(name):
    """A directory for what a server keeps."""
    place = pathlib.Path(tempfile.mkdtemp(prefix=f"drainq-{name}-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
