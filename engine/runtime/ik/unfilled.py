"""Keeps ik_llama.cpp from filling its buffer of logits with zeros before each pass: nobody reads what was not computed.

The buffer is as large as the pass with the most rows so far needed: 29 MB once a draft of 47 tokens was verified (of
152 k tokens each), and to fill it takes 1.4 ms of every later pass, 5 % of a 1.5B model's plain step; after a draft of
15 it is 0.4 ms. The library has no option for it, and its only other buffers that are filled are allocated when a
context is made. But a buffer itself names the function that fills it, and its type the function that allocates it.
"""

from __future__ import annotations

from ctypes import CFUNCTYPE, c_bool, c_size_t, c_void_p, cast, sizeof
from types import TracebackType

from engine.runtime.ik.library import api, function, version

KNOWN = ("0.1.5",)  # versions of the package in which functions stand in these places (ggml-backend-impl.h)
ALLOCATE = 1  # among a buffer type's
FILL = 8  # among a buffer's
TYPE = "ggml_backend_cpu_buffer_type"  # Windows finds it in another file

Allocate = CFUNCTYPE(c_void_p, c_void_p, c_size_t)


class Unfilled:
    """As a context manager: buffers that the library allocates meanwhile are never filled.

    Where it is not known how, nothing happens, and passes take longer."""

    def __init__(self) -> None:
        self._place: c_void_p | None = None
        if version() in KNOWN and hasattr(api._lib, TYPE):
            self._place = place(function(TYPE, c_void_p)(), ALLOCATE)
            self._usual = self._place.value
            self._allocate = Allocate(self._usual or 0)
            self._nothing = cast(function("llama_supports_mmap", c_bool), c_void_p).value  # whatever it is given
            self._own = Allocate(self._allocated)

    def _allocated(self, type_: int, size: int) -> int | None:
        buffer: int | None = self._allocate(type_, size)
        if buffer:
            place(buffer, FILL).value = self._nothing
        return buffer

    def __enter__(self) -> None:
        if self._place is not None:
            self._place.value = cast(self._own, c_void_p).value

    def __exit__(self, _type: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        if self._place is not None:
            self._place.value = self._usual


def place(start: int, number: int) -> c_void_p:
    """Of the pointer number `number` at `start`; `value` reads and writes it."""
    return c_void_p.from_address(start + number * sizeof(c_void_p))


UNFILLED = Unfilled()
