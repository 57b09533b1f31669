"""What benchmarks share: a place on a journaled file system, servers on the loopback, queues, and what a command costs."""

import atexit
import ctypes
import datetime
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
drainq = os.environ.get("DRAINQ", str(root / ".build/release/drainq"))
scratch = pathlib.Path(tempfile.mkdtemp(prefix="drainq-benchmarks-"))
body_length = 1024
# Where programs of others are that were unpacked and not installed; see peers.py.
cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "drainq-benchmarks"
unpacked = cache / "packages"

for name in list(os.environ):
    if name.lower().endswith("_proxy") or name.startswith("DRAINQ"):
        del os.environ[name]
os.environ["SWIFT_BACKTRACE"] = "enable=no"

# What is registered for the end is done also where somebody's patience has ended.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@atexit.register
def _clean():
    shutil.rmtree(scratch, ignore_errors=True)


def _die_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def background(command, **options):
    """A process that ends with this one, in whatever way this one ends."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent, **options)

    def end():
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    atexit.register(end)
    return process


def until(condition, seconds=20, what="a server did not begin"):
    """Waits for a condition that comes true soon."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(what)
        time.sleep(0.005)


def compiled(source, *words):
    """The program of a C or Swift file beside this one."""
    program = scratch / "programs" / pathlib.Path(source).stem
    program.parent.mkdir(exist_ok=True)
    if not program.exists():
        compiler = ["swiftc", "-O", "-swift-version", "6"] if source.endswith(".swift") else ["clang", "-O2", "-Wall"]
        subprocess.run([*compiler, "-o", str(program), str(here / source), *words], check=True)
    return str(program)


def crc32c(*parts):
    """The checksum that ends a header line: that of drainq itself, built as a library."""
    global _crc32c
    if _crc32c is None:
        sources = root / "Sources/CPlatform"
        library = scratch / "crc32c.so"
        subprocess.run(
            ["clang", "-O2", "-shared", "-fPIC", "-I",
             str(sources / "include"), "-o", str(library), str(sources / "CRC32C.c")], check=True)
        _crc32c = ctypes.CDLL(str(library)).csystem_crc32c_portable
        _crc32c.restype, _crc32c.argtypes = ctypes.c_uint32, [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]
    crc = 0
    for part in parts:
        crc = _crc32c(crc, part, len(part))
    return crc


_crc32c = None


def mount_ext4(gigabytes):
    """A place on a journaled ext4 of its own, in a mount namespace of its own: neither outlives this process. Without
    root the temporary directory; the second value says which it is."""
    new_namespace = 0x20000
    place = scratch / "spool"
    place.mkdir()
    if os.geteuid() or ctypes.CDLL(None).unshare(new_namespace):
        return place, f"{place.parent} (no root, so no ext4 of its own)"
    image = scratch / "ext4"
    with open(image, "wb") as file:
        file.truncate(gigabytes << 30)
    # Tables that are written later would be written while something is measured.
    now = "lazy_itable_init=0,lazy_journal_init=0"
    subprocess.run(["mkfs.ext4", "-q", "-F", "-i", "4096", "-E", now, str(image)], check=True)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
    # Else what is in it would be removed file by file.
    atexit.register(subprocess.run, ["umount", "--lazy", str(place)])
    return place, "a journaled ext4 on a loop device"


def settle(place):
    """Has written what preparing left to write, so that what is measured does not."""
    subprocess.run(["sync", "--file-system", str(place)], check=True)


def tool(name):
    """A program of a package that was unpacked or is installed; None if it is not there."""
    for directory in ("usr/bin", "usr/sbin"):
        if (unpacked / directory / name).exists():
            return str(unpacked / directory / name)
    return shutil.which(name)


