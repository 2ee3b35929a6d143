"""The way from the API to an engine: requests go out, events come in."""

from __future__ import annotations

from typing import Protocol

from engine.client import Heard
from engine.protocol.events import ModelInfo
from engine.protocol.requests import Request


class Link(Protocol):
    """An engine, wherever it is: of this process (`engine.client_process.ClientProcess`), or the window's."""

    heard: Heard  # gets the events that answer no request

    @property
    def model(self) -> ModelInfo | None:
        """The loaded model, as far as it is known."""

    async def ready(self) -> object:
        """Have the model loaded, or begin to listen to the one who has it. Raises Failure."""

    def submit(self, request: Request, heard: Heard) -> int:
        """Send a request once the model is loaded, and return its id; `heard` gets its events up to the last one."""

    def cancel(self, id: int) -> None:
        """End a request early; its last event follows."""

    async def close(self) -> None:
        """End the engine, if it is this link's own."""
