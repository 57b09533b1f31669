#!/usr/bin/env python3
"""Memory: a run and its delivery agents stay as large as they are, however many operations go through.

One run delivers 20,000 operations (200,000 with DRAINQ_TORTURE=10) through each transport. What is measured, from /proc
every tenth of a second: the resident set and the open descriptors of the run and of each agent. What holds: the median
of the last quarter of the samples is no more than the median of the second quarter times 1.15, plus half a kilobyte for
each operation between the two where the transport is known to leak (URLSession leaves a handle of libcurl behind);
descriptors are no more than they were, give or take those that a connection takes.
"""

import os
import statistics
import subprocess
import time

from torture import Queue, Receiver, effort, end, expect, mounted, own_mounts, test

own_mounts("memory")

count = 20_000 * effort
concurrency = 5


def look(pid):
    """Resident kilobytes, descriptors and children of a process."""
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":\t", 1) for line in status if ":\t" in line)
    children = open(f"/proc/{pid}/task/{pid}/children").read().split()
    return int(fields["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), [int(child) for child in children]


def watch(process):
    """Samples of the run and of its agents, each process by itself: pid → [(time, kilobytes, descriptors)]."""
    samples = {}
    while process.poll() is None:
        try:
            size, descriptors, children = look(process.pid)
            samples.setdefault(process.pid, []).append((size, descriptors))
            for child in children:
                size, descriptors, _ = look(child)
                samples.setdefault(child, []).append((size, descriptors))
        except (FileNotFoundError, ProcessLookupError, KeyError):
            pass
        time.sleep(0.1)
    return samples


def quarters(values):
    """The medians of the second and of the last quarter: the first one is when things are set up."""
    size = len(values) // 4
    return statistics.median(values[size:2 * size]), statistics.median(values[-size:])


for transport, leak in [("urlsession", 0.5), ("libcurl", 0.0)]:
    # In memory: no disk is measured here. A container's own /dev/shm may be too small for so many files.
    place = mounted("tmpfs", "-t", "tmpfs", "-o", f"size={effort}g,nr_inodes=0")
    with test(f"{transport}: memory and descriptors are flat over many deliveries") as told, place as directory:
        receiver = Receiver("204")
        settings = {receiver.url: {"transport": transport}}
        queue = Queue(receiver.url + "/{id}", path=f"{directory}/q", destinations=settings)
        lines = "".join(f'{{"n":{n}}}\n' for n in range(count))
        expect(queue("add", "--sync", "none", input=lines, timeout=3600).returncode == 0)
        run = subprocess.Popen(
            queue.command("run", "--until-empty", "--limit", count, "--concurrency", concurrency),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        start = time.monotonic()
        samples = watch(run)
        rate = count / (time.monotonic() - start)
        expect(run.returncode == 0, "the run ended with", run.returncode)
        receiver.end()
        expect(len(receiver.ids()) == len(set(receiver.ids())) == count, "not each was delivered once")
        for pid, values in samples.items():
            if len(values) < 40:
                continue
            name = "run" if pid == run.pid else "agent"
            before, after = quarters([size for size, _ in values])
            told.append(f"{name} {before / 1024:.1f} to {after / 1024:.1f} MB")
            allowance = leak * count * 0.6 if name == "agent" else 0
            expect(after <= before * 1.15 + allowance, name, "grew from", before, "to", after, "KB")
            before, after = quarters([descriptors for _, descriptors in values])
            told.append(f"{after:.0f} descriptors")
            expect(after <= before + concurrency, name, "had", before, "descriptors, and then", after)
        told.append(f"{count} operations, {rate:.0f}/s")

end()
