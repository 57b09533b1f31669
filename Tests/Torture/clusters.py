"""Network file systems that hosts share, each with a mount of its own, and what is tested and measured on each: `engines`,
`several-hosts` and `nfs-guest` use this.

The network of the caller is the network of the server: 10.8.0.1 on a bridge, `lan`. A host with a cable has a network of
its own, and the cable can be pulled; a host without one is in the network of the server, where it also finds receivers.
"""

import collections
import contextlib
import os
import pathlib
import re
import signal
import statistics
import subprocess
import tempfile
import time
import uuid

from hosts import Host, Relay, across, children, nobody, sending, slow, through
from torture import Queue, Receiver, effort, expect, here, scratch, test, until

address = "10.8.0.1"
numbers = iter(range(2, 250))


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True)


def lay_bridge():
    """The bridge that each cable leads to. A failure to add it a second time is no failure."""
    if not os.path.exists("/sys/class/net/lan") and subprocess.run(["ip", "link", "show", "lan"], **nobody).returncode:
        ip("link", "add", "lan", "type", "bridge")
        ip("address", "add", f"{address}/24", "dev", "lan")
        ip("link", "set", "lan", "up")


def plug(host):
    """Connects a host that has a network of its own to the bridge."""
    number = next(numbers)
    host.cable = f"cable{number}"
    ip("link", "add", host.cable, "type", "veth", "peer", "name", "eth0", "netns", host.init)
    ip("link", "set", host.cable, "master", "lan", "up")
    host("ip", "address", "add", f"10.8.0.{number}/24", "dev", "eth0")
    host("ip", "link", "set", "eth0", "up")


class Engine:
    """A file system with a server. `mount` mounts it on a host, at `point`."""

    name = ""
    # Seconds after which the server of this engine, as it is set up here, has given up a client for certain.
    patience = 60
    # Whether the client is a process of the host, that stops with it.
    client_is_process = True
    # Whether hosts may have the network of the server in common.
    near = True
    # Whether the server gives up a client whose processes stand still while its network answers.
    notices_standstill = True

    def __init__(self, point):
        self.point = point
        self.gate = None

    def host(self, name, cable=True):
        """A host with a mount of its own; with a cable it has a network of its own."""
        host = Host(name, None if cable else os.getpid())
        try:
            if cable:
                plug(host)
            self.mount(host)
        except BaseException:
            host.die()
            raise
        return host

    def ours(self, *parts):
        """The path by which the caller, on no host, finds what hosts have below `point`."""
        if self.gate is None:
            self.gate = self.host("gate", cable=False)
        return pathlib.Path(f"/proc/{self.gate.init}/root{self.point}").joinpath(*parts)

    def over(self):
        if self.gate:
            self.gate.die()


class Local(Engine):
    """A directory of this machine, to compare with."""

    name = "local"
    client_is_process = False

    def mount(self, host):
        pass

    def ours(self, *parts):
        return self.point.joinpath(*parts)


class GlusterFS(Engine):
    name = "GlusterFS"
    patience = 90
    notices_standstill = False

    def mount(self, host):
        host("mount", "-t", "tmpfs", "none", "/var/log/glusterfs")
        host("mount", "-t", "glusterfs", f"{address}:/q", self.point)


@contextlib.contextmanager
def directory():
    yield Local(pathlib.Path(tempfile.mkdtemp(dir=scratch)))


@contextlib.contextmanager
def glusterfs():
    """A server of GlusterFS with one brick."""
    home = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    lay_bridge()
    server = Host("server", os.getpid())
    for name in ("brick", "mount"):
        (home / name).mkdir()
    engine = GlusterFS(home / "mount")
    daemon = None
    try:
        for directory in ("/var/lib/glusterd", "/var/log/glusterfs", "/run"):
            pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
            server("mount", "-t", "tmpfs", "none", directory)
        server("mkdir", "-p", "/run/gluster", "/var/log/glusterfs/bricks")
        daemon = subprocess.Popen([*server.words, "glusterd", "-N"], **nobody)

        def gluster(*words):
            return subprocess.run([*server.words, "gluster", "--mode=script", *words], **nobody).returncode == 0

        until(lambda: gluster("volume", "info"), "glusterd")
        # A brick may not be on an address of the loopback network.
        until(lambda: gluster("volume", "create", "q", f"{address}:{home / 'brick'}", "force"), "a volume")
        until(lambda: gluster("volume", "start", "q"), "a brick")
        yield engine
    finally:
        engine.over()
        server.die()
        if daemon:
            daemon.wait()


