"""Commands of the engine in processes of their own: for what must not share this one's memory, or its library."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator


def run_apart(*arguments: str) -> Iterator[int | None]:
    """Run `python -m engine …`; None again and again until it ends, then its exit code.

    It is killed when the iterator is closed. What it prints is dropped: its result is what it keeps in the cache."""
    command = [sys.executable, *([] if getattr(sys, "frozen", False) else ["-m", "engine"]), *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while process.poll() is None:
                time.sleep(0.02)
                yield None
            yield process.returncode
        finally:
            process.kill()
