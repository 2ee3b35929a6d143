"""Asks the engine's planner whether models fit: questions by key, answered one after the other in a thread."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.services.background import Background
from app.services.timers import Debounce
from common.paths import path_text
from common.planning import Ask, Verdict
from engine.protocol.requests import Load
from models.planner import PlannerClient

IDLE_MS = 30_000
# The options that both requests have.
SHARED_FIELDS = {field.name for field in fields(Load)} & set(Ask.__struct_fields__) - {"id", "path"}


def question(path: Path, load: Load, freed_bytes: int = 0) -> Ask:
    """Return the question about the file at `path`, loaded as `load` says, after `freed_bytes` were freed."""
    fields_of_load = {name: getattr(load, name) for name in SHARED_FIELDS}
    return Ask(path=path_text(path), draft=load.draft_model, freed_bytes=freed_bytes, **fields_of_load)


class Planner(QObject):
    """Questions to the planner; of several questions under one key only the last is answered.

    `answered` carries a key and its Verdict. The planner's process ends when nothing was asked for `IDLE_MS`.
    """

    answered = Signal(object, object)

    def __init__(self, parent: QObject, command: Sequence[str] | None = None) -> None:
        super().__init__(parent)
        self._client = PlannerClient(command)
        self._waiting: dict[Hashable, Ask] = {}
        self._background = Background(self)
        self._idle = Debounce(self._client.end, IDLE_MS, self)

    def ask(self, key: Hashable, question: Ask) -> None:
        """Ask for a plan; a closed planner ignores it, because the window's parts close one after the other."""
        self._waiting[key] = question
        self._ask_next()

    def withdraw(self, keys: Iterable[Hashable]) -> None:
        """Drop the questions under these keys; the one being worked out is still answered."""
        for key in keys:
            self._waiting.pop(key, None)

    def close(self) -> None:
        """End the process for good."""
        self._background.close()
        self._idle.cancel()
        self._client.close()

    def _ask_next(self) -> None:
        if self._background.running or self._background.closed:
            return
        if not self._waiting:
            self._idle.request()
            return
        self._idle.cancel()
        key = next(iter(self._waiting))
        ask, later = self._waiting.pop(key), list(self._waiting.values())

        def answer(verdict: Verdict) -> None:
            if key not in self._waiting:
                self.answered.emit(key, verdict)
            self._ask_next()

        self._background.run(lambda: self._client.ask(ask, later), answer)
