"""Disks on which writing fails: a small file system that can be full (Linux only), and a store that refuses writes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.wiring import Chickadee

NEW_MOUNTS = 0x20000  # CLONE_NEWNS of linux/sched.h
PRIVATE_BELOW = 1 << 18 | 1 << 14  # MS_PRIVATE | MS_REC of linux/mount.h
DETACH = 2  # MNT_DETACH of linux/fs.h


@contextlib.contextmanager
def small_disk(folder: Path, size: int = 1 << 20) -> Iterator[Path]:
    """Create `folder` as a disk of `size` bytes; skip the test if nothing can be mounted.

    Only this process and its children see the disk, so nothing remains if the process is killed.
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("a small file system is mounted as Linux does it")
    libc = ctypes.CDLL(None, use_errno=True)
    folder.mkdir()
    options = f"size={size},mode=0700".encode()
    if (
        libc.unshare(NEW_MOUNTS)
        or libc.mount(b"none", b"/", None, ctypes.c_ulong(PRIVATE_BELOW), None)
        or libc.mount(b"none", os.fsencode(folder), b"tmpfs", ctypes.c_ulong(0), options)
    ):
        pytest.skip(f"nothing can be mounted here: {os.strerror(ctypes.get_errno())}")
    try:
        yield folder
    finally:
        libc.umount2(os.fsencode(folder), DETACH)


def fill_up(folder: Path, leave: int = 0) -> Path:
    """Fill the disk up to `leave` free bytes with a file; return its path, for deleting the file frees the space."""
    path = folder / "filler"
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    with path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        file.write(bytes(max(0, free - leave)))
        while not leave:
            file.write(bytes(4096))
    return path


def write_protect(chickadee: Chickadee, on: bool) -> None:
    """Let every write of the store fail, or work again."""
    chickadee.store.with_connection(lambda db: db.execute(f"PRAGMA query_only = {int(on)}"))
