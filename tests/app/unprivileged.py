"""Removes root's right to ignore file permissions while a test needs permissions to hold. Linux only."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

import pytest

VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3 of linux/capability.h
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextlib.contextmanager
def permissions_hold() -> Iterator[None]:
    """Make file permissions hold in this thread, even for root; skip the test if the system cannot do so."""
    if os.name != "posix":
        pytest.skip("permissions are POSIX's")
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = _Header(VERSION, 0), (_Data * 2)()
    if not hasattr(libc, "capget") or libc.capget(ctypes.byref(header), data):
        pytest.skip("this system's root cannot give a capability up for a while")
    before = data[0].effective
    data[0].effective = before & ~(1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH)
    assert libc.capset(ctypes.byref(header), data) == 0
    try:
        yield
    finally:
        data[0].effective = before
        assert libc.capset(ctypes.byref(header), data) == 0
