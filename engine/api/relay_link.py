"""The window's engine, by way of the window: requests go to stdout, its events and the options come from stdin."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO

from common.failures import Failure
from common.sentences import Sentence
from engine.api.link import event_of
from engine.protocol.events import Event, ModelInfo
from engine.protocol.front import Configure, FrontMessage, decode_front, encode_front
from engine.protocol.lines import encode
from engine.protocol.requests import Request


class RelayLink:
    """A link to the window, which has the engine; `closed` is called when the window is gone."""

    def __init__(self, options: Configure, output: BinaryIO) -> None:
        self.received: Callable[[Event], None] = lambda _event: None
        self.ended: Callable[[Sentence], None] = lambda _reason: None
        self.closed: Callable[[], None] = lambda: None
        self.options = options
        self._output = output
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def model(self) -> ModelInfo | None:
        """The model that the window has loaded."""
        return self.options.model

    async def prepare(self) -> None:
        """Begin to listen to the window, which itself has the engine ready when it is needed."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            # A thread, because not every system lets an event loop read a pipe.
            threading.Thread(target=self._read, args=(self._loop,), name="window", daemon=True).start()

    def send(self, request: Request) -> None:
        self._write(encode(request))

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
            self.received(event)


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
