"""PyTorch, which only `training/` needs: no set-up brings it that was not asked to.

`make setup TRAINING=1` chooses it and later set-ups keep it; `TRAINING=0` removes it. What is chosen is a file in
`.venv` with the lock file's digest.
"""

from __future__ import annotations

import hashlib
import re

from steps import ROOT, VENV, WHEELS_LOCK, SetupError, install_locked, pip, run, say

LOCK = ROOT / "requirements-training.lock"
CHOSEN = VENV / "training"
WHAT = "PyTorch (on Linux several GB, with NVIDIA's libraries)"


def chosen() -> bool:
    return CHOSEN.exists()


def install() -> None:
    """Raises SetupError where it cannot be had."""
    key = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if CHOSEN.exists() and CHOSEN.read_text() == key:
        return
    CHOSEN.write_text("")  # no lock file's digest: if this is interrupted, the next set-up goes on
    install_locked(WHAT, LOCK)
    CHOSEN.write_text(key)
    say("training/ can train now; `make setup TRAINING=0` removes PyTorch again")


def keep() -> None:
    """A later set-up: the choice stands, but what failed is no reason to stop."""
    try:
        install()
    except SetupError as error:
        say(str(error))


def remove() -> None:
    """And what came with it, but for what Chickadee itself needs."""
    needed = packages(WHEELS_LOCK.read_text())
    names = [name for name in packages(LOCK.read_text()) if name not in needed]
    run(pip("uninstall", "--quiet", "-y", *names), "could not remove PyTorch")
    CHOSEN.unlink(missing_ok=True)


def packages(lock: str) -> list[str]:
    """Names in a lock file, each once."""
    return list(dict.fromkeys(re.findall(r"^([\w.-]+)==", lock, re.M)))
