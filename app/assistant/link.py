"""What the engine needs of the engine's process, whoever runs it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from engine import protocol


class Link(Protocol):
    """The engine process: it is running or not, and takes requests while it is."""

    @property
    def running(self) -> bool: ...

    def start(self, files: Iterable[str | Path | None] = ()) -> None:
        """`files` are those that it will be asked to load."""

    def send(self, request: protocol.Request) -> None: ...

    def kill(self) -> None:
        """End an engine that no longer answers; `EngineQueue.engine_ended` follows."""
