"""Commands of the engine in processes of their own: for what must not share this one's memory, or its library.

And what an engine's process has in its environment, set when it starts: C libraries read it as they are loaded. Huge
pages, for what the C library allocates, a Linux process has to ask for before it starts. Repacked weights and the KV
cache are hundreds of megabytes that every pass reads. In pages of 2 MiB instead of 4 KiB the processor looks up fewer
addresses (1.5B model: prompts are read 7 % faster), and a new cache is ready sooner.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Generator
from typing import IO

NO_CONSOLE: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows would open one beside the app, which has none
TUNABLES, HUGE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb"  # glibc 2.35; older ones and other libraries ignore it
SETTINGS = {
    # How long OpenMP's threads spin at a barrier before they sleep. Its default, 300,000 turns, wastes whole time
    # slices where another program wants a core. 60,000 turns are as fast as that on a quiet machine (20,000 read
    # prompts 2 % slower with a 1.5B model, 3,000 write a tenth slower) and read prompts faster on a busy one
    # (`python -m benchmarks.busy`).
    "GOMP_SPINCOUNT": "60000",
    # Where ggml aborts, it would start a debugger to print the stack, which takes seconds and reads all of the memory.
    "GGML_NO_BACKTRACE": "1",
}

log = logging.getLogger("engine.run_subprocess")


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


def run_apart(*arguments: str) -> Generator[int | None, None, None]:
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


def set_environment() -> None:
    """Of this process and those that it starts, but for what the user has set; before a library is loaded."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def start_with_environment() -> None:
    """Start this process's command anew, in this process, with all settings made; returns where they are made."""
    set_environment()
    before = os.environ.get(TUNABLES, "")
    if sys.platform != "linux" or HUGE in before:
        return
    os.environ[TUNABLES] = f"{HUGE}=1:{before}".rstrip(":")  # first: glibc cuts the text up where it stands
    try:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    except OSError as error:
        log.warning("going on without huge pages: %s", error)
