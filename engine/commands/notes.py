"""What the engine's modules note for the user while a command runs: one sentence each on stderr."""

from __future__ import annotations

import logging


def notes_to_stderr() -> None:
    """Warnings of our own modules are sentences; llama.cpp's are not, and what matters of them becomes a Failure."""
    logging.basicConfig(level=logging.WARNING, format="chickadee: %(message)s")
    for name in ("engine.llama", "engine.ik", "engine.capi"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
