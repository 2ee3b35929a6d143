"""llama.cpp while it is still being compiled: how far that is, what went wrong, and the model that waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from app.control.model_controller import ModelController
from app.services.preparation import Preparation
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState, Preparing
from app.window import Window
from app.words import tr
from common.sentences import Sentence
from models.titles import title_of


class PreparationController(QObject):
    """`command` does what set-up has left to do; none where it has left nothing."""

    def __init__(self, window: Window, engine: EngineQueue, models: ModelController, command: Sequence[str]) -> None:
        super().__init__(window)
        self._window, self._engine, self._models, self._command = window, engine, models, command
        self._waits: Path | None = None  # the model that was asked for and needs llama.cpp
        self._preparation = Preparation(self)
        self._preparation.progressed.connect(self._show)
        self._preparation.ended.connect(self._ended)
        engine.state.problem_changed.connect(self._remember)
        engine.state.phase_changed.connect(self._forget)

    def start(self) -> None:
        if self._command:
            self._engine.state.change(preparing=Preparing())
            self._preparation.start(self._command)

    def close(self) -> None:
        self._preparation.close()

    def _remember(self, state: EngineState) -> None:
        if state.problem and state.problem.needs_llama:
            self._waits = state.path

    def _forget(self, state: EngineState) -> None:
        """The user has chosen another model."""
        if state.phase in ("starting", "loading") and state.path != self._waits:
            self._waits = None

    def _show(self, done: int, total: int, seconds: int) -> None:
        self._engine.state.change(preparing=Preparing(done, total, seconds * (total - done) / done))

    def _ended(self, problem: Sentence | None, said: str) -> None:
        self._engine.state.change(preparing=None)
        if problem:
            self._window.notice.tell(problem, detail=said)
            return
        self._models.plan_anew()
        waits, self._waits = self._waits, None
        if waits and self._engine.active is None:
            self._engine.use_model(waits)
        elif waits:  # to load it would end the answer that another model is writing
            self._window.notice.tell(
                lambda: tr("llama.cpp is ready."),
                lambda: tr("Load {model}", model=title_of(waits)),
                lambda: self._engine.use_model(waits),
            )
