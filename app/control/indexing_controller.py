"""Indexes the collections in idle time: at the start, after a change of a folder, and every few minutes."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, Signal

from app.collections.clients import IndexProcess
from app.collections.messages import Begin, FolderProgress
from app.services.timers import Debounce
from app.state.collections import Collections
from app.state.engine_queue import EngineQueue
from models.default import built_in_model

log = logging.getLogger(__name__)
CHANGED_MS = 5_000  # after the last change in a folder: programs write a file several times
AGAIN_MS = 600_000  # between two looks at all folders, for changes that no system tells
MOST_WATCHED = 500  # folders; a system has a limit for all programs together
HURRY_MS = 10_000  # in which a folder that the user adds is indexed though a model answers; most take less
MOST_ENDS = 3  # times in a row that the process may end early, as it does over a hostile file


class IndexingController(QObject):
    """Controller of the indexing process, which rests while a model answers or reads, and on battery.

    `damaged`: the index was found damaged, and is made anew.
    """

    damaged = Signal()

    def __init__(
        self, collections: Collections, engine: EngineQueue, folder: Path, pause_ms: int, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._collections, self._engine = collections, engine
        self._process = IndexProcess(folder, self)
        self._process.progressed.connect(self._progressed)
        self._process.ended.connect(self._ended)
        self._process.damaged.connect(self._found_damaged)
        self._watcher = QFileSystemWatcher(self)
        self._start_soon = Debounce(self._start_in_idle_time, pause_ms, self)
        self._changed = Debounce(self._start_in_idle_time, CHANGED_MS, self)
        self._next = Debounce(self._start_in_idle_time, AGAIN_MS, self)
        self._watcher.directoryChanged.connect(lambda _path: self._changed.request())
        self._wanted = self._resting = self._anew = False
        self._postponed = False  # until the computer is plugged in
        self._requested = False  # by the user, so at once
        self._hurries = False  # does not rest, although a model answers
        self._hurry = Debounce(self._stop_hurrying, HURRY_MS, self)
        self._again: set[str] = set()
        self._ends = 0
        self._sent: Begin | None = None
        collections.changed.connect(self._folders_changed)
        engine.active_changed.connect(self._rest_or_go_on)
        engine.guests.changed.connect(self._rest_or_go_on)
        engine.state.power_changed.connect(self._rest_or_go_on)
        if collections.all():
            self._start_soon.request()

    def close(self) -> None:
        self._process.close()

    def index_again(self, folders: Iterable[str]) -> None:
        """Read all files of the folders again."""
        self._again |= set(folders)
        self.restart()

    def start_now(self) -> None:
        """Index at once, on battery too, and do not rest while a model answers."""
        self._requested = self._hurries = True
        self._postpone(False)
        self._rest_or_go_on()
        self._start_soon.request_in(0)

    def index_anew(self) -> None:
        """Delete the index and make it anew."""
        self._anew = True
        self.restart()

    def start(self) -> None:
        """Bring the index up to date now; a process that runs looks at the folders again when it has ended."""
        if self._process.running:
            self._wanted = True
            return
        self._wanted = False
        self._next.cancel()
        begin = Begin(
            self._collections.folders_to_index(),
            self._collections.folders_to_keep(),
            tuple(folder for folder in self._collections.folders_to_index() if folder in self._again),
            self._anew,
            str(built_in_model() or ""),  # an installation without it finds by words alone
        )
        self._again.clear()
        self._anew = False
        self._sent = begin
        try:
            self._process.start(begin, rest=self._resting)
        except OSError as error:
            log.warning("the index's folder cannot be made: %s", type(error).__name__)
        else:
            self._collections.begin(begin.folders)

    def _found_damaged(self) -> None:
        self._anew = True  # when it starts again, which is soon after its end
        self.damaged.emit()

    def _start_in_idle_time(self) -> None:
        """Start now, or once the computer is plugged in if that is to wait and the user has not requested it."""
        self._postpone(self._waits_for_power)
        if not self._postponed:
            self.start()

    def _postpone(self, postponed: bool) -> None:
        self._postponed = postponed
        self._collections.postpone(postponed)

    @property
    def _waits_for_power(self) -> bool:
        return self._engine.state.power.postpones_idle_work and not self._requested

    def _folders_changed(self) -> None:
        sent = self._sent
        wanted = (self._collections.folders_to_index(), self._collections.folders_to_keep())
        if sent is None or (sent.folders, sent.kept) != wanted:
            self.restart()
            if wanted[0]:
                self.start_now()
                self._hurry.request()

    def restart(self) -> None:
        """End the process and start it again soon: what it may read is fixed when it starts."""
        self._requested = True
        self._process.close()
        self._start_soon.request()

    def _stop_hurrying(self) -> None:
        self._hurries = False
        self._rest_or_go_on()

    def _progressed(self, progress: FolderProgress) -> None:
        self._collections.update_progress(progress)
        if progress.watched:
            self._watch()

    def _watch(self) -> None:
        wanted = self._collections.watched_folders()[:MOST_WATCHED]
        present = self._watcher.directories()
        if new := [folder for folder in wanted if folder not in present]:
            self._watcher.addPaths(new)
        if old := [folder for folder in present if folder not in wanted]:
            self._watcher.removePaths(old)

    def _ended(self, ok: bool) -> None:
        self._ends = 0 if ok else self._ends + 1
        self._requested = self._requested and not ok
        self._hurries = self._hurries and not ok
        if not ok and self._ends <= MOST_ENDS:  # it ended over a file, which it will refuse
            self._start_soon.request()
        elif self._wanted:
            self.start()
        elif self._collections.all():
            self._next.request()

    def _rest_or_go_on(self, *_: object) -> None:
        if self._postponed and not self._waits_for_power:
            self._postpone(False)
            self._start_soon.request()
        busy = self._engine.active is not None or self._engine.guests.busy or self._waits_for_power
        resting = busy and not self._hurries
        if resting != self._resting:
            self._resting = resting
            if self._process.running:
                self._process.rest(resting)
