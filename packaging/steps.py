"""Where set-up keeps what it makes, and how it runs a step and says what went wrong. Standard library only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# `make package` has an environment of its own.
VENV = Path(os.environ.get("CHICKADEE_VENV") or ROOT / ".venv").absolute()
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chickadee-build"
WHEELS_LOCK = ROOT / "requirements.lock"


class SetupError(Exception):
    """The machine lacks something; the text says what and how to get it."""


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def run(command: list[object], failure: str, quiet: bool = False) -> None:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL if quiet else None)
    if done.returncode != 0:
        raise SetupError(failure)


def python(*command: object, failure: str) -> None:
    """Runs the environment's Python."""
    run([PYTHON, *command], failure)


def pip(what: str, *options: object) -> list[object]:
    """A command of the environment's pip, which looks for no newer version of itself."""
    return [PYTHON, "-m", "pip", what, "--disable-pip-version-check", *options]


def install_locked(what: str, lock: Path) -> None:
    say(f"installing {what}")
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    command = pip("install", "--no-deps", "--require-hashes", "--only-binary", ":all:", *quiet, "-r", lock)
    run(command, f"could not install {what}: is the network there? `make setup` resumes.")


def install_wheel(wheel: Path) -> None:
    say(f"installing {wheel.name}")
    command = pip("install", "--no-deps", "--quiet", "--no-index", "--force-reinstall", wheel)
    run(command, f"could not install {wheel.name}")


def uninstall(package: str) -> None:
    run(pip("uninstall", "--quiet", "-y", package), f"could not remove {package}")
