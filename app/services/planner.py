"""Asks the engine's planner whether models fit: a process beside the one that answers, started when it is needed."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.services.json_line_process import JsonLineProcess
from app.services.timers import Debounce
from common.engine_program import engine_command
from common.paths import path_text
from common.planning import Ask, Verdict
from common.process_end import ProcessEnd
from engine.protocol.requests import Load
from models.readable_files import readable_files

log = logging.getLogger(__name__)
IDLE_MS = 30_000
# The options that both requests have.
SHARED_FIELDS = {field.name for field in fields(Load)} & set(Ask.__struct_fields__) - {"id", "path"}


def question(path: Path, load: Load, freed_bytes: int = 0) -> Ask:
    """Return the question about the file at `path`, loaded as `load` says, after `freed_bytes` were freed."""
    fields_of_load = {name: getattr(load, name) for name in SHARED_FIELDS}
    return Ask(path=path_text(path), draft=load.draft_model, freed_bytes=freed_bytes, **fields_of_load)


def _files(question: Ask) -> list[str]:
    return [file for file in (question.path, question.draft) if file]


class Planner(QObject):
    """The planner's process and its questions; of several questions under one key only the last is answered.

    `answered` carries a key and its Verdict.
    """

    answered = Signal(object, object)

    def __init__(self, parent: QObject, command: Sequence[str] | None = None) -> None:
        super().__init__(parent)
        self._command = list(command or engine_command("plans"))
        self._waiting: dict[Hashable, Ask] = {}
        self._asked_key: Hashable | None = None
        self._process = JsonLineProcess(self, self._receive, self._ended)
        self._idle = Debounce(self._end_process, IDLE_MS, self)
        self._closed = False

    def ask(self, key: Hashable, question: Ask) -> None:
        """Ask for a plan; a closed planner ignores it, because the window's parts close one after the other."""
        if self._closed:
            return
        self._waiting[key] = question
        self._ask_next()

    def withdraw(self, keys: Iterable[Hashable]) -> None:
        """Drop the questions under these keys; the one being worked out is still answered."""
        for key in keys:
            self._waiting.pop(key, None)

    def close(self) -> None:
        """End the process for good."""
        self._closed = True
        self._end_process()

    def _end_process(self) -> None:
        self._idle.cancel()
        self._waiting.clear()
        self._asked_key = None
        self._process.close()

    def _ask_next(self) -> None:
        if self._asked_key is not None or not self._waiting:
            return
        self._idle.cancel()
        key = next(iter(self._waiting))
        if self._process.running and not all(map(self._readable.covers, _files(self._waiting[key]))):
            self._process.close()
        if not self._process.running:
            self._start()
        if not self._process.running:  # the start failed, and `_ended` has answered all questions
            return
        self._asked_key = key
        self._process.send(self._waiting.pop(key))

    def _start(self) -> None:
        """Start the process with the right to read the files that are asked about now.

        A later question about another file outside of the model folders restarts the process.
        """
        self._readable = readable_files(file for question in self._waiting.values() for file in _files(question))
        self._process.start([*self._command, *self._readable.arguments])

    def _receive(self, lines: list[bytes]) -> None:
        for line in lines:
            try:
                verdict = msgspec.json.decode(line, type=Verdict)
            except msgspec.MsgspecError:
                log.warning("a line of %d bytes from the planner was not understood", len(line))
                verdict = Verdict()
            self._answer(verdict)
        if self._asked_key is None and not self._waiting:
            self._idle.request()

    def _answer(self, verdict: Verdict) -> None:
        key, self._asked_key = self._asked_key, None
        if key is not None and key not in self._waiting:
            self.answered.emit(key, verdict)
        self._ask_next()

    def _ended(self, end: ProcessEnd) -> None:
        """Answer the question that ended the process with an unknown verdict and ask a new process the others.

        If the process ended without a question under way, it could not be started: all questions get that verdict.
        """
        log.warning("planner: %s", end)
        if self._asked_key is None:
            keys, self._waiting = list(self._waiting), {}
            for key in keys:
                self.answered.emit(key, Verdict())
        else:
            self._answer(Verdict())
