"""`make test-windows`: runs Chickadee on Linux as on Windows: Python for Windows under Wine, with llama.cpp by mingw.

Everything is made in build/windows and kept there; the compiled llama.cpp and the wheels stay in the user's cache. Each
step prints a line, has a time limit, and its failure fails the command. Standard library only.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from setup_lock import setup_lock
from steps import ROOT, WHEELS_LOCK, SetupError, say
from windows_python import WindowsPython
from wine import Ended, Wine

BUILD = ROOT / "build" / "windows"
PYTHON = WindowsPython(BUILD / "tests", WHEELS_LOCK)
WINE = Wine(BUILD / "prefix")
ANSWER_SECONDS = 300
SUITE_SECONDS = 3600
QUESTION = ("--prompt", "Say hello.", "--max-tokens", "8", "--temp", "0")
MODULES = "numpy, psutil, msgspec, lxml.etree, llguidance, PySide6.QtWidgets, llama_cpp, ik_llama_cpp"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the engine, the window and the tests as on Windows, under Wine.")
    parser.add_argument("--only", choices=STEPS, action="append", help="one step alone; may be repeated")
    parser.add_argument("arguments", nargs="*", help="for pytest")
    options = parser.parse_args()
    try:
        with setup_lock():
            WINE.make()
            PYTHON.make()
        failed = [name for name in options.only or STEPS if not passes(name, options.arguments)]
    except SetupError as error:
        say(str(error))
        return 1
    finally:
        WINE.end()
    say(f"failed: {', '.join(failed)}" if failed else "all passed under Wine")
    return bool(failed)


def passes(name: str, arguments: list[str]) -> bool:
    """Run a step and print its line; return whether it passed."""
    began = time.monotonic()
    folder = BUILD / "data"
    shutil.rmtree(folder, ignore_errors=True)
    ended = STEPS[name](arguments)
    good = ended.code == 0
    how = "ok" if good else "its time is over" if ended.code is None else f"exit code {ended.code & 0xFFFFFFFF:#x}"
    if not good and name != "suite":
        print(ended.output, file=sys.stderr)
    say(f"{name}: {how}, {time.monotonic() - began:.0f} s{': ' + last_line(ended) if good else ''}")
    return good


def last_line(ended: Ended) -> str:
    return next((line for line in reversed(ended.output.splitlines()) if line.strip()), "")


def python(*command: str, seconds: float = ANSWER_SECONDS, shown: bool = False) -> Ended:
    """Run Windows' Python in the checkout, without a screen and with folders of its own for chats and caches."""
    environment = {
        "QT_QPA_PLATFORM": "offscreen",
        "CHICKADEE_DATA_DIR": windows_path(BUILD / "data" / "chats"),
        "CHICKADEE_CACHE_DIR": windows_path(BUILD / "data" / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return WINE.run([PYTHON.program, *command], seconds, environment, ROOT, shown)


def windows_path(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")


def chat(*options: str) -> Ended:
    return python("-m", "engine", "chat", *options, *QUESTION)


def suite(arguments: list[str]) -> Ended:
    """Run the tests. Each runs in a worker, which is replaced where one hangs: pytest-timeout ends its process."""
    return python("-m", "pytest", "-n", "1", "-p", "no:cacheprovider", *arguments, seconds=SUITE_SECONDS, shown=True)


STEPS = {
    "modules": lambda _: python("-c", f"import {MODULES}; print('the libraries are imported')"),
    "profile": lambda _: python("-m", "engine", "profile"),
    "llama": lambda _: chat("--backend", "llama"),
    "ik": lambda _: chat("--backend", "ik"),
    "auto": lambda _: chat(),
    "window": lambda _: python("-m", "app", "--self-test"),
    "suite": suite,
}


if __name__ == "__main__":
    sys.exit(main())
