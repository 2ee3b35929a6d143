"""`make setup`: starts set-up (set_up.py) if this Python is one that Chickadee runs on.

Every Python from 3.6 on can read this file, so that an older one says a sentence instead of a syntax error.
"""

import re
import shutil
import struct
import sys
from pathlib import Path

REQUIRED = re.compile(r'^requires-python = ">=3\.(\d+),<3\.(\d+)"', re.MULTILINE)
POINTER_BYTES = 8  # of a 64-bit Python


def python_problem(version: "tuple[int, ...]") -> str:
    """Return the sentence that says why set-up cannot use a Python of this version; "" if it can."""
    oldest, first_too_new = supported()
    if version[0] == 3 and oldest <= version[1] < first_too_new:
        return ""
    number = ".".join(str(part) for part in version[:3])
    why = "too old" if tuple(version[:2]) < (3, oldest) else "too new: not all libraries have a release for it yet"
    names = [f"python3.{minor}" for minor in range(first_too_new - 1, oldest - 1, -1)]
    python = next(filter(shutil.which, names), None)
    how = f"Use the one that is here: `make run PYTHON={python}`." if python else "Install one of those beside it."
    return (
        f"Chickadee runs on Python 3.{oldest} to 3.{first_too_new - 1}. This is Python {number}, which is {why}. {how}"
    )


def supported() -> "tuple[int, int]":
    """Return the minor versions of the oldest Python 3 that Chickadee runs on, and of the first that is too new."""
    project = Path(__file__).resolve().parent.parent / "pyproject.toml"
    match = REQUIRED.search(project.read_text(encoding="utf-8"))
    assert match
    return int(match.group(1)), int(match.group(2))


def main() -> int:
    problem = python_problem(sys.version_info[:3])
    if not problem and (sys.implementation.name != "cpython" or struct.calcsize("P") != POINTER_BYTES):
        problem = "Chickadee runs on 64-bit CPython, the usual Python; this is another one."
    if problem:
        sys.stderr.write(f"setup: {problem}\n")
        return 1
    import set_up  # not above: an older Python cannot read it

    return set_up.main()


if __name__ == "__main__":
    sys.exit(main())
