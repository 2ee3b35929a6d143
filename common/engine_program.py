"""The engine's program: the command that starts it, and the option that names a file it may read."""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = "chickadee-engine" if getattr(sys, "frozen", False) else "python -m engine"  # what a user types
READ_OPTION = "--read"  # option of `serve` and `plans`: a file outside of the model folders that the engine may read


def engine_command(verb: str) -> list[str]:
    """Return the program and arguments that start the engine with the command `verb`.

    A packaged app starts the executable beside its own; a checkout starts `python -m engine`.
    """
    if getattr(sys, "frozen", False):
        suffix = ".exe" if sys.platform == "win32" else ""
        return [str(Path(sys.executable).with_name(f"chickadee-engine{suffix}")), verb]
    return [sys.executable, "-m", "engine", verb]
