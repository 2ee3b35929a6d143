"""Linux's Landlock: this thread, and all threads and processes that it starts, can open only the listed files.

Source: Documentation/userspace-api/landlock.rst of the kernel. Each version of the interface (ABI) can refuse more
operations than the one before; operations that the running kernel's ABI does not know are left out. No version refuses
`os.stat` and `os.access`.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on all processors
VERSION_WANTED = 1
PATH_BENEATH = 1
SET_NO_NEW_PRIVS = 38  # option of prctl: programs started from here gain no further rights
ALL_THREADS = 1 << 3  # flag of restrict_self since ABI 8

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_DIR, MAKE_FILE, REFER, TRUNCATE, DEVICE_COMMANDS = (1 << bit for bit in (7, 8, 13, 14, 15))
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_COMMANDS  # the other rights apply to folders only
READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_FILE | REFER | TRUNCATE
FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # all that this ABI has
TCP_RIGHTS = {4: 0b11}  # bind, connect
BIND = 0b01
SCOPES = {6: 0b11}  # no abstract Unix sockets of, and no signals to, processes outside


def version() -> int:
    """Return the ABI version of this kernel's Landlock; 0 if the kernel has none or it is off."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION_WANTED))


def restrict(
    read: Iterable[Path], write: Iterable[Path], run: bool, connects: bool = False, devices: Iterable[Path] = ()
) -> None:
    """Refuse all file access but reading below `read` and reading and writing below `write`.

    `run` also allows executing files below `read`. Paths that do not exist are skipped. Binding TCP ports is refused
    where the ABI can, and connecting too without `connects`. `devices`: files whose drivers take commands, and folders
    of which only the names are read. Raises OSError.
    """
    abi, reading = version(), READ | EXECUTE if run else READ
    handled = _since(FILE_RIGHTS, abi)
    ports = _since(TCP_RIGHTS, abi) & (BIND if connects else ~0)
    attributes = struct.pack("=QQQ", handled, ports, _since(SCOPES, abi))
    rules = [(path, rights & handled) for paths, rights in ((read, reading), (write, WRITE)) for path in paths]
    commands = READ_FILE | WRITE_FILE | DEVICE_COMMANDS
    rules += [(path, (READ_DIR if path.is_dir() else commands) & handled) for path in devices]
    _enforce(attributes[: 8 if abi < 4 else 16 if abi < 6 else 24], rules, abi)


def keep_writes_below(folders: Iterable[Path]) -> None:
    """Refuse to create, change and remove files anywhere but below `folders`. Raises OSError."""
    abi = version()
    handled = _since(FILE_RIGHTS, abi) & ~(READ | EXECUTE | DEVICE_COMMANDS)
    _enforce(struct.pack("=Q", handled), [(folder, handled) for folder in folders], abi)


def _enforce(attributes: bytes, rules: Iterable[tuple[Path, int]], abi: int) -> None:
    """Refuse the operations of `attributes` from now on, but for those that the rules allow below a path."""
    if not abi:
        raise OSError("this kernel has none, or it is off")
    ruleset = _checked(_call(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights)
        _checked(ctypes.CDLL(None, use_errno=True).prctl(SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))))
        _checked(_call(RESTRICT_SELF, ruleset, ALL_THREADS if abi >= 8 else 0))
    finally:
        os.close(ruleset)


def _since(table: dict[int, int], abi: int) -> int:
    return max((rights for first, rights in table.items() if first <= abi), default=0)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (OSError, ValueError):  # missing, or no name that a file can have
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= OF_FILES
        # The call fails for pipes and the like, whose use Landlock does not restrict.
        _call(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)


def _call(number: int, *arguments: object) -> int:
    wide = (ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments)
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return int(call(ctypes.c_long(number), *wide))


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
