"""What needs no window: settings, the store, the engine, and the model that a start loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject

from app.control.server_keys import ServerKeys
from app.folders import Folders
from app.services.background import Background
from app.services.engine_process import EngineProcess
from app.services.frames import Collector
from app.settings.settings import Settings
from app.state.engine_queue import EngineQueue
from app.state.first_model import FirstModel
from app.store.recovery import open_store
from common.failures import Failure


@dataclass(frozen=True, slots=True)
class Intervals:
    """Waiting times of the window in milliseconds; tests use shorter ones."""

    tick: int = 250  # between looks at whether the engine still reacts
    patience: int = 3_000  # until an engine is killed that does not stop; an answer normally ends within 100 ms
    read_ahead: int = 300  # a user who leafs through the chats does not want each one read ahead
    title: int = 2_000  # after an answer, so that a user who goes on at once is asked nothing of the engine before
    offers: int = 1_500  # after a model is loaded: judging the others keeps a core busy, and a question may come
    memory: int = 20_000  # without a question, after which a chat counts as over
    links: int = 400  # after the last letter, until links in the message are looked for
    save_text: int = 500  # text typed in this time may be lost if the program is killed
    speech: int = 2_000  # between two announcements of an answer's sentences to a screen reader
    minute: int = 60_000  # of idle time, after some of which the model is unloaded; between looks at the battery
    settings_settled: int = 800  # several changes of settings load the model again only once
    save_window: int = 1_000  # dragging the window and scrolling change its state all the time
    upkeep: int = 3_000  # after the last change that may need the store's upkeep
    upkeep_retry: int = 60_000  # after a failure
    notify_after: int = 20_000  # the user waits for a shorter answer
    index: int = 3_000  # after the start or a change of the collections
    save_retry: int = 5_000  # until texts that could not be stored are tried again; a failing write is quick


class Foundation(QObject):
    """The parts of the program that work without its window, so that the engine loads a model while that is built.

    Building the window takes as long as the engine takes to start, and most computers have a core for each. `model` is
    the one to load, None for the one that was used last; `failure`: why `start` found none.
    """

    def __init__(
        self,
        folders: Folders,
        model: Path | None = None,
        command: Sequence[str] | None = None,
        max_tokens: int | None = None,
        intervals: Intervals | None = None,
    ) -> None:
        super().__init__()
        self.collector = Collector(self)  # before any thread starts
        self.folders, self.intervals, self._model = folders, intervals or Intervals(), model
        self.settings = Settings(folders.settings, {"answer.max_tokens": max_tokens} if max_tokens else {})
        self.store, self.recovery = open_store(folders.store)
        self.store.writer.use_thread(Background(self).call_in_window)
        self.process = EngineProcess(command, self, self.intervals.patience)
        self.keys = ServerKeys(self.settings, self)
        self.engine = EngineQueue(self.process.client, self.settings, self.keys.find_to_connect)
        self.first = FirstModel(self.engine, self.store, self.settings.has_model)
        self.started = False
        self.failure: Failure | None = None

    def start(self) -> None:
        """Have the engine load the model; do nothing the second time."""
        if self.started:
            return
        self.started = True
        try:
            if self._model is None:
                self.first.load()
            else:
                self.engine.model.use(self._model)
        except Failure as failure:
            self.failure = failure
        self.process.flush()
