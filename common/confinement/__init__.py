"""Gives up rights that this process and its children do not need, for good. Imports `common` modules only.

Meant for programs that read strangers' files: a file that exploits its reader then finds no data to steal and no
connection to send it through. Linux: Landlock (limits which files, since 5.13) and a seccomp filter (no network).
Windows: a job object and the low integrity level (written, not tested). On other systems, and on kernels that have
neither, the process runs unconfined.

Both Linux interfaces are called through ctypes, two system calls each: neither package for Landlock (landlock,
py-landlock) is mature, and pyseccomp needs a C library that its wheel does not contain.
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

from common.confinement.program import files_for_connections, program_files

__all__ = ["Limit", "Rights", "confine", "files_for_connections", "limits", "problems", "program_files"]

Limit = Literal["files", "network", "integrity"]
DEVICES = (Path("/dev/null"),)
# Linux's files of graphics processors, by which programs compute on them; the screen's own file is not among them.
GRAPHICS = ("dri", "dri/renderD*", "nvidia*", "kfd", "dxg")
_problems: list[str] = []  # collected here, because a process is confined before it can log


@dataclass(frozen=True, slots=True)
class Rights:
    """Rights that a process keeps after `confine`.

    Attributes:
        read: files, and folders with everything below them, that may be read. The program's own files always may.
        write: the same for writing; a writable path may also be read.
        processes: whether the process may start others.
        connects: whether it may connect to other computers.
        local: whether one that connects may also connect to programs of this computer, by Unix sockets.
        graphics: whether it may compute on graphics processors.
        accepts: whether it may accept connections, at sockets that got their address before it was confined.
        memory: on Windows, the most bytes that the process may allocate. Other systems set that limit elsewhere.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    processes: bool = True
    connects: bool = False
    local: bool = True
    accepts: bool = False
    memory: int | None = None
    graphics: bool = False


def confine(rights: Rights) -> None:
    """Restrict this process to `rights`; never raises, because the program also works unconfined.

    Call it before other threads exist: on Linux, file access is refused only to the calling thread and to what it
    starts. `limits` then returns the limits in force, `problems` the reasons for missing ones.
    """
    if sys.platform == "linux":
        from common.confinement import landlock, seccomp

        read = (*program_files(), *rights.read)
        devices = [path for name in GRAPHICS if rights.graphics for path in Path("/dev").glob(name)]
        _try(
            "Landlock",
            lambda: landlock.restrict(read, (*DEVICES, *rights.write), rights.processes, rights.connects, devices),
        )
        _try("seccomp", lambda: seccomp.restrict(rights.processes, rights.connects, rights.accepts, rights.local))
    elif sys.platform == "win32":
        from common.confinement import windows

        _try("job object", lambda: windows.restrict_job(rights.processes, rights.memory))
        _try("low integrity", lambda: windows.lower_integrity(rights.write))


def limits() -> tuple[Limit, ...]:
    """Return the limits in force, found by attempting what they refuse, no matter who confined this process."""
    if sys.platform == "win32":
        from common.confinement import windows

        with contextlib.suppress(OSError):
            return ("integrity",) if windows.is_low() else ()
        return ()
    attempts: tuple[tuple[Limit, Callable[[], None]], ...] = (("files", _open_root), ("network", _open_socket))
    return tuple(limit for limit, attempt in attempts if _is_refused(attempt))


def problems() -> tuple[str, ...]:
    """Return, for the log, why a confinement that this system has could not be used."""
    return tuple(_problems)


def _try(name: str, restrict: Callable[[], None]) -> None:
    try:
        restrict()
    except Exception as error:  # noqa: BLE001  # whatever a system answers, the program goes on
        _problems.append(f"{name}: {error}")


def _open_root() -> None:
    os.close(os.open("/", os.O_RDONLY))  # allowed to every user of every Unix, unless confined


def _open_socket() -> None:
    import socket

    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def _is_refused(attempt: Callable[[], None]) -> bool:
    try:
        attempt()
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM)
    return False