class CephFS(Engine):
    name = "CephFS"
    # Of `session_timeout` and `session_autoclose`, and what the server needs to notice.
    patience = 30 + 60

    def __init__(self, point, conf, server):
        super().__init__(point)
        self.conf = conf
        self.server = server

    def ceph(self, *words):
        return self.server("ceph", "-c", self.conf, *words)

    def mount(self, host):
        host("ceph-fuse", "-c", self.conf, self.point)

    def lease(self, seconds):
        """The server gives up a client that has been silent for so long."""
        for name in ("session_timeout", "session_autoclose"):
            self.ceph("fs", "set", "q", name, seconds)

    def tick(self, seconds):
        """The metadata server looks so often for what waits: else some calls wait for five seconds."""
        self.ceph("config", "set", "mds", "mds_tick_interval", seconds)


ceph_settings = """\
[global]
fsid = {fsid}
mon_initial_members = a
mon_host = {monitor}
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
setuser = root
keyring = {home}/keyring
crash_dir = {home}/log
run_dir = {home}/log
pid_file = {home}/log/$name.pid
admin_socket = {home}/log/$name.asok
log_file = {home}/log/$name.log
log_to_stderr = false
err_to_stderr = false
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_data = {home}/mon
mon_data_avail_crit = 1
mgr_data = {home}/mgr
osd_data = {home}/osd
osd_objectstore = bluestore
bluestore_block_size = 4294967296
bluestore_cache_autotune = false
bluestore_cache_size = 67108864
mds_data = {home}/mds
mds_cache_memory_limit = 134217728
[client]
log_file = /dev/null
admin_socket =
pid_file =
"""


@contextlib.contextmanager
def cephfs():
    """A cluster of Ceph: a monitor, a manager, a metadata server, and one storage daemon on a file."""
    home = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    lay_bridge()
    server = Host("server", os.getpid())
    conf = home / "ceph.conf"
    engine = CephFS(home / "mount", conf, server)
    daemons = []
    try:
        for name in ("mon", "mgr", "osd", "mds", "log", "mount"):
            (home / name).mkdir()
        (home / "keyring").touch()
        fsid, disk = uuid.uuid4(), uuid.uuid4()
        monitor = f"[v2:{address}:3300,v1:{address}:6789]"
        conf.write_text(ceph_settings.format(home=home, fsid=fsid, monitor=monitor))

        def start(*words):
            daemons.append(subprocess.Popen([*server.words, *words, "-c", conf, "-f"], **nobody))

        server("monmaptool", "--create", "--fsid", fsid, "--addv", "a", monitor, home / "monmap")
        server("ceph-mon", "-c", conf, "--mkfs", "-i", "a", "--monmap", home / "monmap")
        start("ceph-mon", "-i", "a")
        engine.ceph("osd", "new", disk)
        server("ceph-osd", "-c", conf, "--mkfs", "-i", "0", "--osd-uuid", disk)
        start("ceph-osd", "-i", "0")
        start("ceph-mds", "-i", "a")
        start("ceph-mgr", "-i", "a")
        engine.ceph("osd", "pool", "create", "meta", "8")
        engine.ceph("osd", "pool", "create", "data", "8")
        engine.ceph("fs", "new", "q", "meta", "data")
        until(lambda: "up:active" in engine.ceph("mds", "stat"), "the metadata server")
        yield engine
    finally:
        engine.over()
        server.die()
        for daemon in daemons:
            daemon.wait()


# What is tested.


def place(engine):
    """A path for a queue on the engine, as the caller and as hosts have it."""
    name = f"q{next(numbers)}-{uuid.uuid4().hex[:8]}"
    return engine.ours(name), engine.point / name


def processes(host):
    """Every process of a host, its init too."""
    space = os.readlink(f"/proc/{host.init}/ns/pid")
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == space:
                yield int(entry)


