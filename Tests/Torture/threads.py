"""`many-at-once` under the thread sanitizer: python3 Tests/Torture/threads.py

Not a suite of .ci/run: it builds drainq anew, and everything takes ten times as long. A report of the sanitizer ends
the program that it is about with status 66, which no test allows, and is printed here.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
top = here.parent.parent
build = ["swift", "build", "--sanitize=thread", "--scratch-path", top / ".build-tsan", "--product", "drainq"]

subprocess.run(build, cwd=top, check=True)
with tempfile.TemporaryDirectory() as directory:
    library = f"{directory}/lies.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, here / "lies.c"], check=True)
    # The sanitizer does not see how a contended Mutex is handed over (its slow path is in a library that is built
    # without, and in the kernel). `zYuYT` is in the names of withLock's bodies: the one way to what a Mutex guards.
    suppressions = pathlib.Path(directory, "suppressions")
    suppressions.write_text("race:*zYuYT*\n")
    suite = subprocess.run([here / "many-at-once.py"], env={
        **os.environ, "DRAINQ": str(top / ".build-tsan/debug/drainq"), "LD_PRELOAD": library,
        # The sanitizer needs more memory than an agent may have.
        "LIES": "setrlimit=0",
        "TSAN_OPTIONS": f"log_path={directory}/report exitcode=66 suppressions={suppressions}"})
    reports = sorted(pathlib.Path(directory).glob("report.*"))
    for report in reports:
        print(report.read_text(errors="replace"))
    print(f"{len(reports)} reports")
sys.exit(suite.returncode or len(reports) > 0)
