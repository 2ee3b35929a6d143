"""The engine's state in the window: numbers in the status line, and problems as notices."""

from __future__ import annotations

import math
from typing import Literal

from PySide6.QtCore import QObject, QTimer

from app.control.model_controller import ModelController
from app.notice import NO_MODEL, NoticeRow
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState, Problem
from app.window import Window
from app.words import UiText, mark, tr, tr_n

BUTTON_TEXTS = {"restart": mark("Restart engine"), "again": mark("Try again"), "choose": mark("Choose another model")}


class StatusController(QObject):
    """Controller of the status line and of the notices about the engine.

    While an answer is being written, `EngineQueue.tick` runs every `tick_ms`: it measures the speed and ends an engine
    that hangs.
    """

    def __init__(self, window: Window, engine: EngineQueue, models: ModelController, tick_ms: int) -> None:
        super().__init__(window)
        self._window, self._engine, self._models = window, engine, models
        self._problem: NoticeRow | None = None
        self._tick = QTimer(self)
        self._tick.setInterval(tick_ms)
        self._tick.timeout.connect(engine.tick)
        engine.active_changed.connect(self._start_or_stop_timer)
        engine.state.phase_changed.connect(window.status.show_engine)
        engine.state.numbers_changed.connect(window.status.show_engine)
        engine.state.problem_changed.connect(self._show_problem)
        engine.state.phase_changed.connect(self._model_may_be_ready)

    def close(self) -> None:
        self._tick.stop()

    # --- what the engine says ---------------------------------------------------------------------------------------

    def _start_or_stop_timer(self) -> None:
        """Run the timer only while an answer is being written, so that an idle window does not wake the processor."""
        if self._engine.active is None:
            self._tick.stop()
        elif not self._tick.isActive():
            self._tick.start()

    def _show_problem(self, state: EngineState) -> None:
        """Show a new problem of the engine as a notice; dismiss the notice when the problem is over."""
        problem, before = state.problem, self._problem
        self._problem = self._post(problem) if problem is not None else None
        if before is not None:
            self._window.notice.dismiss(before)

    def _model_may_be_ready(self, state: EngineState) -> None:
        if state.phase == "ready":
            self._window.notice.solve(NO_MODEL)

    def _post(self, problem: Problem) -> NoticeRow:
        choose = self._models.open if self._engine.state.host else self._models.choose_model
        work = choose if problem.step == "choose" else self._engine.model.start
        waits = problem.needs_llama and self._engine.state.preparing is not None
        kind: Literal["problem", "note"] = "note" if waits or problem.step == "none" else "problem"
        button_text: UiText = (lambda: tr(BUTTON_TEXTS[problem.step])) if problem.step in BUTTON_TEXTS else ""
        sentence: UiText = self._waiting_text if waits else problem.sentence
        return self._window.notice.post(sentence, button_text, work, kind, detail=problem.detail)

    def _waiting_text(self) -> str:
        """Return the sentence about a model that waits until llama.cpp is compiled."""
        preparing = self._engine.state.preparing
        if preparing is None or not preparing.total:
            return tr("This model needs llama.cpp, which is still being prepared. It will be loaded when that is done.")
        return tr_n(
            "This model needs llama.cpp, which is still being prepared. It will be loaded in about a minute.",
            "This model needs llama.cpp, which is still being prepared. It will be loaded in about {n} minutes.",
            math.ceil(preparing.seconds_left / 60) or 1,
        )
