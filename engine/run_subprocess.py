"""Start the engine's commands in processes of their own, and set the environment that its libraries read.

A command gets its own process if it must not share this one's memory or library.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Generator
from typing import IO

from common.engine_program import SETTINGS, TUNABLES, engine_command, engine_environment

NO_CONSOLE: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # else Windows opens a console beside the window

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
    environment = engine_environment()
    again = environment.get(TUNABLES) != os.environ.get(TUNABLES)
    os.environ.update(environment)
    if again:
        try:
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        except OSError as error:
            log.warning("going on with glibc's usual allocator: %s", error)
