"""Installs PyTorch, which only `training/` needs, and only if set-up is asked to.

`make setup TRAINING=1` chooses it and later set-ups keep it; `TRAINING=0` removes it. The choice is stored as a file in
`.venv` with the lock file's digest.
"""

from __future__ import annotations

import hashlib
import re

from steps import ROOT, VENV, WHEELS_LOCK, SetupError, install_locked, pip, run, say

LOCK = ROOT / "requirements-training.lock"
CHOSEN = VENV / "training"
WHAT = "PyTorch (on Linux several GB, with NVIDIA's libraries)"


def is_chosen() -> bool:
    return CHOSEN.exists()


def install() -> None:
    """Install PyTorch. Raises SetupError if that fails."""
    key = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if CHOSEN.exists() and CHOSEN.read_text() == key:
        return
    CHOSEN.write_text("")  # an empty digest matches no lock file: after an interruption, the next set-up goes on
    install_locked(WHAT, LOCK)
    CHOSEN.write_text(key)
    say("training/ can train now; `make setup TRAINING=0` removes PyTorch again")


def keep() -> None:
    """Keep PyTorch as chosen earlier; a failed installation does not stop set-up."""
    try:
        install()
    except SetupError as error:
        say(str(error))


def remove() -> None:
    """Remove PyTorch and its dependencies, except those that Chickadee needs too."""
    needed = packages(WHEELS_LOCK.read_text())
    names = [name for name in packages(LOCK.read_text()) if name not in needed]
    run(pip("uninstall", "--quiet", "-y", *names), "could not remove PyTorch")
    CHOSEN.unlink(missing_ok=True)


def packages(lock: str) -> list[str]:
    """Return the package names in a lock file, each once."""
    return list(dict.fromkeys(re.findall(r"^([\w.-]+)==", lock, re.M)))
