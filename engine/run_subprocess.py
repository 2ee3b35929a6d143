"""Commands of the engine in processes of their own: for what must not share this one's memory, or its library."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from typing import IO

NO_CONSOLE: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows would open one beside the app, which has none


def start_apart(
    *arguments: str, stdout: int | IO[bytes] = subprocess.DEVNULL, stderr: int | IO[bytes] = subprocess.DEVNULL,
    own_group: bool = False,
) -> subprocess.Popen[bytes]:  # fmt: skip
    """Start `python -m engine …`, which gets no input. Raises OSError.

    `own_group`: Ctrl-C in the terminal does not reach it, except on Windows."""
    command = [sys.executable, *([] if getattr(sys, "frozen", False) else ["-m", "engine"]), *arguments]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        creationflags=NO_CONSOLE,
        process_group=0 if own_group and os.name == "posix" else None,
    )


def run_apart(*arguments: str) -> Iterator[int | None]:
    """Run `python -m engine …`; None again and again until it ends, then its exit code.

    It is killed when the iterator is closed. What it prints is dropped: its result is what it keeps in the cache."""
    with start_apart(*arguments) as process:
        yield from until_it_ends(process)


def until_it_ends(process: subprocess.Popen[bytes]) -> Generator[int | None, None, None]:
    """None again and again, then its exit code, which is negative where a signal ended it."""
    try:
        while process.poll() is None:
            time.sleep(0.02)
            yield None
        yield process.returncode
    finally:
        process.kill()
