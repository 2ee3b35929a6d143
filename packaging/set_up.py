"""Set-up: turns a clean checkout into a `.venv` that runs, tests and type-checks. Standard library only.

prepare.py starts it. It checks what the computer must have (see `computer`). Then every step checks whether its result
exists, so a second run takes a few milliseconds and an interrupted one resumes. llama.cpp is compiled (see
`compiled_wheel`), ik_llama.cpp only if asked for (see `native`).

`make run` does not wait for llama.cpp's compile if the prebuilt ik_llama.cpp can answer meanwhile: `.venv/unfinished`
then holds the command with which the window has it compiled in the background.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import computer
import pytorch
from background import run_in_background
from compiled_wheel import NoCompiler
from llama_wheel import BUILD_OPTIONS, COMPILED_LOCK, LLAMA
from native import install_native, install_prebuilt, is_chosen, keep_native
from own_code import SOURCES, compile_own_code
from setup_lock import setup_lock
from steps import (
    PYTHON,
    ROOT,
    VENV,
    WHEELS_LOCK,
    SetupError,
    install_atomically,
    install_locked,
    run,
    say,
    system_packages,
    uninstall,
)

READY = VENV / "ready"
UNFINISHED = VENV / "unfinished"  # app/services/preparation.py reads it
NO_COMPILER = 3  # exit code, also known to app/services/preparation.py
WEIGHTS_LOCK = ROOT / "packaging" / "weights.lock"


def main() -> int:
    given = options()
    try:
        if given.check:
            require_computer(given.without_waiting, given.terminal)
            return 0
        if given.background:
            run_in_background(LLAMA.memory)
        if given.without_waiting and is_usable():
            return 0
        with setup_lock():
            if given.background:
                finish_set_up()
            else:
                set_up(given)
    except NoCompiler as error:
        say(str(error))
        return NO_COMPILER
    except SetupError as error:
        say(str(error))
        return 1
    except OSError as error:
        say(f"{error.strerror}: {error.filename or ROOT}. Mend this, then run the same again.")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next `make setup` goes on from here")
        return 130
    return 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Set up .venv.")
    parser.add_argument("--native", choices=["0", "1"], help="compile ik_llama.cpp here, or take the prebuilt one")
    parser.add_argument("--training", choices=["0", "1"], help="bring PyTorch for training/, or remove it")
    parser.add_argument(
        "--without-waiting", action="store_true", help="leave the compile of llama.cpp to the window, where it can wait"
    )
    parser.add_argument("--terminal", action="store_true", help="do without Qt's libraries, for `make chat`")
    parser.add_argument("--check", action="store_true", help="only check whether this computer has what set-up needs")
    parser.add_argument(
        "--background",
        action="store_true",
        help="do what was left, without the network, at the lowest priority, until the input ends (for the window)",
    )
    given = parser.parse_args()
    # Who compiles or downloads these waits for minutes anyway, and knows why.
    given.without_waiting &= not (given.native or given.training or is_chosen() or pytorch.is_chosen())
    return given


def set_up(given: argparse.Namespace) -> None:
    """Set up everything; without --native or --training, the earlier choice is kept."""
    kept = is_chosen()  # read before `prepare`, which may replace .venv and the note in it
    trained = pytorch.is_chosen()
    prepare(given.without_waiting, given.terminal)
    if given.native == "1":
        install_native()
    elif kept:
        keep_native() if given.native is None else install_prebuilt()
    if given.training == "1":
        pytorch.install()
    elif trained:
        pytorch.keep() if given.training is None else pytorch.remove()


def prepare(without_waiting: bool, terminal: bool = False) -> None:
    stamp = fingerprint()
    if is_ready(stamp) or (without_waiting and is_usable(stamp)):
        return
    require_computer(without_waiting, terminal)
    if not is_usable(stamp):
        set_up_all_but_llama()
    if without_waiting and not LLAMA.is_cached() and ik_computes():
        leave_llama_to_window(stamp)
        say("ready; the window compiles llama.cpp while you chat, or `make setup` does so now")
        return
    install_llama(stamp)


def require_computer(without_waiting: bool, terminal: bool) -> None:
    """Check what this computer must have. Raises SetupError with all that is missing."""
    compiles = not LLAMA.is_cached() and not (without_waiting and computer.has_ik_wheel())
    computer.require(compiles, [] if terminal else system_packages.missing_window_libraries())


def set_up_all_but_llama() -> None:
    """Set up all but llama.cpp, whose source is already downloaded here."""
    make_venv()
    install_locked("libraries", WHEELS_LOCK)
    with ThreadPoolExecutor() as threads:  # downloads and compiling overlap
        steps = [
            threads.submit(install_locked, "the default model (90 MB)", WEIGHTS_LOCK),
            threads.submit(compile_own_code),
            threads.submit(LLAMA.fetch),
        ]
    for step in steps:
        step.result()


def leave_llama_to_window(stamp: str) -> None:
    """Write down that llama.cpp is still to be compiled, for `finish_set_up`."""
    uninstall(LLAMA.package)  # may be there from an earlier checkout
    READY.unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__).resolve().with_name("prepare.py")), "--background"]
    UNFINISHED.write_text(json.dumps({"stamp": stamp, "command": command}))


def finish_set_up() -> None:
    """Compile and install llama.cpp, which `leave_llama_to_window` left. Raises SetupError."""
    stamp = fingerprint()
    if is_ready(stamp):
        return
    if not is_usable(stamp):
        raise SetupError("the checkout has changed since it was set up: run `make setup`")
    install_llama(stamp)


def install_llama(stamp: str) -> None:
    install_atomically(LLAMA.wheel())
    READY.write_text(stamp)
    UNFINISHED.unlink(missing_ok=True)
    say("ready")


def is_ready(stamp: str) -> bool:
    return READY.exists() and READY.read_text() == stamp


def is_usable(stamp: str = "") -> bool:
    """Return whether everything but llama.cpp, or everything, is set up.

    Called without the lock, so that a window does not wait for another window's background compile.
    """
    stamp = stamp or fingerprint()
    try:
        return is_ready(stamp) or json.loads(UNFINISHED.read_text())["stamp"] == stamp
    except (OSError, ValueError):
        return False


def ik_computes() -> bool:
    """Return whether the prebuilt ik_llama.cpp can answer on this processor, by asking the engine."""
    ask = "from engine.runtime.ik import needs; exit(needs.library_file() is None or bool(needs.missing_features()))"
    return subprocess.run([PYTHON, "-c", ask], cwd=ROOT, capture_output=True).returncode == 0


def fingerprint() -> str:
    """Return a digest of all that the environment depends on.

    These are the lock files, the programs of this folder, our native code, the interpreter and the checkout's path.
    """
    digest = hashlib.sha256(f"{sys.version}{ROOT}{BUILD_OPTIONS}".encode())
    for path in (WHEELS_LOCK, COMPILED_LOCK, WEIGHTS_LOCK, *SOURCES, *sorted(Path(__file__).parent.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make_venv() -> None:
    if PYTHON.exists() and subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return
    say("creating .venv")
    run([sys.executable, "-m", "venv", "--clear", str(VENV)], "could not create .venv")
