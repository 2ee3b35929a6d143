"""The way from the API to an engine: requests go out, events come in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from common.sentences import Sentence
from engine.protocol.events import Event, ModelInfo
from engine.protocol.lines import ProtocolError, decode_event
from engine.protocol.requests import Request

log = logging.getLogger("engine.api")
MAX_LINE = 64 << 20  # bytes of an event's line; vectors of many texts are the longest


class Link(Protocol):
    """An engine, wherever it is. `received` is called with each event, `ended` with the reason if the engine ends."""

    model: ModelInfo | None  # the loaded model, as far as it is known
    received: Callable[[Event], None]
    ended: Callable[[Sentence], None]

    async def prepare(self) -> None:
        """Make the engine ready for a Generate. Raises Failure."""

    def send(self, request: Request) -> None:
        """Send a request; without an engine it is dropped."""

    async def close(self) -> None:
        """End the engine, if it is this link's own."""


async def each_event(lines: asyncio.StreamReader, take: Callable[[Event], None]) -> None:
    """Call `take` with each event that arrives, until the input ends; lines that are no events are logged."""
    while line := await lines.readline():
        try:
            event = decode_event(line)
        except ProtocolError as error:
            log.warning("a line of %d bytes from the engine was ignored: %s", len(line), error.kind)
        else:
            take(event)
