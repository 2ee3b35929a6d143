"""A C library with llama.cpp's API: the functions that we call, and its log."""

from __future__ import annotations

import contextlib
import ctypes
import logging
from collections.abc import Callable, Iterator
from typing import Any

LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}  # ggml_log_level
ERROR, CONTINUED = 4, 5  # CONTINUED: the text goes on with the line of the call before

AbortCallback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


# A module of C functions under the names that llama.cpp's llama.h has today, which documents them. ik_llama.cpp's has
# those that `engine.runtime.ik.library` lists; the others are called for llama.cpp alone.
CLibrary = Any


def declare(code: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    """Declare a C function of a library and return it, given its name, result and arguments as in its header."""
    function = getattr(code, name)
    function.restype, function.argtypes = result, arguments
    return function


class _OnDemand:
    def __init__(self, open_library: Callable[[], Any]) -> None:
        self._open_library = open_library

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._open_library(), name)
        setattr(self, name, function)  # later uses find the function without __getattr__
        return function


def on_demand(open_library: Callable[[], Any]) -> CLibrary:
    """Return a library whose functions are found when first used; `open_library` runs at the first use of any."""
    return _OnDemand(open_library)


class LibraryLog:
    """Log of a library, passed on to Python's logging and to callers that read why a call failed or what it allocated.

    `write` is the library's log callback.
    """

    def __init__(self, name: str) -> None:
        self._log = logging.getLogger(name)
        self._listeners: list[tuple[int, list[str]]] = []  # (lowest level, lines)

    def write(self, level: int, text: bytes, _user_data: Any) -> None:
        """Log one line from the library: UTF-8 bytes at the library's own level."""
        line = text.decode(errors="replace").rstrip()
        if line and level != CONTINUED:
            for lowest, lines in self._listeners:
                if level >= lowest:
                    lines.append(line)
            self._log.log(LEVELS.get(level, logging.DEBUG), line)

    @contextlib.contextmanager
    def lines(self, lowest: int = 0) -> Iterator[list[str]]:
        """Yield a list that collects the lines logged within the block at the level `lowest` or above.

        A C library has no other way to tell some sizes, and why a call failed.
        """
        lines: list[str] = []
        self._listeners.append((lowest, lines))
        try:
            yield lines
        finally:
            self._listeners = [each for each in self._listeners if each[1] is not lines]

    def errors(self) -> contextlib.AbstractContextManager[list[str]]:
        """Yield a list that collects the errors logged within the block."""
        return self.lines(ERROR)
