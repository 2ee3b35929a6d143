"""`make test-native`: the tests of our native code for ik_llama.cpp, compiled with AddressSanitizer and UBSan.

An access outside of what was allocated, or what C++ does not define, ends the tests. Standard library only."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ik_native import CHECKED, compile_ik_native
from steps import PYTHON, ROOT, say

TESTS = ROOT / "tests" / "engine" / "runtime" / "ik" / "alone"
NAMES = ("test_native.py", "test_eight_rows.py", "test_output_head.py")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "ik.so"
        compile_ik_native(library, CHECKED)
        if not library.exists():
            say("there is no native code to test on this computer")
            return 1
        command: list[str | Path] = [
            PYTHON,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:faulthandler",
            "--capture=sys",
            f"--confcutdir={TESTS}",
        ]
        surroundings = {
            **os.environ,
            "CHICKADEE_CHECKED": str(library),
            "LD_PRELOAD": runtime(library),  # before all that it replaces functions of
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",  # Python's own are never freed
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            "QT_QPA_PLATFORM": "offscreen",
        }
        tests = [TESTS / name for name in NAMES]
        return subprocess.run([*command, *sys.argv[1:], *tests], env=surroundings, cwd=ROOT).returncode


def runtime(library: Path) -> str:
    """AddressSanitizer's own library, which `library` is linked to."""
    output = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    return next(line.split("=>")[1].split()[0] for line in output.splitlines() if "libasan" in line)


if __name__ == "__main__":
    sys.exit(main())
