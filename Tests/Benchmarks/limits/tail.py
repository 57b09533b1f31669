"""Writes a file's lines to standard output, each by a write of its own, as `tail -F` of a busy log does."""

import os
import sys

with open(sys.argv[1], "rb") as file:
    for line in file:
        os.write(1, line)
