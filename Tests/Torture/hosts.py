"""Hosts that have a directory in common and nothing else: what `several-hosts` and `nfs-guest` share."""

import contextlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid

from crowd import Crowd, faulty, reckon, route, settle
from torture import Queue, Receiver, expect, scratch, until

nobody = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def children(pid):
    return [int(word) for word in open(f"/proc/{pid}/task/{pid}/children").read().split()]


class Host:
    """A host: namespaces of its own, except for the network where another's process id is given."""

    def __init__(self, name, network=None):
        boot = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "boot_id"
        boot.write_text(f"{uuid.uuid4()}\n")
        begin = (
            f"hostname {name}; mount --bind {boot} /proc/sys/kernel/random/boot_id; ip link set lo up;"
            " echo; exec sleep infinity")
        outer = ["nsenter", "--net", "--target", str(network)] if network else []
        self.process = subprocess.Popen(
            [*outer, "unshare", "--mount", "--uts", "--pid", *([] if network else ["--net"]), "--fork", "--kill-child",
             "--mount-proc", "sh", "-c", begin],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        expect(self.process.stdout.readline() == b"\n", "the host", name, "did not begin")
        self.init = children(self.process.pid)[0]
        self.words = ["nsenter", "--target", str(self.init), "--mount", "--uts", "--pid", "--net", "--"]

    def __call__(self, *words):
        result = subprocess.run([*self.words, *map(str, words)], capture_output=True, text=True, timeout=120)
        expect(result.returncode == 0, *words, result.stdout, result.stderr)
        return result.stdout

    def die(self):
        """Everything of it ends at once."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)
            self.process.wait()


@contextlib.contextmanager
def hosts(*names, network=None):
    made = []
    try:
        for name in names:
            made.append(Host(name, network))
        yield made
    finally:
        for host in made:
            host.die()


class Relay:
    """A socket with a name, behind which is the receiver: hosts have no network in common."""

    def __init__(self, receiver):
        self.path = f"{tempfile.mkdtemp(dir=scratch)}/relay"
        self.port = int(receiver.url.rsplit(":", 1)[1])
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(200)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.socket.accept()
            far = socket.create_connection(("127.0.0.1", self.port))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(a, b), daemon=True).start()

    def carry(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        # A reset is told on as a reset; the end of one side ends the other.
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def through(relay, receiver):
    return {receiver.url: {"unixSocket": relay.path, "circuitBreaker": 0, "stormGuard": 0}}


def shared(count, path=None):
    """A queue whose destination hosts can reach, before a faulty receiver."""
    words, answers = faulty(3 * count)
    receiver = Receiver(*words)
    queue = Queue(receiver.url + "/{id}", path=path, route=route, destinations=through(Relay(receiver), receiver))
    return queue, receiver, answers, Crowd(queue)


def across(told, names, count, make_host, path=None, place=None, patience=300):
    """Runs on every host at once; one after the other dies in the middle and comes back under the same name. `place` is
    where hosts have the queue, and `path` where we have it."""
    queue, receiver, answers, crowd = shared(count, path)
    alive = {name: make_host(name) for name in names}
    try:
        def work(name):
            with contextlib.suppress(KeyError):
                # 1 is from nsenter: the host is no more.
                crowd.run(before=alive[name].words, place=place, allowed=(0, 1, 75))

        def disaster():
            time.sleep(random.uniform(0.5, 2))
            name = random.choice(names)
            alive.pop(name).die()
            crowd.kills += 2
            alive[name] = make_host(name)

        for name in names:
            crowd.again(work, name)
            crowd.again(work, name)
        crowd.again(disaster)
        for _ in range(count // 50):
            crowd.add([{"n": n} for n in range(50)])
        crowd.wait_for(lambda: not any(queue.files("new")), patience)
        crowd.end()
        there = {"before": next(iter(alive.values())).words, "place": place}
        settle(crowd, **there)
        expect(not (left := queue.operations()), "the queue was not drained:", left)
        # Of a run that had nothing to lose, too.
        crowd.run(**there)
        expect(not os.listdir(queue.path / "claimed"), "a run's directory was left")
        reckon(crowd, receiver, answers, told)
        told.append(f"{crowd.kills // 2} deaths of a host")
    finally:
        crowd.over.set()
        for thread in crowd.threads:
            thread.join()
        for host in alive.values():
            host.die()
        receiver.end()


def slow(path=None, seconds=4, route={}, **options):
    """A queue before a receiver that answers the first request after so many seconds, and all others at once."""
    receiver = Receiver(f"200 delay={seconds}s", "200")
    patience = {"timeouts": {"connect": "10s", "request": "5m", "total": "5m"}}
    queue = Queue(
        receiver.url + "/{id}", path=path, route={**patience, **route},
        destinations=through(Relay(receiver), receiver), **options)
    return queue, receiver


def sending(host, queue, receiver, *options, path=None):
    """A run on a host, in the middle of its first request."""
    place = path or queue.path
    before = len(receiver.requests())
    run = subprocess.Popen(
        [*host.words, *queue.command("run", "--now", "--concurrency", 1, *options)[:-2], "--queue", str(place)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: len(receiver.requests()) > before, "a request", limit=300)
    return run
