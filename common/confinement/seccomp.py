"""Linux's seccomp: refuses sockets, access to other processes and system administration, for this process and children.

A refused call fails with EPERM, as for a user who lacks the right. Source:
Documentation/userspace-api/seccomp_filter.rst of the kernel. A filter is a small program that sees a call's number and
arguments, but not the memory that pointers refer to. Therefore io_uring is refused, whose operations the filter would
not see, and clone3, whose flags it cannot read: clone3 fails with ENOSYS, so that the C library falls back to clone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# (number on x86-64, on ARM64), of asm/unistd_64.h and asm-generic/unistd.h; None where there is no such call
NETWORK = {
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "accept4": (288, 242), "bind": (49, 200),
    "listen": (50, 201), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip
CONNECTING = ("socket", "connect")  # the calls of NETWORK that a program needs which asks another computer
ACCEPTING = ("accept", "accept4", "listen")  # and those of one that already has its address
OTHERS = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "userfaultfd": (323, 282), "perf_event_open": (298, 241), "bpf": (321, 280), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219),
}  # fmt: skip
ADMINISTRATION = {
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "swapon": (167, 224),
    "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116), "sethostname": (170, 161),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "iopl": (172, None), "ioperm": (173, None),
    "modify_ldt": (154, None),
}  # fmt: skip
PROCESSES = {"fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281)}
LOOKED_INTO = {"clone": (56, 220), "clone3": (435, 435), "ioctl": (16, 29), "seccomp": (317, 277)}
CALLS = {**NETWORK, **OTHERS, **ADMINISTRATION, **PROCESSES, **LOOKED_INTO}

X32 = 0x40000000  # bit in the numbers of x86-64's x32 calls, a second set of the same calls
NEW_NAMESPACES = 0x7E020000  # flags of clone
THREAD = 0x00010000  # flag of clone
UNIX_SOCKETS = 1  # AF_UNIX, of linux/socket.h
TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: type into the terminal that the program was started in

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # of linux/bpf_common.h
NUMBER, ARCHITECTURE, FIRST, SECOND = 0, 4, 16, 24  # offsets in struct seccomp_data; low halves of arguments
ALLOW, FAIL = 0x7FFF0000, 0x00050000
SET_FILTER, ALL_THREADS = 1, 1
SET_NO_NEW_PRIVS = 38


@dataclass(frozen=True, slots=True)
class Machine:
    """Processor architecture: `column` is its index in the tables of calls, `architecture` its AUDIT_ARCH_…."""

    column: int
    architecture: int

    def number(self, name: str) -> int | None:
        return CALLS[name][self.column]


MACHINES = {"x86_64": Machine(0, 0xC000003E), "aarch64": Machine(1, 0xC00000B7)}


def restrict(processes: bool, connects: bool = False, accepts: bool = False, local: bool = True) -> None:
    """Install the filter for all threads of this process; without `processes`, starting programs is refused too.

    With `connects`, connecting to other computers is allowed, and unless `local` is False to Unix sockets; with
    `accepts`, to accept connections at sockets that have their address already. Raises OSError.
    """
    machine = MACHINES.get(os.uname().machine)
    if machine is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise OSError(f"no filter is written for this kind of processor ({os.uname().machine})")
    allowed = (*(CONNECTING if connects else ()), *(ACCEPTING if accepts else ()))
    code = b"".join(program(machine, processes, allowed, local))
    buffer = ctypes.create_string_buffer(code, len(code))
    filter = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.prctl(SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))))
    arguments = map(ctypes.c_long, (machine.number("seccomp") or 0, SET_FILTER, ALL_THREADS))
    _checked(libc.syscall(*arguments, filter))


def program(machine: Machine, processes: bool, allowed: Sequence[str] = (), local: bool = True) -> Iterator[bytes]:
    """Yield the filter's instructions; `allowed` are calls of NETWORK that stay possible.

    Without `local`, `socket` makes no Unix socket: the desktop's bus would start programs that nothing confines.

    Every call of another architecture (32 bits, x32) is refused.
    """
    yield _step(LOAD, ARCHITECTURE)
    yield _step(JUMP_EQUAL, machine.architecture, 1, 0)
    yield _step(RETURN, FAIL | errno.EPERM)
    yield _step(LOAD, NUMBER)
    if machine is MACHINES["x86_64"]:
        yield from _fail_at(JUMP_AT_LEAST, X32)
    network = [name for name in NETWORK if name not in allowed]
    for name in (*network, *OTHERS, *ADMINISTRATION, *(() if processes else PROCESSES)):
        number = machine.number(name)
        if number is not None:
            yield from _fail_at(JUMP_EQUAL, number)
    yield from _fail_at(JUMP_EQUAL, machine.number("clone3"), errno.ENOSYS)
    yield from _with(machine.number("ioctl"), SECOND, *(_fail_at(JUMP_EQUAL, command) for command in TERMINAL_INPUT))
    if not local:
        yield from _with(machine.number("socket"), FIRST, _fail_at(JUMP_EQUAL, UNIX_SOCKETS))
    alone = () if processes else (_fail_unless(JUMP_BITS, THREAD),)
    yield from _with(machine.number("clone"), FIRST, _fail_at(JUMP_BITS, NEW_NAMESPACES), *alone)
    yield _step(RETURN, ALLOW)


def _with(number: int | None, argument: int, *checks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the checks of one call's argument; a call that passes them is allowed."""
    steps = [_step(LOAD, argument), *(step for check in checks for step in check), _step(RETURN, ALLOW)]
    yield _step(JUMP_EQUAL, number, 0, len(steps))
    yield from steps


def _fail_at(jump: int, value: int | None, code: int = errno.EPERM) -> Iterator[bytes]:
    yield _step(jump, value, 0, 1)
    yield _step(RETURN, FAIL | code)


def _fail_unless(jump: int, value: int) -> Iterator[bytes]:
    yield _step(jump, value, 1, 0)
    yield _step(RETURN, FAIL | errno.EPERM)


def _step(code: int, value: int | None, if_true: int = 0, if_false: int = 0) -> bytes:
    assert value is not None
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _checked(result: int) -> None:
    if result != 0:  # above 0: the id of a thread that has another filter
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code) if result < 0 else "a thread has a filter of its own")
