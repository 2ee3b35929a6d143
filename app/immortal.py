"""Keeps PySide 6.12.0 from ending the process on Python 3.11: makes None, True and False immortal.

PySide6-Essentials 6.12.0 drops a reference to None with every call that returns nothing, and to True or False with some
signals. From Python 3.12 on these objects are immortal and nothing happens; on 3.11 the process aborts ("none_dealloc")
after some thousand calls. PySide 6.11.3 does not do it. Remove this module when the pinned version is free of it.
"""

from __future__ import annotations

import ctypes
import sys

MANY = 1 << 40


def protect() -> None:
    """Give the three objects more references than could ever be dropped; from Python 3.12 on, nothing to do."""
    if sys.version_info >= (3, 12) or sys.implementation.name != "cpython":
        return
    for value in (None, True, False):
        if sys.getrefcount(value) < MANY // 2:
            ctypes.c_ssize_t.from_address(id(value)).value += MANY
