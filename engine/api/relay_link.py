"""The window's engine, by way of the window: requests go to stdout, its events and the options come from stdin."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import BinaryIO

from common.failures import Failure
from engine.client import Heard
from engine.protocol.events import ENDS, ModelInfo
from engine.protocol.front import Configure, FrontMessage, decode_front, encode_front
from engine.protocol.lines import encode, event_of
from engine.protocol.requests import Cancel, Request


class RelayLink:
    """A link to the window, which has the engine; `closed` is called when the window is gone."""

    def __init__(self, options: Configure, output: BinaryIO) -> None:
        self.heard: Heard = lambda _event: None
        self.closed: Callable[[], None] = lambda: None
        self.options = options
        self._output = output
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[int, Heard] = {}
        self._last_id = 0

    @property
    def model(self) -> ModelInfo | None:
        """The model that the window has loaded."""
        return self.options.model

    async def ready(self) -> None:
        """Begin to listen to the window, which itself has the engine ready when it is needed."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            # A thread, because not every system lets an event loop read a pipe.
            threading.Thread(target=self._read, args=(self._loop,), name="window", daemon=True).start()

    def submit(self, request: Request, heard: Heard) -> int:
        """Send a request to the window, which answers it in its turn; returns the request's id."""
        self._last_id += 1
        self._waiting[self._last_id] = heard
        self._write(encode(replace(request, id=self._last_id)))
        return self._last_id

    def cancel(self, id: int) -> None:
        """End a request early; the window answers it."""
        if id in self._waiting:
            self._last_id += 1
            self._write(encode(Cancel(self._last_id, id)))

    def tell(self, message: FrontMessage) -> None:
        """Send news to the window."""
        self._write(encode_front(message))

    async def close(self) -> None:
        pass  # the engine is the window's

    def _write(self, line: bytes) -> None:
        try:
            self._output.write(line)
            self._output.flush()
        except BrokenPipeError:
            self.closed()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in input_lines():
            loop.call_soon_threadsafe(self._take, line)
        loop.call_soon_threadsafe(lambda: self.closed())

    def _take(self, line: bytes) -> None:
        message = decode_front(line)
        if isinstance(message, Configure):
            self.options = message
        elif message is None and (event := event_of(line)):
            ends = isinstance(event, ENDS)
            heard = self._waiting.pop(event.id, self.heard) if ends else self._waiting.get(event.id, self.heard)
            heard(event)


def first_options() -> Configure:
    """Return the options that the window sends first. Raises Failure if it sends something else."""
    message = decode_front(next(input_lines(1), b""))
    if not isinstance(message, Configure):
        raise Failure("internal.engine")
    return message


def input_lines(most: int = 1 << 16) -> Iterator[bytes]:
    """Yield the lines of stdin, read in pieces of `most` bytes; with 1, nothing beyond the last line is taken.

    Not by `sys.stdin`, whose lock a thread that waits for a line would hold while the program ends.
    """
    rest = bytearray()
    while piece := os.read(0, most):
        rest += piece
        while b"\n" in piece:
            line, _, piece = bytes(rest).partition(b"\n")
            rest[:] = piece
            yield line
