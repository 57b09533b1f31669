"""Python's packages, in virtual environments of their own below the cache."""

import hashlib
import subprocess

from debian import cache


def python_with(*packages):
    """The Python of an environment that has these packages."""
    name = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:12]
    place, complete = cache / f"python-{name}", cache / f"python-{name}.complete"
    python = place / "bin/python"
    if not complete.exists():
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", place], check=True)
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", *packages]
        subprocess.run(pip, check=True, timeout=600)
        complete.touch()
    return python
