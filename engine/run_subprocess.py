"""Start the engine's commands in processes of their own, and set the environment that its libraries read.

A command gets its own process if it must not share this one's memory or library.

C libraries read the environment as they are loaded, so it is set when the process starts. What the C library's
allocator does has to be chosen before a Linux process starts:

- Huge pages. Repacked weights and the KV cache are hundreds of megabytes that every pass reads. In pages of 2 MiB
  instead of 4 KiB the processor looks up fewer addresses (1.5B model: prompts are read 7 % faster), and a new cache is
  ready sooner.
- Memory of its own for everything from 1 MiB on. By default the limit rises up to 32 MiB as buffers are freed. Then
  buffers of a cache that has grown leave gaps that stay resident, and llama.cpp's tables of graphs are zero-filled
  before they are used: 10 MB for most models, 20 to 80 MB for those whose graphs are large.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Generator
from typing import IO

from common.engine_program import engine_command

NO_CONSOLE: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # else Windows opens a console beside the window
TUNABLES = "GLIBC_TUNABLES"  # glibc 2.35; older ones and other libraries ignore what they do not know
HUGE = "glibc.malloc.hugetlb=1"
ALLOCATOR = (HUGE, f"glibc.malloc.mmap_threshold={1 << 20}")
SETTINGS = {
    # How long OpenMP's threads spin at a barrier before they sleep. Its default, 300,000 turns, wastes whole time
    # slices where another program wants a core. 60,000 turns are as fast as that on a quiet machine (20,000 read
    # prompts 2 % slower with a 1.5B model, 3,000 write a tenth slower) and read prompts faster on a busy one
    # (docs/performance.md, “Beside other busy programs”).
    "GOMP_SPINCOUNT": "60000",
    # Where ggml aborts, it would start a debugger to print the stack, which takes seconds and reads all of the memory.
    "GGML_NO_BACKTRACE": "1",
}

log = logging.getLogger("engine.run_subprocess")


def start_engine_command(
    verb: str, *arguments: str,
    stdout: int | IO[bytes] = subprocess.DEVNULL, stderr: int | IO[bytes] = subprocess.DEVNULL, own_group: bool = False,
) -> subprocess.Popen[bytes]:  # fmt: skip
    """Start `python -m engine …` without input. Raises OSError.

    `own_group`: keep Ctrl-C in the terminal from reaching the process, except on Windows.
    """
    return subprocess.Popen(
        [*engine_command(verb), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        creationflags=NO_CONSOLE,
        process_group=0 if own_group and os.name == "posix" else None,
    )


def run_engine_command(verb: str, *arguments: str) -> Generator[int | None, None, None]:
    """Run `python -m engine …`: yield None every 20 ms until the process ends, then its exit code.

    The process is killed when the iterator is closed. Its output is dropped: its result is what it stores in the cache
    folder.
    """
    with start_engine_command(verb, *arguments) as process:
        yield from poll_exit_code(process)


def poll_exit_code(process: subprocess.Popen[bytes]) -> Generator[int | None, None, None]:
    """Yield None every 20 ms until the process ends, then its exit code, which is negative if a signal ended it.

    The process is killed when the iterator is closed.
    """
    try:
        while process.poll() is None:
            time.sleep(0.02)
            yield None
        yield process.returncode
    finally:
        process.kill()


def set_environment() -> None:
    """Set SETTINGS in this process's environment before a library is loaded; keep what the user has set."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def start_with_environment() -> None:
    """Set the environment; on Linux, re-execute this program in the same process once, so that glibc reads ALLOCATOR.

    Returns if the environment is complete, or if the program cannot be executed again.
    """
    set_environment()
    before = os.environ.get(TUNABLES, "")
    if sys.platform != "linux" or HUGE in before:  # glibc splits the text in place, so that only its beginning is seen
        return
    os.environ[TUNABLES] = ":".join([*ALLOCATOR, before]).rstrip(":")
    try:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    except OSError as error:
        log.warning("going on with glibc's usual allocator: %s", error)
