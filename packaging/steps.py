"""Paths of set-up, and helpers that run its steps and report errors. Standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # a program of this folder finds only its neighbours
from common import system_packages as system_packages  # noqa: E402

# `make package` has an environment of its own.
VENV = Path(os.environ.get("CHICKADEE_VENV") or ROOT / ".venv").absolute()
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
# Windows' Python under Wine is no virtual environment and says itself where it is.
PYTHON = Path(os.environ.get("CHICKADEE_PYTHON") or BIN / ("python.exe" if os.name == "nt" else "python"))
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chickadee-build"
WHEELS_LOCK = ROOT / "requirements.lock"

# What pip says, and what it means: the first that pip said counts, because a download is tried several times.
CAUSES = (
    (
        "No space left on device",
        "the disk is full. Free some space (the checkout, ~/.cache or /tmp), then run the same again.",
    ),
    (
        "DO NOT MATCH THE HASHES",
        "what came is not what was published, so it was not installed. Run the same again; if that does not help, "
        "something between this computer and the package index (a proxy, a mirror) changes files.",
    ),
    ("CERTIFICATE_VERIFY_FAILED", "the package index's certificate is not trusted here. Is there a proxy in between?"),
    ("Retrying (Retry(", "the package index cannot be reached. Is the network there? Then run the same again."),
    ("No matching distribution found", "the package index has none for this Python and this computer (see above)."),
)
UNKNOWN_CAUSE = "see above. Running the same again resumes."


class SetupError(Exception):
    """Failed step of set-up; the text says what the computer lacks and how to get it."""


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def run(command: list[object], failure: str, quiet: bool = False) -> None:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL if quiet else None)
    if done.returncode != 0:
        raise SetupError(failure)


def python(*command: object, failure: str) -> None:
    """Run a command with the environment's Python. Raises SetupError with `failure`."""
    run([PYTHON, *command], failure)


def pip(what: str, *options: object) -> list[object]:
    """Build a command of the environment's pip, without its check for a newer pip."""
    return [PYTHON, "-m", "pip", what, "--disable-pip-version-check", *options]


def download(command: list[object], what: str) -> None:
    """Run a command of pip's that downloads `what`. Raises SetupError with the cause and pip's own words."""
    words = [str(part) for part in command]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            sys.stderr.write(line)
    if process.returncode != 0:
        said = "".join(lines)
        cause = next((sentence for words, sentence in CAUSES if words in said), UNKNOWN_CAUSE)
        raise SetupError(f"{what} could not be downloaded or installed: {cause}")


def install_locked(what: str, lock: Path) -> None:
    say(f"installing {what}")
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    download(pip("install", "--no-deps", "--require-hashes", "--only-binary", ":all:", *quiet, "-r", lock), what)


def install_wheel(wheel: Path) -> None:
    say(f"installing {wheel.name}")
    command = pip("install", "--no-deps", "--quiet", "--no-index", "--force-reinstall", wheel)
    run(command, f"could not install {wheel.name}")


def install_atomically(wheel: Path) -> None:
    """Install a wheel so that no half of it is ever visible, even if interrupted or read meanwhile.

    The package's folders are renamed into place when complete, the folder with its modules last.
    """
    say(f"installing {wheel.name}")
    ask = [str(PYTHON), "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"]
    packages = Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())
    staging = packages.parent / "unpacked"
    shutil.rmtree(staging, ignore_errors=True)
    failure = f"could not install {wheel.name}"
    run([*pip("install", "--no-deps", "--quiet", "--no-index", "--target"), staging, wheel], failure)
    uninstall(wheel.name.partition("-")[0])
    for folder in sorted(staging.iterdir(), key=lambda folder: folder.suffix != ".dist-info"):
        shutil.rmtree(packages / folder.name, ignore_errors=True)  # left by an interrupted installation
        folder.rename(packages / folder.name)
    staging.rmdir()


def uninstall(package: str) -> None:
    """Uninstall the package; do nothing if it is not installed."""
    run(pip("uninstall", "-qq", "-y", package), f"could not remove {package}")
