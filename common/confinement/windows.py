"""Windows: a job object that ends this process's children with it, and the low integrity level.

At the low level a process can write to little but what is labelled low. The level refuses neither reading nor network:
that needs an AppContainer, in which a process must be started. Written from the documentation of the Windows API; not
tested on Windows yet.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LIMIT_ACTIVE_PROCESSES, LIMIT_PROCESS_MEMORY, KILL_ON_CLOSE, DIE_ON_FAULT = 0x8, 0x100, 0x2000, 0x400
EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation
TOKEN_ACCESS = 0x0008 | 0x0080  # TOKEN_QUERY | TOKEN_ADJUST_DEFAULT
INTEGRITY = 25  # TokenIntegrityLevel
LOW = "S-1-16-4096"
SE_GROUP_INTEGRITY = 0x20
NO_CONSOLE = 0x08000000
_job_handles: list[int] = []  # kept open: closing the last handle, when this process ends, ends the job


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION of the Windows API."""

    _fields_ = (
        ("per_process_time", ctypes.c_int64),
        ("per_job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("least_working_set", ctypes.c_size_t),
        ("most_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


class _Label(ctypes.Structure):
    """TOKEN_MANDATORY_LABEL of the Windows API."""

    _fields_ = (("sid", ctypes.c_void_p), ("attributes", ctypes.c_uint32))


def restrict_job(processes: bool, memory: int | None) -> None:
    """Put this process into a job that ends its children with it; without `processes` it can start none.

    `memory` limits the bytes of the process. Raises OSError.
    """
    kernel = _library("kernel32")
    kernel.CreateJobObjectW.restype = kernel.GetCurrentProcess.restype = ctypes.c_void_p
    limits = _Limits(flags=KILL_ON_CLOSE | DIE_ON_FAULT)
    if not processes:
        limits.flags |= LIMIT_ACTIVE_PROCESSES
        limits.active_processes = 1
    if memory is not None:
        limits.flags |= LIMIT_PROCESS_MEMORY
        limits.process_memory = memory
    job = ctypes.c_void_p(_checked(kernel.CreateJobObjectW(None, None)))
    size = ctypes.c_uint32(ctypes.sizeof(limits))
    _checked(kernel.SetInformationJobObject(job, EXTENDED_LIMITS, ctypes.byref(limits), size))
    _checked(kernel.AssignProcessToJobObject(job, ctypes.c_void_p(kernel.GetCurrentProcess())))
    _job_handles.append(job.value or 0)


def lower_integrity(writable: Iterable[Path]) -> None:
    """Label the `writable` folders low and lower this process to the low integrity level: it can then write only there.

    Raises OSError, and CalledProcessError if a folder cannot be labelled; the level is then unchanged.
    """
    for folder in writable:
        if folder.is_dir():
            command = ["icacls", str(folder), "/setintegritylevel", "(OI)(CI)L"]
            subprocess.run(command, check=True, capture_output=True, creationflags=NO_CONSOLE)
    advapi = _library("advapi32")
    sid = ctypes.c_void_p()
    _checked(advapi.ConvertStringSidToSidW(LOW, ctypes.byref(sid)))
    label = _Label(sid, SE_GROUP_INTEGRITY)
    size = ctypes.c_uint32(ctypes.sizeof(label) + advapi.GetLengthSid(sid))
    _checked(advapi.SetTokenInformation(_token(), INTEGRITY, ctypes.byref(label), size))


def is_low() -> bool:
    """Return whether this process runs at the low integrity level. Raises OSError."""
    advapi, token, buffer = _library("advapi32"), _token(), ctypes.create_string_buffer(256)
    length = ctypes.c_uint32()
    _checked(advapi.GetTokenInformation(token, INTEGRITY, buffer, ctypes.c_uint32(len(buffer)), ctypes.byref(length)))
    text = ctypes.c_wchar_p()
    _checked(advapi.ConvertSidToStringSidW(ctypes.c_void_p(_Label.from_buffer(buffer).sid), ctypes.byref(text)))
    return text.value == LOW


def _token() -> ctypes.c_void_p:
    kernel, advapi, token = _library("kernel32"), _library("advapi32"), ctypes.c_void_p()
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    process = ctypes.c_void_p(kernel.GetCurrentProcess())
    _checked(advapi.OpenProcessToken(process, ctypes.c_uint32(TOKEN_ACCESS), ctypes.byref(token)))
    return token


def _library(name: str) -> Any:
    if sys.platform == "win32":
        return ctypes.WinDLL(name, use_last_error=True)
    raise OSError("this is not Windows")


def _checked(result: int | None) -> int:
    if not result:
        code = getattr(ctypes, "get_last_error", lambda: 0)()  # exists on Windows only
        raise OSError(code, f"Windows refused it (error {code})")
    return result
