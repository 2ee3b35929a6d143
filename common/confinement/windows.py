"""Windows: a job object, which ends what this process started with it, and the low integrity level, at which little but
what is labelled low can be written. Written from the documentation of the Windows API; not tested on a Windows yet.

The level takes neither reading nor the network away: that would need an AppContainer, which a process must begin in.
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
_kept: list[int] = []  # the job's handle: closed when this process ends, which ends the job


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

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
    """TOKEN_MANDATORY_LABEL."""

    _fields_ = (("sid", ctypes.c_void_p), ("attributes", ctypes.c_uint32))


def restrict_job(processes: bool, memory: int | None) -> None:
    """What this process starts ends with it; without `processes` it starts nothing. Raises OSError."""
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
    _kept.append(job.value or 0)


def lower_integrity(writable: Iterable[Path]) -> None:
    """Only folders that are labelled low can be written from now on: `writable` are given that label before. Raises
    OSError, and CalledProcessError where a folder does not take it: then everything stays as it was."""
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
    """Does this process run at the low level? Raises OSError."""
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
        code = getattr(ctypes, "get_last_error", lambda: 0)()  # there is none elsewhere
        raise OSError(code, f"Windows refused it (error {code})")
    return result
