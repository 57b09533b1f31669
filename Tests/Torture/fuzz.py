#!/usr/bin/env python3
"""libFuzzer with the address sanitizer over everything that reads what others wrote (Fuzz/Targets.swift has a property for
each beyond "does not crash"): JSON and its pointers, names, operation files, envelopes, the configuration, times, frames
between a run and its agents, redirects, what is shown of an answer, the receiver's requests, templates with the payloads
that fill them in, durations, sizes, rates and dates as people write them, and what runs remember of destinations. Numbers
that were read are also computed with: delays after any attempt, waits and ages by clocks that show any time.

On a commit each target gets the same inputs on every machine, so that no commit fails by what another one has brought in.
With DRAINQ_TORTURE=2 and more the inputs are new ones, for ten seconds times that number a target: this finds.

The corpus is in Fuzz/corpus/TARGET, one seed a file. What libFuzzer finds is written to $DRAINQ_FINDINGS (default: a
directory of /tmp that is named in the report); each becomes a test in the ordinary tests before it is mended.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile

from torture import effort, end, expect, here, scratch, test

sources = here.parent.parent / "Sources"
# What the targets need, compiled as one module.
wanted = [
    "CSystem/Errno.swift", "Policy/**/*.swift", "Spool/Admission/Envelope.swift", "Spool/Format/*.swift",
    "Spool/QueueState.swift", "Spool/FileSystem/Errno+Kinds.swift", "Spool/FileSystem/FileStatus.swift", "Spool/FileSystem/QueuePath.swift",
    "Spool/FileSystem/BodyFileRefusal.swift", "Delivery/Agents/Frame*.swift",
    "Delivery/Transports/UnavailableTransport.swift", "Configuration/*.swift",
    "DrainqCLI/CommandLine/PointInTime.swift",
]
# Documents, which read nothing.
unwanted = re.compile("File\\+Template")
ours = re.compile(r"^(package |public )?import (Policy|Spool|Delivery|Configuration)$", re.M)
targets = {
    "json": 4096, "pointer": 512, "name": 255, "file": 4096, "envelope": 4096, "configuration": 4096, "time": 128,
    "frame": 4096, "redirect": 512, "display": 2048,
    "template": 1024, "quantity": 128, "state": 4096,
}
# Inputs of a target on a commit; the seconds that are spent on it elsewhere.
inputs, seconds = 15_000, 10 * effort
fuzzer = scratch / "fuzzer"
findings = pathlib.Path(os.environ.get("DRAINQ_FINDINGS") or tempfile.mkdtemp(prefix="drainq-findings-"))


def build():
    module = scratch / "module"
    files = []
    for pattern in wanted:
        found = sorted(path for path in sources.glob(pattern) if not unwanted.search(path.name))
        expect(found, "no file is called", pattern)
        for source in found:
            # One module: its parts do not import each other.
            copy = module / str(source.relative_to(sources)).replace("/", "-")
            copy.parent.mkdir(exist_ok=True)
            library = "import Glibc\n" if source.parent.name == "CSystem" else ""
            copy.write_text(library + ours.sub("", source.read_text()).replace("import CSystem", "import Glibc"))
            files.append(str(copy))
    files.append(str(here / "Fuzz" / "Targets.swift"))
    checksum = scratch / "CRC32C.o"
    system = sources / "CPlatform"
    subprocess.run(["clang", "-O2", "-c", str(system / "CRC32C.c"), "-I", str(system / "include"), "-o", str(checksum)], check=True)
    files += [str(checksum), "-import-objc-header", str(system / "include" / "CPlatform.h")]
    features = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]
    result = subprocess.run(
        # An optimised build takes three times as long, which 15,000 inputs a target do not make up for.
        ["swiftc", "-Onone" if effort == 1 else "-O", "-sanitize=fuzzer,address", "-parse-as-library", "-swift-version", "6", "-package-name", "drainq",
         "-module-name", "Policy", "-suppress-warnings", "-wmo", "-num-threads", "2",
         *(word for feature in features for word in ("-enable-upcoming-feature", feature)),
         *files, "-o", str(fuzzer)],
        capture_output=True, text=True, timeout=900)
    expect(result.returncode == 0, result.stderr[-3000:])


def fuzz(target):
    """Runs one target; returns how it ended, and its words."""
    corpus = scratch / f"corpus-{target}"
    corpus.mkdir()
    # By name: a directory lists them in an order of its own.
    seeds = ",".join(sorted(str(seed) for seed in (here / "Fuzz" / "corpus" / target).iterdir()))
    extent = ["-seed=1", f"-runs={inputs}"] if effort == 1 else [f"-max_total_time={seconds}"]
    return subprocess.run(
        [str(fuzzer), *extent, f"-max_len={targets[target]}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1",
         f"-artifact_prefix={findings}/{target}-", f"-seed_inputs={seeds}", str(corpus)],
        env={**os.environ, "FUZZ_TARGET": target, "ASAN_OPTIONS": "detect_leaks=0", "SWIFT_DETERMINISTIC_HASHING": "1"},
        capture_output=True, text=True, errors="replace", timeout=seconds + 600)


with test("what is fuzzed can be built") as told:
    build()

if fuzzer.exists():
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = {target: pool.submit(fuzz, target) for target in targets}
    for target, future in running.items():
        with test(f"no input breaks a property: {target}") as told:
            result = future.result()
            expect(result.returncode == 0, f"{findings}:\n", result.stderr[-3000:])
            executions = int(re.search(r"number_of_executed_units: (\d+)", result.stderr)[1])
            expect(executions > 1000, "only", executions, "executions")
            told += [f"{executions} executions"]
    if not os.listdir(findings):
        findings.rmdir()

end()
