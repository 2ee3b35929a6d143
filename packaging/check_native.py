"""`make test-native`: runs the tests of our native code for ik_llama.cpp, built with AddressSanitizer and UBSan.

An access outside of allocated memory, or undefined behaviour, ends the tests. Standard library only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ik_native import CHECKED, compile_ik_native
from steps import PYTHON, ROOT, say

TESTS = ROOT / "tests" / "engine" / "runtime" / "ik" / "alone"
NAMES = ("test_native.py", "test_attention.py", "test_eight_rows.py", "test_output_head.py")


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
            "LD_PRELOAD": runtime(library),  # it must be loaded before the libraries whose functions it replaces
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",  # Python never frees some of its memory
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            "QT_QPA_PLATFORM": "offscreen",
        }
        tests = [TESTS / name for name in NAMES]
        return subprocess.run([*command, *sys.argv[1:], *tests], env=surroundings, cwd=ROOT).returncode


def runtime(library: Path) -> str:
    """Return the path of AddressSanitizer's library that `library` is linked to."""
    output = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    return next(line.split("=>")[1].split()[0] for line in output.splitlines() if "libasan" in line)


if __name__ == "__main__":
    sys.exit(main())
