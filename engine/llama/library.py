"""llama.cpp itself: imported once, its log routed to ours. Everything else in this room takes `lib` from here."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
from collections import deque
from collections.abc import Iterator
from typing import Any

# How long OpenMP's threads spin at a barrier before they sleep; libgomp reads it when it is loaded. Its default,
# 300,000 turns, wastes whole time slices where another program wants a core. 60,000 turns are as fast as that on a
# quiet machine (20,000 read prompts 2 % slower with a 1.5B model, 3,000 write a tenth slower) and read prompts faster
# on a busy one (`python -m benchmarks.busy`).
os.environ.setdefault("GOMP_SPINCOUNT", "60000")

from llama_cpp import llama_cpp as lib

__all__ = ["build", "errors_logged", "lib", "lines_logged"]

log = logging.getLogger("engine.llama")
LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}
CONTINUED = 5  # the line goes on in the next call

_recent: deque[str] = deque(maxlen=50)
_listeners: list[list[str]] = []


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _user_data: Any) -> None:
    line = text.decode(errors="replace").rstrip()
    if line and level != CONTINUED:
        if level >= 4:
            _recent.append(line)
        for lines in _listeners:
            lines.append(line)
        log.log(LEVELS.get(level, logging.DEBUG), line)


lib.llama_log_set(_on_log, ctypes.c_void_p(0))
lib.llama_backend_init()


@contextlib.contextmanager
def errors_logged() -> Iterator[deque[str]]:
    """Within the block, the yielded list collects what llama.cpp logs as errors: its only way to say why."""
    _recent.clear()
    yield _recent


@contextlib.contextmanager
def lines_logged() -> Iterator[list[str]]:
    """Within the block, the yielded list collects all that llama.cpp logs: its only way to tell some sizes."""
    lines: list[str] = []
    _listeners.append(lines)
    try:
        yield lines
    finally:
        _listeners.remove(lines)


def build() -> str:
    """What makes two builds of the library different: version and processor features compiled in."""
    from llama_cpp import __version__

    return f"llama-cpp-python {__version__}; {lib.llama_print_system_info().decode().strip()}"