class Nginx:
    """nginx on the loopback, one worker, that answers 204 to everything, and counts: plain, by TLS, and by HTTP/2.

    What is sent to `reading_url` it reads as a whole before it answers, and counts twice."""

    def __init__(self):
        directory = scratch / "nginx"
        directory.mkdir()
        directory.chmod(0o755)
        port, tls, http2 = free_ports(3)
        self.certificate, key = directory / "certificate.pem", directory / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=127.0.0.1",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(self.certificate)],
            check=True, stderr=subprocess.DEVNULL)
        read = f"""location = /read {{
            client_body_buffer_size 8m; proxy_pass_request_body off; proxy_set_header Content-Length "";
            proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://self/drain;
        }}"""
        (directory / "nginx.conf").write_text(f"""
            daemon off; master_process off; worker_processes 1; pid {directory}/pid; error_log {directory}/error;
            events {{ worker_connections 512; }}
            http {{
                access_log off; keepalive_requests 1000000000; keepalive_timeout 1h; client_max_body_size 1g;
                client_body_buffer_size 1m;
                client_body_temp_path {directory}/a; proxy_temp_path {directory}/b; fastcgi_temp_path {directory}/c;
                uwsgi_temp_path {directory}/d; scgi_temp_path {directory}/e;
                upstream self {{ server 127.0.0.1:{port}; keepalive 64; keepalive_requests 1000000000; }}
                ssl_certificate {self.certificate}; ssl_certificate_key {key};
                server {{
                    listen 127.0.0.1:{port}; location / {{ return 204; }} location = /counts {{ stub_status; }}
                    {read}
                }}
                server {{ listen 127.0.0.1:{tls} ssl; location / {{ return 204; }} }}
                server {{ listen 127.0.0.1:{http2} ssl http2; {read} }}
            }}""")
        self.directory = directory
        self.port = port
        self.url = f"http://127.0.0.1:{port}/drain"
        self.reading_url = f"http://127.0.0.1:{port}/read"
        self.tls_url = f"https://127.0.0.1:{tls}/drain"
        # Over HTTP/2 nginx ends a stream whose body it does not read, and curl takes that for an error.
        self.http2_url = f"https://127.0.0.1:{http2}/read"
        self.asked = 0
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.process = background([tool("nginx") or "nginx", "-p", str(directory), "-c", str(directory / "nginx.conf")])
        until(self._answers)

    def _answers(self):
        if self.process.poll() is not None:
            raise RuntimeError("nginx ended: " + (self.directory / "error").read_text())
        try:
            self.requests()
            return True
        except OSError:
            self.connection.close()
            return False

    def requests(self):
        """How many requests came so far, these questions left out."""
        self.connection.request("GET", "/counts")
        count = int(self.connection.getresponse().read().split(b"\n")[2].split()[2])
        self.asked += 1
        return count - self.asked


class SlowServer:
    """Answers 204 to everything, so many milliseconds after it came; with `room` it refuses more at once."""

    def __init__(self, milliseconds, room=None):
        file = scratch / f"port-{milliseconds}-{room}"
        self.refusals = scratch / f"refusals-{milliseconds}-{room}"
        limits = [str(room), str(self.refusals)] if room else []
        background([compiled("slow-server.c", "-lpthread"), str(file), str(milliseconds), *limits])
        until(lambda: file.exists() and file.read_text().endswith("\n"))
        self.port = int(file.read_text())
        self.url = f"http://127.0.0.1:{self.port}/drain"


class SilentServers:
    """So many ports of the loopback that take a connection and answer nothing, ever."""

    def __init__(self, count):
        self.sockets = [socket.socket() for _ in range(count)]
        for listener in self.sockets:
            listener.bind(("127.0.0.1", 0))
            listener.listen(64)
        self.urls = [f"http://127.0.0.1:{listener.getsockname()[1]}/" for listener in self.sockets]


