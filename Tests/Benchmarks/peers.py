"""The programs of others that are measured: where they are, how they are got, and how each is set up.

Debian's packages are unpacked into a directory of one's own: nothing is installed, so nothing is started either. Python's
modules go into a virtual environment beside them.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

from bench import background, cache, scratch, tool, unpacked, until

environment = cache / "venv"
packages = ["nginx", "parallel", "nullmailer", "syslog-ng-core", "syslog-ng-mod-http", "libivykis0", "libnet1"]
# What the measuring itself needs, and what is too entangled with the system to be unpacked.
needed = {"curl": "curl", "wrk": "wrk", "curl-config": "libcurl4-openssl-dev", "perl": "perl"}
modules = ["dirq", "requests", "httpx", "aiohttp"]
here = pathlib.Path(__file__).resolve().parent


def install():
    """Gets what is not there."""
    cache.mkdir(parents=True, exist_ok=True)
    lacking = [package for program, package in needed.items() if not shutil.which(program)]
    packed = not all(map(tool, ("nginx", "parallel", "nullmailer-queue", "syslog-ng")))
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    if lacking or packed:
        subprocess.run([*apt, "update"], check=True, env=quiet)
    if lacking:
        subprocess.run([*apt, "install", "--yes", "--no-install-recommends", *lacking], check=True, env=quiet)
    if packed:
        unpack()
    if not python():
        system = next(path for path in ("/usr/bin/python3", shutil.which("python3")) if path and os.path.exists(path))
        subprocess.run([system, "-m", "venv", str(environment)], check=True)
        subprocess.run([str(environment / "bin/pip"), "install", "--quiet", *modules], check=True)


def unpack():
    with tempfile.TemporaryDirectory() as directory:
        # apt-get downloads as a user of its own.
        os.chmod(directory, 0o777)
        subprocess.run(["apt-get", "-qq", "download", *packages], check=True, cwd=directory)
        for package in pathlib.Path(directory).iterdir():
            subprocess.run(["dpkg-deb", "-x", str(package), str(unpacked)], check=True)
    # It would become a user that may not write where it is measured.
    (unpacked / "usr/sbin/nullmailer-queue").chmod(0o755)


def python():
    """A Python with the modules of the peers; None if it is not there."""
    path = environment / "bin/python3"
    return str(path) if path.exists() else None


class SyslogNG:
    """syslog-ng with a reliable disk buffer that sends each line by HTTP. The buffer is filled while nobody listens, in
    a process of its own; what is measured begins with a full buffer, as it is after an outage."""

    def __init__(self, place, url):
        self.place = pathlib.Path(place)
        self.url = url
        self.environment = {
            "LD_LIBRARY_PATH": f"{unpacked}/usr/lib/syslog-ng:{unpacked}/usr/lib/x86_64-linux-gnu"}

    def command(self, url=None):
        """The words that run it in the foreground; `url` instead of its own, where nobody listens."""
        lines = self.place / "lines"
        source = f"""source input {{ file("{lines}" flags(no-parse) follow-freq(0.1) log-msg-size(65536)
            log-fetch-limit(1000) log-iw-size(10000)); }};""" if url else ""
        (self.place / "conf").write_text(f"""@version: 3.38
            options {{ stats-level(1); time-reopen(600); log-msg-size(65536); keep-hostname(yes); use-dns(no); }};
            {source}
            destination server {{ http(url("{url or self.url}") method("POST") body("${{MESSAGE}}")
                headers("Content-Type: application/json") workers(5) batch-lines(1) persist-name("server")
                disk-buffer(reliable(yes) disk-buf-size(1073741824) dir("{self.place}"))); }};
            log {{ {"source(input);" if url else ""} destination(server); flags(flow-control); }};""")
        place = self.place
        return [
            tool("syslog-ng"), "--foreground", "--no-caps", "--stderr", "--cfgfile", f"{place}/conf",
            "--persist-file", f"{place}/persist", "--pidfile", f"{place}/pid", "--control", f"{place}/control",
            "--module-path", f"{unpacked}/usr/lib/syslog-ng/3.38"]

    def fill(self, bodies):
        """Puts the bodies into the buffer."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        (self.place / "lines").write_text("".join(body + "\n" for body in bodies))
        log = open(scratch / "syslog-ng", "wb")
        process = background(
            self.command("http://127.0.0.1:9/"), stdout=log, stderr=log, env={**os.environ, **self.environment})
        until(lambda: self._queued() >= len(bodies), 120, "syslog-ng did not take everything")
        process.terminate()
        process.wait()

    def _queued(self):
        asked = subprocess.run(
            [tool("syslog-ng-ctl"), "stats", "--control", f"{self.place}/control"], capture_output=True, text=True,
            env={**os.environ, **self.environment})
        counts = [line.split(";") for line in asked.stdout.splitlines()]
        return sum(int(line[5]) for line in counts if line[0].startswith("dst.http") and line[4] == "queued")


class Nullmailer:
    """nullmailer's program that accepts a message. Its queue has a fixed place, so it gets one in a mount namespace."""

    def __init__(self, place, message):
        self.queue = pathlib.Path(place) / "nullmailer"
        self.input = scratch / "message"
        self.input.write_text(f"me@example.com\nyou@example.com\n\nSubject: an operation\n\n{message}\n")

    def prepare(self):
        if self.queue.exists():
            for file in (self.queue / "queue").iterdir():
                file.unlink()
            return
        for name in ("queue", "tmp", "failed"):
            (self.queue / name).mkdir(parents=True)
        # The parent is covered, because the queue's directory need not be there.
        subprocess.run(["mount", "-t", "tmpfs", "none", "/var/spool"], check=True)
        os.mkdir("/var/spool/nullmailer")
        subprocess.run(["mount", "--bind", str(self.queue), "/var/spool/nullmailer"], check=True)
