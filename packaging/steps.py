"""Where set-up keeps what it makes, and how it runs a step and says what went wrong. Standard library only."""

from __future__ import annotations

import os
import shutil
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


def install_whole(wheel: Path) -> None:
    """Like `install_wheel`, but never half of it, wherever it is interrupted and whoever looks meanwhile: the folders
    of a package get their names when they are complete, that of its modules last."""
    say(f"installing {wheel.name}")
    ask = [str(PYTHON), "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"]
    packages = Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())
    made = packages.parent / "unpacked"
    shutil.rmtree(made, ignore_errors=True)
    failure = f"could not install {wheel.name}"
    run([*pip("install", "--no-deps", "--quiet", "--no-index", "--target"), made, wheel], failure)
    uninstall(wheel.name.partition("-")[0])
    for folder in sorted(made.iterdir(), key=lambda folder: folder.suffix != ".dist-info"):
        shutil.rmtree(packages / folder.name, ignore_errors=True)  # of one that was interrupted
        folder.rename(packages / folder.name)
    made.rmdir()


def uninstall(package: str) -> None:
    """Also if it is not installed."""
    run(pip("uninstall", "-qq", "-y", package), f"could not remove {package}")
