#!/usr/bin/env python3
"""The gallery: each configuration of `etc/drainq/examples` that names a service, against that service.

    gallery.py            every service
    gallery.py NAME…      these
    gallery.py --list     their names, and what each is tested against

Prints `ok …` or `not ok …`, a line for each test; status 1 if one failed. `gallery/README.md` says how a service is
added.
"""

import importlib
import pathlib
import signal
import sys

here = pathlib.Path(__file__).resolve().parent / "gallery"
sys.path[:0] = [str(here), str(here / "services")]

import kit  # noqa: E402

names = sorted(file.stem for file in (here / "services").glob("*.py"))


def first_line(module):
    return module.__doc__.splitlines()[0]


def main(arguments):
    if arguments == ["--list"]:
        for name in names:
            print(f"{name:16}{first_line(importlib.import_module(name))}")
        return 0
    unknown = [name for name in arguments if name not in names]
    if unknown:
        print(f"gallery.py: no service is called {', '.join(unknown)}; --list shows all", file=sys.stderr)
        return 64
    for name in arguments or names:
        kit.run(name, importlib.import_module(name))
    return 1 if kit.failed else 0


# What was started is ended also where somebody's patience has ended.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
sys.exit(main(sys.argv[1:]))
