"""Asks the package index whether set-up's limits are right: the oldest glibc and Python, and the newest Python.

`lock.sh` runs it, because new versions of libraries move these limits. Needs `uv`, which chooses wheels for other
computers than this one. Standard library only.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

from computer import GLIBC
from prepare import supported
from steps import WHEELS_LOCK


def main() -> int:
    oldest, first_too_new = supported()
    wrong = []
    for machine, (major, minor) in GLIBC.items():
        expected = {(minor, oldest): True, (minor, first_too_new - 1): True}
        expected |= {(minor, first_too_new): False, (minor - 1, oldest): False}
        for (glibc, python), exist in expected.items():
            if has_wheels(f"{machine}-manylinux_{major}_{glibc}", f"3.{python}") != exist:
                there = "lacks a wheel that is expected" if exist else "has all wheels: set-up may allow it now"
                wrong.append(f"{machine}, glibc {major}.{glibc}, Python 3.{python} {there}")
    print("\n".join(wrong) or "The package index has what set-up expects.")
    return bool(wrong)


def has_wheels(platform: str, python: str) -> bool:
    """Return whether every locked package has a wheel for this platform, in uv's words, and version of Python."""
    with tempfile.TemporaryDirectory() as place:
        command = [
            "uv",
            "pip",
            "install",
            "--quiet",
            "--dry-run",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--target",
            place,
        ]
        command += [
            "--require-hashes",
            "--python-platform",
            platform,
            "--python-version",
            python,
            "-r",
            str(WHEELS_LOCK),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "no usable wheels" not in done.stderr and "no wheels with a matching" not in done.stderr:
        sys.exit(done.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
