"""Compilation of llama.cpp in the background: progress, failure, and the model that waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from app.control.model_controller import ModelController
from app.services.preparation import Preparation
from app.state.engine_queue import EngineQueue
from app.state.engine_state import CompileProgress, EngineState
from app.window import Window
from app.words import tr
from common.sentences import Sentence
from models.titles import title_of


class PreparationController(QObject):
    """Controller of the compilation. `command` completes the set-up; it is empty if nothing is left to do."""

    def __init__(self, window: Window, engine: EngineQueue, models: ModelController, command: Sequence[str]) -> None:
        super().__init__(window)
        self._window, self._engine, self._models, self._command = window, engine, models, command
        self._waiting_model: Path | None = None  # the chosen model, if it needs llama.cpp
        self._preparation = Preparation(self)
        self._preparation.progressed.connect(self._show_progress)
        self._preparation.ended.connect(self._ended)
        engine.state.problem_changed.connect(self._remember_waiting_model)
        engine.state.phase_changed.connect(self._forget_waiting_model)

    def start(self) -> None:
        if self._command:
            self._engine.state.change(preparing=CompileProgress())
            self._preparation.start(self._command)

    def close(self) -> None:
        self._preparation.close()

    def _remember_waiting_model(self, state: EngineState) -> None:
        if state.problem and state.problem.needs_llama:
            self._waiting_model = state.path

    def _forget_waiting_model(self, state: EngineState) -> None:
        """Forget the waiting model when the user has chosen another one."""
        if state.phase in ("starting", "loading") and state.path != self._waiting_model:
            self._waiting_model = None

    def _show_progress(self, done: int, total: int, seconds: int) -> None:
        self._engine.state.change(preparing=CompileProgress(done, total, seconds * (total - done) / done))

    def _ended(self, problem: Sentence | None, output: str) -> None:
        self._engine.state.change(preparing=None)
        if problem:
            self._window.notice.post(problem, kind="problem", detail=output)
            return
        self._models.plan_again()
        model, self._waiting_model = self._waiting_model, None
        if model and self._engine.active is None:
            self._engine.model.use(model)
        elif model:  # loading it now would end the answer that another model is writing
            self._window.notice.post(
                lambda: tr("llama.cpp is ready."),
                lambda: tr("Load {model}", model=title_of(model)),
                lambda: self._models.use(model),
                holds=lambda: self._engine.state.path != model,
            )
