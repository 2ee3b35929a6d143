"""What a C library logs: handed to Python's logging, and to whoever wants to know why a call failed or what it took."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Iterator
from typing import Any

LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}  # ggml_log_level
ERROR, CONTINUED = 4, 5  # CONTINUED: the line goes on in the next call


class LibraryLog:
    """`write` is the library's log callback."""

    def __init__(self, name: str) -> None:
        self._log = logging.getLogger(name)
        self._recent: deque[str] = deque(maxlen=50)
        self._listeners: list[list[str]] = []

    def write(self, level: int, text: bytes, _user_data: Any) -> None:
        """One line, or a part of one, at a ggml_log_level."""
        line = text.decode(errors="replace").rstrip()
        if line and level != CONTINUED:
            if level >= ERROR:
                self._recent.append(line)
            for lines in self._listeners:
                lines.append(line)
            self._log.log(LEVELS.get(level, logging.DEBUG), line)

    @contextlib.contextmanager
    def errors(self) -> Iterator[deque[str]]:
        """Within the block, the yielded list collects what is logged as errors: a C library's only way to say why."""
        self._recent.clear()
        yield self._recent

    @contextlib.contextmanager
    def lines(self) -> Iterator[list[str]]:
        """Within the block, the yielded list collects all that is logged: a C library's only way to tell some sizes."""
        lines: list[str] = []
        self._listeners.append(lines)
        try:
            yield lines
        finally:
            self._listeners.remove(lines)