def free_ports(count):
    """So many ports of the loopback that nothing listens on, all different."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def body(number, length=body_length):
    """A JSON value, of 1 KB unless another length is given."""
    start = f'{{"n":{number},"text":"'
    return start + "x" * (length - len(start) - 2) + '"}'


class Queue:
    """A queue of drainq, filled without drainq but with what it would have written."""

    def __init__(self, path, url, binary=None, route={}, others={}, **destination):
        self.path = pathlib.Path(path)
        self.binary = binary or drainq
        self("init", "--quiet")
        origin = url.rsplit("/", 1)[0]
        document = {"routes": {"default": {"url": url, **route}, **others}, "destinations": {origin: destination}}
        (self.path / "drainq.json").write_text(json.dumps(document))
        self("add", input=body(0))
        (sample,) = (self.path / "new").iterdir()
        self.name, self.contents = sample.name, sample.read_text()
        sample.unlink()
        self.next = 1

    def command(self, *words):
        return [self.binary, *map(str, words), "--queue", str(self.path)]

    def __call__(self, *words, input=""):
        subprocess.run(self.command(*words), input=input, text=True, check=True, stdout=subprocess.DEVNULL)

    def waiting(self):
        """How many operations wait to be attempted for the first time."""
        return sum(1 for _ in os.scandir(self.path / "new"))

    def fill(self, count, checksums=True, length=body_length):
        """Adds operations of which each is younger than the one before and older than now. Names and header are those
        of an operation that drainq added, with another id and time, and their own checksum, or none."""
        header = json.loads(self.contents.split("\n", 1)[0])
        digits = header["crc32c"]
        start = datetime.datetime.fromisoformat(header["createdAt"]) - datetime.timedelta(days=1)
        mould = self.contents.replace(header["id"], "%(id)s").replace(header["createdAt"], "%(created)s")
        mould = mould.replace(body(0), "%(body)s").replace(f'"length":{body_length}', f'"length":{length}')
        suffix = self.name.split(header["id"])[1]
        new = os.open(self.path / "new", os.O_RDONLY | os.O_DIRECTORY)
        for number in range(self.next, self.next + count):
            created = (start + datetime.timedelta(microseconds=number * 1000)).replace(tzinfo=None)
            id = f"{number:08d}-0000-4000-8000-000000000000"
            name = f"{created:%Y%m%dT%H%M%S.%f}Z-{id}{suffix}"
            text = mould % {"id": id, "created": f"{created:%Y-%m-%dT%H:%M:%S.%f}Z", "body": body(number, length)}
            before, after = text.encode().split(digits.encode(), 1)
            # The newline that ends the file is not part of the body.
            checksum = b"%08x" % crc32c(before, after[:-1])
            if not checksums:
                before, checksum, after = before.removesuffix(b',"crc32c":"'), b"", after.removeprefix(b'"')
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=new)
            os.write(file, before + checksum + after)
            os.close(file)
        os.close(new)
        self.next += count


def fill_plain(path, count, length=body_length):
    """A directory with so many files that are nothing but their body."""
    path = pathlib.Path(path)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    for number in range(count):
        file = os.open(f"{number:08d}.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory)
        os.write(file, body(number, length).encode())
        os.close(file)
    os.close(directory)


def measure(command, times=1, input=None, seconds=600, environment=None, ends_when=None):
    """What each of so many runs of a command cost, as measure.c says. `ends_when` is for a command that does not end:
    it is told to when this comes true, and that is its wall time."""
    words = [compiled("measure.c"), "-n", str(times), "-t", str(seconds)]
    words += ["-i", str(input)] if input else []
    words += ["-w"] if ends_when else []
    log = open(scratch / "errors", "w+b")
    process = subprocess.Popen(
        [*words, *map(str, command)], stdout=subprocess.PIPE, stderr=log, text=True,
        stdin=subprocess.PIPE if ends_when else subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    try:
        if ends_when:
            until(ends_when, seconds, "it did not come to its end")
            process.stdin.close()
            process.stdin = None
        output, _ = process.communicate(timeout=seconds * times + 20)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    samples = [json.loads(line) for line in output.splitlines()]
    log.seek(0)
    failures = [sample for sample in samples if sample["late"] or (sample["status"] and not ends_when)]
    if failures or len(samples) < times:
        raise RuntimeError(f"{' '.join(map(str, command))[:200]}: {(failures or ['?'])[0]} {log.read()[-400:].decode()}")
    return samples
