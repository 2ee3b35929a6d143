"""Takes from this process, and from all that it starts, the rights that it does not need. They never come back.

For programs that read strangers' files: a file that gets the better of its reader then finds nothing to take and no way
out. Linux: Landlock (which files, since 5.13) and a seccomp filter (no network). Windows: a job object and the low
integrity level (written, not tested). Elsewhere, and where a kernel has neither, the process goes on without.

Neither of the two packages for Landlock (landlock, py-landlock) is out of its beginnings, pyseccomp needs a C library
that a wheel does not bring: it is two system calls each, by ctypes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from common.confinement.program import program_files

__all__ = ["Limit", "Rights", "confine", "limits", "problems", "program_files"]

Limit = Literal["files", "network", "integrity"]
DEVICES = (Path("/dev/null"),)
_problems: list[str] = []  # a process is confined before it can log


@dataclass(frozen=True, slots=True)
class Rights:
    """What is left. `read`, `write`: files, and folders with all below them; what is written may be read too. The
    program's own files may be read always. `processes`: may it start others? Windows also needs the most `memory` in
    bytes that this process may take; elsewhere there are other limits for that."""

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    processes: bool = True
    memory: int | None = None


def confine(rights: Rights) -> None:
    """Before there are threads: on Linux files are refused to the thread that asks for it and to what that starts.

    Never raises: without some limit the process works as well. `limits` tells what came of it, `problems` why."""
    if sys.platform == "linux":
        from common.confinement import landlock, seccomp

        read = (*program_files(), *rights.read)
        _try("Landlock", lambda: landlock.restrict(read, (*DEVICES, *rights.write), rights.processes))
        _try("seccomp", lambda: seccomp.restrict(rights.processes))
    elif sys.platform == "win32":
        from common.confinement import windows

        _try("job object", lambda: windows.restrict_job(rights.processes, rights.memory))
        _try("low integrity", lambda: windows.lower_integrity(rights.write))


def limits() -> tuple[Limit, ...]:
    """What this process is refused now, found out by trying: whoever confined it, and whatever it was meant to be."""
    if sys.platform == "win32":
        from common.confinement import windows

        with contextlib.suppress(OSError):
            return ("integrity",) if windows.is_low() else ()
        return ()
    found: tuple[tuple[Limit, Callable[[], None]], ...] = (("files", _open_root), ("network", _open_socket))
    return tuple(limit for limit, attempt in found if _is_refused(attempt))


def problems() -> tuple[str, ...]:
    """Why what this system has could not be used, for the log."""
    return tuple(_problems)


def _try(name: str, restrict: Callable[[], None]) -> None:
    try:
        restrict()
    except Exception as error:  # noqa: BLE001  # whatever a system answers, the program goes on
        _problems.append(f"{name}: {error}")


def _open_root() -> None:
    os.close(os.open("/", os.O_RDONLY))  # every user of every Unix may


def _open_socket() -> None:
    import socket

    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def _is_refused(attempt: Callable[[], None]) -> bool:
    try:
        attempt()
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM)
    return False
