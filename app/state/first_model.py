"""The model of a start: the one that was used last, or the next best one.

A start tries each model once: the recent ones, then the built-in one. While a model is being loaded it is marked in the
store, so that a start that crashed with it (the engine, the program or the computer) is not followed by another such
start. Knows no Qt.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.events import Event
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState, Problem
from app.store.chat_store import ChatStore
from common.failures import Failure
from common.files import is_file
from models.default import built_in_model
from models.servers import remote_model

log = logging.getLogger(__name__)
MOST_RECENT = 3  # recent models that a start tries: each failure takes seconds
Reason = Literal["gone", "memory", "crashed", "crashed before", "other"]


@dataclass(frozen=True, slots=True)
class PassedOver:
    """The model that a start should have loaded, and why it was not loaded."""

    path: Path
    reason: Reason
    problem: Problem | None = None


class FirstModel:
    """The choice of a start's model, which is loaded; where that fails, the next one is.

    `has_model` says whether a model is still there. `loading` is the model of this start, until the user chooses
    another, and `passed_over` the one that was wanted, and why it was not loaded; `changed` is emitted for both.
    """

    def __init__(self, engine: EngineQueue, store: ChatStore, has_model: Callable[[Path], bool] = is_file) -> None:
        self.loading: Path | None = None
        self.passed_over: PassedOver | None = None
        self.changed: Event[()] = Event()
        self._engine, self._store, self._has_model = engine, store, has_model
        self._left: list[Path] = []
        engine.state.phase_changed.connect(self._engine_changed)

    def load(self) -> None:
        """Load the model that was used last. Raises Failure if there is no model at all."""
        self._left = [*dict.fromkeys(self._store.recent_models(MOST_RECENT))]
        if (built_in := built_in_model()) and built_in not in self._left:
            self._left.append(built_in)
        path = self._next()
        self.changed.emit()
        if path is None:
            raise Failure("no_such_file.built_in")
        self._engine.model.use(path, fallback=self._fall_back)

    def is_substitute(self, path: Path) -> bool:
        """Return whether the model is in use only because the wanted one could not be loaded."""
        return self.passed_over is not None and path == self.loading

    def close(self) -> None:
        """Clear the mark of a model that is still being loaded: the user closed the window."""
        if self.loading is not None and self._engine.state.phase in ("starting", "loading"):
            self._mark(self.loading, False)

    def _fall_back(self, problem: Problem) -> Path | None:
        failed = self.loading
        if failed is None or (problem.needs_llama and self._engine.state.preparing is not None):
            return None  # llama.cpp is being compiled; then the model will be loaded
        crashed = problem.step == "restart"
        if not crashed or problem.sentence.id == "engine_end.closed":
            self._mark(failed, False)
        reason: Reason = "other"
        if crashed:
            reason = "crashed"
        elif problem.sentence.code == "out_of_memory":
            reason = "memory"
        self._pass_over(failed, reason, problem)
        path = self._next()
        self.changed.emit()
        return path

    def _next(self) -> Path | None:
        """Return the next model that may be loaded, and mark it; None if there is none."""
        while self._left:
            path = self._left.pop(0)
            if not self._has_model(path):
                if remote_model(path) is None:  # else the user has removed the server
                    self._pass_over(path, "gone")
            elif self._left and self._was_loading(path):  # the last one is tried: a window needs a model
                self._pass_over(path, "crashed before")
            else:
                self.loading = path
                self._mark(path, True)
                return path
        self.passed_over = None
        return None

    def _pass_over(self, path: Path, reason: Reason, problem: Problem | None = None) -> None:
        log.warning("the model was not loaded at the start: %s (%s)", reason, problem.sentence.id if problem else "")
        if self.passed_over is None:
            self.passed_over = PassedOver(path, reason, problem)

    def _engine_changed(self, state: EngineState) -> None:
        """Clear the mark once the model is loaded; this start is over once the user has chosen another model."""
        if self.loading is None:
            return
        if state.path != self.loading:
            self.loading = self.passed_over = None
            self.changed.emit()
        elif state.phase == "ready":
            self._mark(self.loading, False)

    def _mark(self, path: Path, loading: bool) -> None:
        try:
            self._store.mark_loading(path, loading)
        except Failure as failure:  # then a crash is not remembered
            log.warning("%s", failure.log_text)

    def _was_loading(self, path: Path) -> bool:
        try:
            return self._store.was_loading(path)
        except Failure as failure:
            log.warning("%s", failure.log_text)
            return False
