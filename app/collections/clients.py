"""The window's side of the two processes of collections. The only module here that knows Qt."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.collections import INDEX_FILES, INDEX_NAME, SEARCH_INDEX
from app.collections.messages import Answer, Begin, Damaged, FolderProgress, Question, Rest, Survey, Surveyed
from app.services.json_line_process import JsonLineProcess, decoded
from app.services.timers import Debounce
from common.files import make_private_folder
from common.process_end import ProcessEnd

log = logging.getLogger(__name__)
IDLE_MS = 120_000  # until the searching process, which holds the vectors, is ended
PATIENCE_MS = 20_000  # for an answer; the first one includes the process's start
Reply = Answer | Surveyed


def _command(verb: str, folder: Path) -> list[str]:
    program = [verb] if getattr(sys, "frozen", False) else ["-m", "app.collections.process", verb]
    return [sys.executable, *program, str(folder)]


class IndexProcess(QObject):
    """The indexing process.

    `progressed` carries a FolderProgress; `ended` whether the process did all its work; before that, `damaged` says
    that the index must be made anew.
    """

    progressed = Signal(object)
    damaged = Signal()
    ended = Signal(bool)

    def __init__(self, folder: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._folder = folder
        self._process = JsonLineProcess(self, self._receive, self._end, errors=log)

    @property
    def running(self) -> bool:
        return self._process.running

    def start(self, begin: Begin, rest: bool) -> None:
        """Start to index, or rest first. Raises OSError if the index's folder cannot be made."""
        make_private_folder(self._folder)
        self._process.start(_command(INDEX_FILES, self._folder))
        self._process.send(begin)
        if rest:
            self.rest(True)

    def rest(self, rest: bool) -> None:
        """Let the process rest while the computer is needed, or go on."""
        self._process.send(Rest(rest))

    def close(self) -> None:
        """End the process; what it has not stored yet is indexed the next time."""
        self._process.close()

    def _receive(self, lines: list[bytes]) -> None:
        for told in decoded(lines, FolderProgress | Damaged):
            if isinstance(told, FolderProgress):
                self.progressed.emit(told)
            else:
                self.damaged.emit()

    def _end(self, end: ProcessEnd) -> None:
        if not (ok := end.exit_code == 0):
            log.warning("the process that indexes collections %s", end)
        self.ended.emit(ok)


class SearchProcess(QObject):
    """The searching process, started with the first question; each question's callback is called once."""

    def __init__(self, folder: Path, parent: QObject, patience_ms: int = PATIENCE_MS) -> None:
        super().__init__(parent)
        self._folder = folder
        self._waiting: dict[int, Callable[[Reply | None], object]] = {}
        self._last = 0
        self._process = JsonLineProcess(self, self._receive, self._end, errors=log)
        self._idle = Debounce(self._process.close, IDLE_MS, self)
        self._patience = Debounce(self._process.kill, patience_ms, self)

    def find(self, text: str, folders: tuple[str, ...], tokens: int, done: Callable[[Answer | None], object]) -> None:
        """Search folders for a question; `done` gets the Answer, or None if the process fails."""
        self._ask(
            lambda number: Question(number, text, folders, tokens),
            lambda reply: done(reply if isinstance(reply, Answer) else None),
        )

    def survey(self, folders: tuple[str, ...], done: Callable[[Surveyed | None], object]) -> None:
        """Ask what the index has of folders."""
        self._ask(
            lambda number: Survey(number, folders),
            lambda reply: done(reply if isinstance(reply, Surveyed) else None),
        )

    def warm_up(self) -> None:
        """Start the process and have it open the index, so that the first answer takes no longer than others."""
        if not self._process.running:
            self.survey((), lambda _: None)

    def stop(self) -> None:
        """End the process; questions that wait are answered with None."""
        waiting, self._waiting = self._waiting, {}
        self.close()
        for done in waiting.values():
            done(None)

    def close(self) -> None:
        """End the process for good, because the window closes; questions that wait get no answer."""
        self._waiting.clear()
        self._patience.cancel()
        self._idle.cancel()
        self._process.close()

    def _ask(self, make: Callable[[int], msgspec.Struct], done: Callable[[Reply | None], object]) -> None:
        if not (self._folder / INDEX_NAME).exists():
            done(None)
            return
        self._idle.cancel()
        self._last += 1
        number = self._last
        self._waiting[number] = done
        self._patience.request()
        if not self._process.running:  # on Windows a start that fails ends what waits before it returns
            self._process.start(_command(SEARCH_INDEX, self._folder))
        self._process.send(make(number))

    def _receive(self, lines: list[bytes]) -> None:
        for reply in decoded(lines, Answer | Surveyed):
            if done := self._waiting.pop(reply.id, None):
                done(reply)
        if not self._waiting:
            self._patience.cancel()
            self._idle.request()

    def _end(self, end: ProcessEnd) -> None:
        log.warning("the process that searches collections %s", end)
        waiting, self._waiting = self._waiting, {}
        self._patience.cancel()
        for done in waiting.values():
            done(None)
