#!/usr/bin/env python3
"""Runs that share a queue: one run is killed at its system calls, stopped, stopped and woken, or told to stop, and the
remaining runs continue.

The suite injects SIGKILL of one of four runs at each kind of call that shares, claims and settles, early and late; SIGSTOP
of one of four; SIGTERM. These invariants hold: in their single pass the remaining runs send the whole share of the victim,
except its claims; the next run delivers the claims; every operation is received, and only operations claimed at the kill
are received more than once; a woken run sends no operation that another run has sent. Runs that share from beginning to
end lose at most one claim in twenty to another run. All runs together obey the `concurrency` and the `rate` of a
destination.
"""

import collections
import http.server
import os
import signal
import subprocess
import threading
import time

from torture import Queue, Receiver, effort, end, expect, lying, strace, test, until

concurrency = 4
size = 400


def prepare(*answers, count=size):
    receiver = Receiver(*(answers or ["204 delay=10ms"]))
    queue = Queue(receiver.url + "/{id}", destinations={receiver.url: {"transport": "libcurl"}})
    result = queue("add", input="".join(f'{{"n":{number}}}\n' for number in range(count)))
    expect(result.returncode == 0, "add:", result.stderr)
    return queue, receiver, set(result.stdout.split())


def run(queue, *options, before=()):
    return subprocess.Popen(
        [*before, *queue.command("run", "--limit", 10 * size, "--concurrency", concurrency, *options)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def ended(process, allowed=(0,)):
    _, error = process.communicate(timeout=120)
    expect(process.returncode in allowed, "a run ended with", process.returncode, error.decode())


def waiting(queue):
    return sum(1 for state in ("new", "deferred") for _ in queue.files(state))


def reckon(queue, receiver, ids, repeats=0):
    """Checks that all operations are delivered and gone, and that at most `repeats` arrived more than once."""
    expect(not queue.operations(), "left:", list(queue.operations().items())[:3])
    expect(not any(queue.files("quarantine")), "something is in quarantine")
    received = collections.Counter(receiver.ids())
    expect(set(received) == ids, "not received:", list(ids - set(received))[:3])
    again = [id for id, count in received.items() if count > 1]
    expect(len(again) <= repeats, len(again), "were received again")
    return len(again)


def kill(call, number):
    """Kills one of four runs before a system call, but not its agents. A run with a dead agent puts the agent's operations
    back, perhaps after the other runs have ended."""
    queue, receiver, ids = prepare()
    victim = run(queue, before=strace(f"{call}:signal=KILL:when={number}", follow=False))
    others = [run(queue) for _ in range(3)]
    victim.communicate(timeout=120)
    for other in others:
        ended(other)
    left = [str(file) for state in ("new", "deferred") for file in queue.files(state)]
    expect(not left, left, "were left to a run that was dead, which was killed at", call, number)
    ended(run(queue))
    again = reckon(queue, receiver, ids, concurrency)
    receiver.end()
    return victim.returncode != 0, again


class Server(http.server.ThreadingHTTPServer):
    """A server that answers after a while, and records the time of each request and the maximal number in flight."""

    request_queue_size = 100
    daemon_threads = True

    def __init__(self, delay):
        super().__init__(("127.0.0.1", 0), Handler)
        self.delay, self.lock = delay, threading.Lock()
        self.times, self.ids, self.under_way, self.most = [], [], 0, 0
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        with server.lock:
            server.times.append(time.monotonic())
            server.ids.append(self.path[1:])
            server.under_way += 1
            server.most = max(server.most, server.under_way)
        time.sleep(server.delay)
        with server.lock:
            server.under_way -= 1
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def limited(delay, count, **limits):
    """Starts four runs and four `send` at the same time, against a server with limits."""
    server = Server(delay)
    queue = Queue(server.url + "/{id}", destinations={server.url: {"transport": "libcurl", **limits}})
    result = queue("add", input="".join(f'{{"n":{number}}}\n' for number in range(count)))
    ids = set(result.stdout.split())
    runs = [run(queue) for _ in range(4)]
    sends = [threading.Thread(target=queue, args=("send", "--no-queue", "--id", f"sent-{number}"), kwargs={"input": "{}"})
             for number in range(4)]
    for send in sends:
        send.start()
    return server, queue, ids | {f"sent-{number}" for number in range(4)}, runs, sends


def main():
    with test("of four runs one is killed at its calls, and the others leave nothing of its share") as told:
        points = [(call, number) for call in ("renameat", "getdents64", "unlinkat", "fsync", "openat")
                  for number in (1, 2, 3, 5, 9, 20, 60)]
        results = [kill(*point) for point in points * effort]
        expect(sum(killed for killed, _ in results) > len(results) / 2, "few were killed")
        told += [f"{sum(killed for killed, _ in results)} kills", f"{sum(again for _, again in results)} re-deliveries"]

    with test("the share of a run that is stopped is served by the others, and when it is woken it sends nothing twice") as told:
        for answered in [0, 1, 20, 100] * effort:
            queue, receiver, ids = prepare()
            victim = run(queue)
            until(lambda: len(receiver.requests()) >= answered and any((queue.path / "claimed").iterdir()), "requests")
            os.kill(victim.pid, signal.SIGSTOP)
            for other in [run(queue) for _ in range(3)]:
                ended(other)
            left = waiting(queue)
            os.kill(victim.pid, signal.SIGCONT)
            ended(victim)
            expect(left == 0, left, "were left to a run that was stopped")
            reckon(queue, receiver, ids)
            receiver.end()

    with test("where the directory is slow a run whose calls overlap is killed, stopped and told to stop") as told:
        slow = lying("renameat~1000 renameat2~1000 unlinkat~1000 openat~1000")
        repeated = 0
        for how in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
            for answered in [1, 30, 150] * effort:
                queue, receiver, ids = prepare()
                victim, *others = [run(queue, "--concurrency", 20, before=slow) for _ in range(4)]
                until(lambda: len(receiver.requests()) >= answered, "requests")
                os.kill(victim.pid, how)
                for other in others:
                    # A stopped run may have the lock of state/. The other runs say so, and deliver all the same.
                    ended(other, (0, 74) if how == signal.SIGSTOP else (0,))
                if how == signal.SIGSTOP:
                    expect(waiting(queue) == 0, "left to a run that was stopped")
                    os.kill(victim.pid, signal.SIGCONT)
                ended(victim, (0, 74, 75, -signal.SIGKILL))
                ended(run(queue))
                repeated += reckon(queue, receiver, ids, 20 if how == signal.SIGKILL else 0)
                receiver.end()
        told += [f"{repeated} re-deliveries"]

    with test("a run that is told to stop leaves its share to the others") as told:
        for answered in [1, 20, 100] * effort:
            queue, receiver, ids = prepare()
            runs = [run(queue) for _ in range(4)]
            until(lambda: len(receiver.requests()) >= answered, "requests")
            runs[0].terminate()
            ended(runs[0], (0, 75))
            for other in runs[1:]:
                ended(other)
            reckon(queue, receiver, ids)
            receiver.end()

    with test("runs that come and go all the time serve a queue that is filled meanwhile") as told:
        queue, receiver, ids = prepare(count=1)
        over = threading.Event()
        complaints = []

        def rounds():
            try:
                while not over.is_set():
                    ended(run(queue, "--limit", 50))
            except Exception as error:
                complaints.append(error)

        threads = [threading.Thread(target=rounds) for _ in range(6)]
        for thread in threads:
            thread.start()
        for _ in range(20 * effort):
            result = queue("add", input="".join(f'{{"n":{number}}}\n' for number in range(50)))
            ids |= set(result.stdout.split())
        until(lambda: not waiting(queue), "the runs", limit=120)
        over.set()
        for thread in threads:
            thread.join()
        expect(not complaints, complaints[:1])
        ended(run(queue))
        reckon(queue, receiver, ids)
        told += [f"{len(ids)} operations"]
        receiver.end()

    with test("of all runs and all `send` no more requests are under way than the concurrency of the destination") as told:
        server, queue, ids, runs, sends = limited(0.02, 200, concurrency=3)
        for process in runs:
            ended(process)
        for send in sends:
            send.join()
        expect(not queue.operations() and set(server.ids) == ids and len(server.ids) == len(ids), len(server.ids))
        expect(server.most == 3, server.most, "were under way at once")
        server.server_close()

    with test("the slots of a run that is killed are those of the others again") as told:
        server, queue, ids, runs, sends = limited(0.02, 200, concurrency=2)
        until(lambda: len(server.ids) > 20, "requests")
        os.kill(runs[0].pid, signal.SIGKILL)
        for process in runs[1:]:
            ended(process)
        for send in sends:
            send.join()
        runs[0].communicate()
        ended(run(queue))
        expect(not queue.operations() and set(server.ids) == ids, "left")
        told += [f"{len(server.ids) - len(ids)} re-deliveries"]
        server.server_close()

    with test("of all runs and all `send` no more requests begin in a time than the rate of the destination") as told:
        server, queue, ids, runs, sends = limited(0.005, 300, rate="100/s")
        # A run without a turn for a second leaves the destination to the run that has it.
        for process in runs:
            ended(process, (0, 75))
        for send in sends:
            send.join()
        expect(not queue.operations() and set(server.ids) == ids, "left")
        times = sorted(server.times)
        # Some requests that begin in time arrive late.
        most = max(sum(start <= other < start + 1 for other in times) for start in times)
        expect(most <= 115, most, "came in a second")
        told += [f"{len(times) / (times[-1] - times[0]):.0f}/s", f"at most {most} in a second"]
        server.server_close()

    with test("a destination with both limits is served, by several runs at once and to the end") as told:
        start = time.monotonic()
        server, queue, ids, runs, sends = limited(0.005, 60, concurrency=1, rate="50/s")
        for process in runs:
            ended(process, (0, 75))
        for send in sends:
            send.join()
        expect(not queue.operations() and set(server.ids) == ids, "left:", len(queue.operations()))
        expect(server.most == 1, server.most, "were under way at once")
        expect(time.monotonic() - start < 30, "it took", time.monotonic() - start)
        server.server_close()

    for runs in (2, 4, 8):
        with test(f"of the claims of {runs} runs at most one in twenty is lost") as told:
            queue, receiver, ids = prepare("204 delay=20ms", count=2000)
            log = queue.path.parent / "strace"
            words = ["strace", "-f", "-qq", "-A", "-o", str(log), "-e", "trace=renameat", "-Z"]
            processes = [run(queue, before=words) for _ in range(runs)]
            for process in processes:
                ended(process)
            reckon(queue, receiver, ids)
            lost = sum('"claimed/' in line and "ENOENT" in line for line in open(log, errors="replace"))
            expect(lost <= len(ids) / 20, lost, "claims were lost of", len(ids))
            told += [f"{len(ids)} operations", f"{lost} lost"]
            receiver.end()


main()
end()