def signalled(host, run, number):
    # unshare and nsenter stop with their children, and have to be woken with them.
    for process in [*processes(host), host.process.pid, run.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def begun(host, queue, there, *options):
    """A run on a host, that goes on."""
    return subprocess.Popen(
        [*host.words, *queue.command("run", "--now", *options)[:-1], str(there)], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def take_over(engine, fault, mend=None, patience=None, survives=False):
    """One host is in the middle of a request and has a fault; another one runs again and again until it has delivered all,
    or, where the first `survives` it, until it has delivered what the first one did not claim. Then the fault is mended.
    Returns after how many seconds the other host delivered its first operation and its last one; how the first run ended
    and what it said; and how often each id was received."""
    patience = patience or engine.patience
    ours, there = place(engine)
    limit = f"{patience * 2 + 60}s"
    # A second request is also answered late: it shows what the run had sent before it knew.
    queue, receiver = slow(
        ours, seconds=patience + 10 if not survives else 15,
        route={"timeouts": {"connect": "10s", "request": limit, "total": limit}})
    result = queue("add", input="1\n2\n3\n4\n5\n")
    expect(result.returncode == 0, result.stderr)
    ids = set(result.stdout.split())
    one, two = engine.host("left"), engine.host("right")
    try:
        going = sending(one, queue, receiver, path=there)
        claimed = receiver.ids()[0]
        fault(one, going)
        begin = time.monotonic()
        first = last = None
        wanted = ids - {claimed} if survives else ids
        while last is None:
            run = begun(two, queue, there)
            while run.poll() is None:
                got = receiver.ids()[1:]
                if got and first is None:
                    first = time.monotonic() - begin
                if wanted <= set(got) and last is None:
                    last = time.monotonic() - begin
                expect(time.monotonic() - begin < patience * 2, "not taken over after", patience * 2, "s:", got)
                time.sleep(0.05)
            expect(run.returncode == 0, "the other run:", run.returncode, run.stderr.read())
            time.sleep(0.2)
        if survives:
            expect(receiver.ids().count(claimed) == 1, "what a living run has in flight was taken")
        status = complaint = None
        if mend:
            mend(one, going)
            _, complaint = going.communicate(timeout=patience * 4)
            status = going.returncode
            # What it said of itself is true for the queue, too.
            until(lambda: begun(two, queue, there).wait() == 0 and not queue.operations(), "an empty queue", limit=120)
        else:
            one.die()
            going.communicate(timeout=60)
        received = collections.Counter(receiver.ids())
        expect(set(received) == ids, "not received:", ids - set(received))
        expect(all(received[id] == 1 for id in ids - {claimed}), "an operation that nobody had in flight came twice")
        until(lambda: not queue.operations(), "an empty queue")
        return first, last, status, complaint, received[claimed]
    finally:
        for host in (one, two):
            # A host that is stopped does not hear that it ends.
            with contextlib.suppress(OSError, ValueError):
                for process in [*processes(host), host.process.pid]:
                    os.kill(process, signal.SIGCONT)
            host.die()
        receiver.end()


def pull(host, run):
    ip("link", "set", host.cable, "down")


def plug_in(host, run):
    ip("link", "set", host.cable, "up")


def stop(host, run):
    signalled(host, run, signal.SIGSTOP)


def wake(host, run):
    # nsenter and unshare stop once more where they learn only now that their child had stopped.
    for _ in range(10):
        signalled(host, run, signal.SIGCONT)
        time.sleep(0.1)


def stop_run(host, run):
    for process in children(run.pid):
        os.kill(process, signal.SIGSTOP)


def wake_run(host, run):
    # nsenter stops with its child.
    for process in (run.pid, *children(run.pid)):
        os.kill(process, signal.SIGCONT)


def kill_run(host, run):
    with contextlib.suppress(OSError):
        for process in children(run.pid):
            os.kill(process, signal.SIGKILL)


def die(host, run):
    host.die()


def tell(told, first, last):
    told.append(f"the other host goes on after {first:.1f} s, and has taken over after {last:.1f} s")


def loses_its_lock(told, first, last, status, complaint, received):
    """The run settles nothing more, and what it was sending was sent again."""
    tell(told, first, last)
    expect(status == 74, "the run that lost its lock ended with", status, complaint)
    expect(complaint.count("drainq: error: cannot keep 'claimed/") == 1, complaint)
    expect(received == 2, received)
    told.append("1 delivered again, which is window W2")


def keeps_its_lock(told, first, last, status, complaint, received):
    """The run settles what it was sending, and nobody else has sent it."""
    expect(status == 0 and received == 1, status, complaint, received)
    told.append(f"the other host goes on after {first:.1f} s")


def examine(engine):
    """Faults of hosts, one test for each."""
    name = engine.name

    with test(f"{name}: check accepts it, and says that locks reach other hosts") as told:
        ours, there = place(engine)
        Queue("http://127.0.0.1:1/{id}", ours)
        host = engine.host("left")
        try:
            queue = Queue.standing(there)
            check = subprocess.run(
                [*host.words, *queue.command("check")], capture_output=True, text=True, timeout=120)
            expect(check.returncode == 0, check.stdout, check.stderr)
            expect("flock(2) excludes a second process" in check.stdout, check.stdout)
            expect("may not reach other hosts" not in check.stdout, check.stdout)
            told += re.findall(r"(?:locks|note):.*", check.stdout)
        finally:
            host.die()

    with test(f"{name}: a run is killed, and another host takes over") as told:
        first, last, *_ = take_over(engine, kill_run)
        tell(told, first, last)

    with test(f"{name}: a run is stopped and woken: its claim is its own, and nothing comes twice") as told:
        keeps_its_lock(told, *take_over(engine, stop_run, wake_run, survives=True))

    with test(f"{name}: a host dies, and another one takes over") as told:
        first, last, *_ = take_over(engine, die)
        tell(told, first, last)

    with test(f"{name}: a host is cut off until another one has taken over: it settles nothing") as told:
        loses_its_lock(told, *take_over(engine, pull, plug_in))

    if engine.client_is_process and not engine.notices_standstill:
        with test(f"{name}: a host stands still and goes on: its claim is its own, and nothing comes twice") as told:
            keeps_its_lock(told, *take_over(engine, stop, wake, survives=True))

    if engine.client_is_process and engine.notices_standstill:
        with test(f"{name}: a host stands still until another one has taken over: it settles nothing") as told:
            loses_its_lock(told, *take_over(engine, stop, wake))


def reached(engine, receiver, path):
    """A queue whose operations go to a receiver, by a relay from hosts that are not near."""
    settings = {"transport": "libcurl", "circuitBreaker": 0, "stormGuard": 0}
    destinations = {receiver.url: settings} if engine.near else through(Relay(receiver), receiver)
    return Queue(receiver.url + "/{id}", path, destinations=destinations)


def together(engine, rounds=30):
    """Runs of four hosts that begin at one moment, as timers begin them."""
    with test(f"{engine.name}: runs of four hosts that begin at one moment all end well") as told:
        hosts = apart(engine, "one", "two", "three", "four")
        receiver = Receiver("204")
        complaints = []
        try:
            ours, there = place(engine)
            queue = reached(engine, receiver, ours)
            ids = set()
            for number in range(rounds * effort):
                # An empty queue has runs meet at their beginnings and ends.
                if number % 3 == 0:
                    ids |= set(queue("add", input="1\n2\n3\n4\n").stdout.split())
                runs = [begun(host, queue, there) for host in hosts]
                for run in runs:
                    try:
                        _, complaint = run.communicate(timeout=60)
                    except subprocess.TimeoutExpired:
                        raise AssertionError("a run hangs, and this was said before:", *complaints) from None
                    if run.returncode != 0 or complaint:
                        complaints.append(f"{run.returncode}: {complaint.strip()}")
            received = receiver.ids()
            expect(set(received) == ids and len(received) == len(ids), len(received), "requests for", len(ids))
            kinds = collections.Counter(re.sub("'claimed/[^']*'", "'claimed/RUN'", text) for text in complaints)
            expect(not complaints, "of", 4 * rounds * effort, "runs complained:", *kinds.items())
            told.append(f"{4 * rounds * effort} runs")
        finally:
            for host in hosts:
                host.die()
            receiver.end()


def crowded(engine, count):
    """Hosts that die in the middle of a crowd."""
    with test(f"{engine.name}: three hosts that die and come back share it, each with a mount of its own") as told:
        ours, there = place(engine)
        across(told, ["one", "two", "three"], count * effort, engine.host, ours, there, patience=900)


# What is measured.


def apart(engine, *names):
    """Hosts near to the server if they may be; through relays they are a little slower."""
    return [engine.host(name, cable=not engine.near) for name in names]


def drained(engine, hosts, answer, count):
    """Operations in a second of one run on each host, until nine in ten have arrived; and whether all runs ended. If they
    did each operation has been received once."""
    receiver = Receiver(answer)
    try:
        ours, there = place(engine)
        queue = reached(engine, receiver, ours)
        result = queue("add", input="".join(f'{{"n":{number}}}\n' for number in range(count)), timeout=600)
        ids = set(result.stdout.split())
        expect(len(ids) == count, result.stderr)
        begin = time.monotonic()
        runs = []
        for host in hosts:
            # Runs that begin at one moment are another test.
            runs.append(begun(host, queue, there, "--limit", 10 * count))
            until(lambda: len(os.listdir(ours / "claimed")) >= len(runs) or runs[-1].poll() is not None, "a run")
        until(lambda: len(receiver.ids()) >= 0.9 * count, "operations", limit=300)
        rate = 0.9 * count / (time.monotonic() - begin)
        for run in runs:
            try:
                _, complaint = run.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                return rate, False
            expect(run.returncode == 0, run.returncode, complaint)
        received = receiver.ids()
        expect(set(received) == ids and len(received) == count, len(received), "requests for", count)
        expect(not queue.operations(), "left")
        return rate, True
    finally:
        receiver.end()


def bare(engine, hosts, count, *words, threads=5):
    """Files in a second of a C program on each host that does to a shared directory what a drain does, and sends nothing.
    With `own` each host has a directory of its own below new/, and with `digest` all hosts share 16."""
    program = scratch / "drain-directory"
    if not program.exists():
        source = here.parent / "Benchmarks/limits/drain-directory.c"
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, source], check=True)
    ours, there = place(engine)
    queue = Queue("http://127.0.0.1:1/{id}", ours)
    result = queue("add", input="".join(f'{{"n":{number}}}\n' for number in range(count)), timeout=600)
    expect(len(result.stdout.split()) == count, result.stderr)
    parts = len(hosts) if "own" in words else 16 if "digest" in words else 0
    files = sorted(path.name for path in queue.files("new"))
    for part in range(parts):
        (ours / "new" / str(part)).mkdir()
    for number, name in enumerate(files if parts else ()):
        (ours / "new" / name).rename(ours / "new" / str(number % parts) / name)
    runs = [
        subprocess.Popen(
            [*host.words, program, there, f"run{share}", str(share), str(len(hosts)), str(threads), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for share, host in enumerate(hosts)]
    for run in runs:
        expect(run.stdout.readline() == "ready\n", "the program did not begin")
    for run in runs:
        run.stdin.write("\n")
        run.stdin.flush()
    counts, begins, ends = zip(*(map(float, run.communicate(timeout=300)[0].split()) for run in runs))
    expect(sum(counts) == count and all(run.returncode == 0 for run in runs), "the program took", counts)
    return count / (max(ends) - min(begins))


# The bare calls beside a run's, each with the program's words.
beside = {
    "the bare calls in open directories": (), "by paths": ("paths",), "in a directory for each host": ("own",),
    "in 16 directories": ("digest",)}


def calls(host, engine, count=200):
    """Milliseconds of a rename from one directory to another, of an fsync of the directory and of an unlink: medians."""
    program = """if True:
        import os, statistics, sys, time
        top, count = sys.argv[1], int(sys.argv[2])
        os.makedirs(top + "/a"); os.makedirs(top + "/b")
        for n in range(count): open(f"{top}/a/{n}", "w").close()
        def timed(call, *arguments):
            begin = time.perf_counter(); call(*arguments); return 1000 * (time.perf_counter() - begin)
        renames, syncs, removals = [], [], []
        directory = os.open(top + "/b", os.O_RDONLY)
        for n in range(count):
            renames.append(timed(os.rename, f"{top}/a/{n}", f"{top}/b/{n}"))
            if n % 10 == 0: syncs.append(timed(os.fsync, directory))
        for n in range(count): removals.append(timed(os.unlink, f"{top}/b/{n}"))
        print(*(statistics.median(times) for times in (renames, syncs, removals)))
    """
    words = host("python3", "-c", program, engine.point / f"calls-{uuid.uuid4().hex[:8]}", count).split()
    return [float(word) for word in words]


def measure(engine, count=600, rounds=3):
    """Prints what 1, 2 and 4 hosts drain in a second at two servers, and what the bare calls come to: medians of some
    rounds that take turns."""
    with test(f"{engine.name}: 1, 2 and 4 hosts drain a queue, each operation once") as told:
        hosts = apart(engine, "one", "two", "three", "four")
        try:
            hung = 0
            rename, sync, removal = calls(hosts[0], engine)
            told.append(f"rename {rename:.2f} ms, fsync of a directory {sync:.2f} ms, unlink {removal:.2f} ms")
            rates = collections.defaultdict(list)
            for _ in range(rounds):
                for size in (1, 2, 4):
                    for words, answer in (("answers after 20 ms", "204 delay=20ms"), ("answers at once", "204")):
                        rate, ended = drained(engine, hosts[:size], answer, count)
                        rates[words, size].append(rate)
                        if not ended:
                            # What waits for its file system ends with it.
                            hung += 1
                            for host in hosts:
                                host.die()
                            hosts[:] = apart(engine, "one", "two", "three", "four")
                    for words, options in beside.items():
                        rates[words, size].append(bare(engine, hosts[:size], count, *options))
            for words in dict.fromkeys(words for words, _ in rates):
                medians = ", ".join(f"{statistics.median(rates[words, size]):.0f}" for size in (1, 2, 4))
                told.append(f"{words}: {medians}/s")
            told.append(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            expect(not hung, "in", hung, "drains a run hung;", *told)
        finally:
            for host in hosts:
                host.die()
