"""`make test-native`: runs the tests of our native code for both libraries, built with AddressSanitizer and UBSan.

An access outside of allocated memory, or undefined behaviour, ends the tests. Standard library only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from own_code import CHECKED, IK_CODE, LLAMA_CODE, OwnCode
from steps import PYTHON, ROOT, say

TESTS = ROOT / "tests" / "engine" / "runtime"
IK_TESTS = TESTS / "ik" / "alone"
IK_NAMES = ("test_native.py", "test_attention.py", "test_eight_rows.py", "test_output_head.py")


def main() -> int:
    return check(IK_CODE, IK_TESTS, [IK_TESTS / name for name in IK_NAMES]) or check(
        LLAMA_CODE, TESTS, [TESTS / "test_low_bits.py"]
    )


def check(code: OwnCode, folder: Path, tests: list[Path]) -> int:
    """Compile the code with the checks and run its `tests`, below `folder`; return pytest's exit code."""
    with tempfile.TemporaryDirectory() as built:
        library = Path(built) / code.library.name
        code.compile(library, CHECKED)
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
            f"--confcutdir={folder}",
        ]
        surroundings = {
            **os.environ,
            "CHICKADEE_CHECKED": str(library),
            "LD_PRELOAD": runtime(library),  # it must be loaded before the libraries whose functions it replaces
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",  # Python never frees some of its memory
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            "QT_QPA_PLATFORM": "offscreen",
        }
        return subprocess.run([*command, *sys.argv[1:], *tests], env=surroundings, cwd=ROOT).returncode


def runtime(library: Path) -> str:
    """Return the path of AddressSanitizer's library that `library` is linked to."""
    output = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    return next(line.split("=>")[1].split()[0] for line in output.splitlines() if "libasan" in line)


if __name__ == "__main__":
    sys.exit(main())
