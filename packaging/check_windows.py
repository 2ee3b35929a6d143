"""`make test-windows`: runs Chickadee on Linux as on Windows: Python for Windows under Wine, with llama.cpp by mingw.

Everything is made in build/windows and kept there; the compiled llama.cpp and the wheels stay in the user's cache. Each
step prints a line, has a time limit, and its failure fails the command. Standard library only.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from processors import OLDER
from release import EPOCH
from setup_lock import setup_lock
from steps import ROOT, WHEELS_LOCK, SetupError, say
from windows_python import WindowsPython
from wine import Ended, Wine, windows_path

BUILD = ROOT / "build" / "windows"
PYTHON = WindowsPython(BUILD / "tests", WHEELS_LOCK)
WINE = Wine(BUILD / "prefix")
ANSWER_SECONDS = 300
JOURNEY_SECONDS = 600
SUITE_SECONDS = 3600  # for each folder of tests
NO_TESTS = 5  # pytest's exit code where no test was chosen, as by "-k"
QUESTION = ("--prompt", "Say hello.", "--max-tokens", "8", "--temp", "0")
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
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


def python(*command: str, seconds: float = ANSWER_SECONDS, shown: bool = False, **variables: str) -> Ended:
    """Run Windows' Python in the checkout, without a screen and with folders of its own for chats and caches."""
    environment = variables | {
        "QT_QPA_PLATFORM": "offscreen",
        "CHICKADEE_DATA_DIR": windows_path(BUILD / "data" / "chats"),
        "CHICKADEE_CACHE_DIR": windows_path(BUILD / "data" / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOURCE_DATE_EPOCH": str(EPOCH),  # there is no git
    }
    return WINE.run([windows_path(PYTHON.program), *command], seconds, environment, ROOT, shown)


def chat(library: str, _arguments: list[str], processor: str = "") -> Ended:
    """Ask a question in the terminal, with the kernels for an older `processor` if one is named."""
    chosen = [] if library == "auto" else ["--backend", library]
    return python("-m", "engine", "chat", *chosen, *QUESTION, CHICKADEE_PROCESSOR=processor)


def pytest(*arguments: str, seconds: float) -> Ended:
    """Run tests in workers. Where a test hangs, pytest-timeout ends its worker, and the others go on in a new one."""
    return python("-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *arguments, seconds=seconds, shown=True)


def folders(files: Iterable[Path]) -> dict[str, list[str]]:
    """Return what pytest is given for each folder: those inside tests/app and the like, and the files beside them."""
    arguments: dict[str, list[str]] = {}
    for file in files:
        parts = file.relative_to(ROOT).parts
        folder = "/".join(parts[:3] if len(parts) > 3 else parts[:-1])
        chosen = arguments.setdefault(folder, [])
        if len(parts) <= 3:
            chosen.append("/".join(parts))
        elif not chosen:
            chosen.append(folder)
    return arguments


def suite(arguments: list[str]) -> Ended:
    """Run the tests, or those that the arguments name, one folder after the other: a hang costs the rest of one."""
    named = [
        argument for argument in arguments if not argument.startswith("-") and (ROOT / argument.split("::")[0]).exists()
    ]
    options = [argument for argument in arguments if argument not in named]
    worst = Ended(0, "")
    for folder, parts in ({name: [name] for name in named} or folders(TESTS)).items():
        ended = pytest(*parts, *options, seconds=SUITE_SECONDS)
        say(f"{folder}: {last_line(ended) if ended.code is not None else 'its time is over'}")
        worst = ended if ended.code not in (0, NO_TESTS) else worst
    return worst


STEPS: dict[str, Callable[[list[str]], Ended]] = {
    "modules": lambda _: python("-c", f"import {MODULES}; print('the libraries are imported')"),
    "profile": lambda _: python("-m", "engine", "profile"),
    **{library: partial(chat, library) for library in ("llama", "ik", "auto")},
    **{f"as {name}": partial(chat, "llama", processor=name) for name in OLDER},
    "window": lambda _: python("-m", "app", "--self-test"),
    "journey": lambda _: pytest("tests/app/test_start.py", "-k", "test_the_journey", seconds=JOURNEY_SECONDS),
    "suite": suite,
}


if __name__ == "__main__":
    sys.exit(main())
