"""The way from the API to an engine: requests go out, events come in."""

from __future__ import annotations

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

    received: Callable[[Event], None]
    ended: Callable[[Sentence], None]

    @property
    def model(self) -> ModelInfo | None:
        """The loaded model, as far as it is known."""

    async def prepare(self) -> None:
        """Make the engine ready for a Generate. Raises Failure."""

    def send(self, request: Request) -> None:
        """Send a request; without an engine it is dropped."""

    async def close(self) -> None:
        """End the engine, if it is this link's own."""


def event_of(line: bytes) -> Event | None:
    """Return the event of a line; None, with an entry in the log, if it is none that this version knows."""
    try:
        return decode_event(line)
    except ProtocolError as error:
        log.warning("a line of %d bytes from the engine was ignored: %s", len(line), error.kind)
        return None
