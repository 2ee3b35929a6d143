"""Asks the engine's planner whether models fit: a process beside the one that answers, started when it is needed."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.services.json_line_process import JsonLineProcess
from app.services.process_end import ProcessEnd
from app.services.timers import Debounce
from common.paths import path_text
from common.planning import Ask, Verdict, engine_command
from engine.protocol import Load
from models.reach import reach

log = logging.getLogger(__name__)
IDLE_MS = 30_000
WISHES = {field.name for field in fields(Load)} & set(Ask.__struct_fields__) - {"id", "path"}  # the same in both


def question(path: Path, load: Load, freed_bytes: int = 0) -> Ask:
    """About the file at `path`, loaded as `load` says; `freed_bytes` are given back before."""
    wishes = {name: getattr(load, name) for name in WISHES}
    return Ask(path=path_text(path), draft=load.draft_model, freed_bytes=freed_bytes, **wishes)


def _files(question: Ask) -> list[str]:
    return [file for file in (question.path, question.draft) if file]


class Planner(QObject):
    """`answered` carries a key and its Verdict. Of several questions under one key only the last is answered."""

    answered = Signal(object, object)

    def __init__(self, parent: QObject, command: Sequence[str] | None = None) -> None:
        super().__init__(parent)
        self._command = list(command or engine_command("plans"))
        self._waiting: dict[Hashable, Ask] = {}
        self._asked: Hashable | None = None
        self._process = JsonLineProcess(self, self._heard, self._ended)
        self._idle = Debounce(self.close, IDLE_MS, self)

    def ask(self, key: Hashable, question: Ask) -> None:
        self._waiting[key] = question
        self._next()

    def withdraw(self, keys: Iterable[Hashable]) -> None:
        """Nobody waits for these any more; the one that is being worked out is still answered."""
        for key in keys:
            self._waiting.pop(key, None)

    def forget(self) -> None:
        """Nobody waits for the questions any more."""
        self._waiting.clear()

    def close(self) -> None:
        self._idle.cancel()
        self._waiting.clear()
        self._asked = None
        self._process.close()

    def _next(self) -> None:
        if self._asked is not None or not self._waiting:
            return
        self._idle.cancel()
        key = next(iter(self._waiting))
        if self._process.running and not all(map(self._reach.covers, _files(self._waiting[key]))):
            self._process.close()
        if not self._process.running:
            self._start()
        if not self._process.running:  # it could not start, and everybody was told
            return
        self._asked = key
        self._process.send(self._waiting.pop(key))

    def _start(self) -> None:
        """It may read what is asked about now; for another file than that, outside of the model folders, it is started
        again."""
        self._reach = reach(file for question in self._waiting.values() for file in _files(question))
        self._process.start([*self._command, *self._reach.arguments])

    def _heard(self, lines: list[bytes]) -> None:
        for line in lines:
            try:
                verdict = msgspec.json.decode(line, type=Verdict)
            except msgspec.MsgspecError as error:
                log.warning("the planner said %.200r: %s", line, error)
                verdict = Verdict()
            self._take(verdict)
        if self._asked is None and not self._waiting:
            self._idle.request()

    def _take(self, verdict: Verdict) -> None:
        key, self._asked = self._asked, None
        if key is not None and key not in self._waiting:
            self.answered.emit(key, verdict)
        self._next()

    def _ended(self, end: ProcessEnd) -> None:
        """What was asked brought it down, or it never ran: the others are asked of a new one."""
        log.warning("planner: %s", end)
        if self._asked is None:
            keys, self._waiting = list(self._waiting), {}
            for key in keys:
                self.answered.emit(key, Verdict())
        else:
            self._take(Verdict())
