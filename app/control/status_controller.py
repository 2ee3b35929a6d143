"""The engine in the window: numbers in the status line, problems as notices, its battery and its idle time."""

from __future__ import annotations

import math
from typing import Literal, cast

from PySide6.QtCore import QObject, Qt, QTimer

from app.control.model_controller import ModelController
from app.notice import NO_MODEL
from app.services.timers import Debounce
from app.settings.settings import Settings
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState, Problem
from app.window import Window
from app.words import UiText, mark, tr, tr_n
from common.power import PowerMode, PowerWatch
from engine.protocol.settings import AUTO

TOPIC = "engine"  # of the notice about the engine's problem
SHORT_OF_MEMORY_MINUTES = 10  # until a model that leaves other programs little memory is unloaded
BUTTON_TEXTS = {"restart": mark("Restart engine"), "again": mark("Try again"), "choose": mark("Choose another model")}


class StatusController(QObject):
    """Controller of the status line, of the notices about the engine, and of what happens while nothing is asked.

    While an answer is being written, `EngineQueue.tick` runs every `tick_ms`: it measures the speed and ends an engine
    that hangs.

    A model that has not been used for some minutes is unloaded (`models.unload_after`). Answers, also to other
    programs, reading ahead, typing and changed settings are use; each starts the time anew.

    The engine reads the battery by itself before each answer (`engine.power`). The window looks too: when an answer
    begins or ends, when the setting changes, and once a minute on a computer with a battery. A minute has `minute_ms`
    milliseconds; tests use shorter ones.
    """

    def __init__(
        self,
        window: Window,
        engine: EngineQueue,
        models: ModelController,
        settings: Settings,
        tick_ms: int,
        minute_ms: int,
    ) -> None:
        super().__init__(window)
        self._window, self._engine, self._models, self._settings = window, engine, models, settings
        self._minute_ms, self._watch = minute_ms, PowerWatch()
        self._tick, self._battery = QTimer(self), QTimer(self)
        self._tick.setInterval(tick_ms)
        self._tick.timeout.connect(engine.tick)
        self._battery.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._battery.setInterval(minute_ms)
        self._battery.timeout.connect(self._look_at_battery)
        self._unused = Debounce(engine.model.unload, 0, self)
        engine.state.problem_changed.connect(self._show_problem)
        engine.state.phase_changed.connect(self._model_may_be_ready)
        for event in (engine.state.phase_changed, engine.state.numbers_changed, engine.state.power_changed):
            event.connect(window.status.show_engine)
        for event in (engine.state.phase_changed, engine.state.progress_changed):
            event.connect(lambda _state: self._used())
        engine.guests.changed.connect(self._used)
        window.composer.text.textChanged.connect(self._used)
        for change in (settings.changed, engine.active_changed):
            change.connect(self._used)
            change.connect(self._look_at_battery)
        engine.active_changed.connect(lambda: _run(self._tick, engine.active is not None))
        self._look_at_battery()

    def close(self) -> None:
        self._tick.stop()
        self._battery.stop()

    # --- while nothing is asked -------------------------------------------------------------------------------------

    @property
    def unload_minutes(self) -> int:
        """Minutes after which the loaded model is unloaded; 0: never."""
        model, minutes = self._engine.state.model, self._settings.values["models.unload_after"]
        if minutes == AUTO:
            return SHORT_OF_MEMORY_MINUTES if model is not None and model.tight else 0
        return int(minutes)

    def _used(self) -> None:
        """Start the time anew while a loaded model waits for work."""
        minutes = self.unload_minutes
        works = self._engine.active is not None or self._engine.guests.busy
        if minutes and self._engine.state.phase == "ready" and not works:
            self._unused.request_in(minutes * self._minute_ms)
        else:
            self._unused.cancel()

    def _look_at_battery(self) -> None:
        mode = cast(PowerMode, self._settings.values["engine.power"])
        state = self._watch.state(mode)
        self._engine.state.change(power=state)
        _run(self._battery, mode != "full" and state.battery != "none")

    # --- what the engine says ---------------------------------------------------------------------------------------

    def _show_problem(self, state: EngineState) -> None:
        """Show a new problem of the engine as a notice; dismiss the notice when the problem is over."""
        self._window.notice.solve(TOPIC)
        if state.problem is not None:
            self._post(state.problem)

    def _model_may_be_ready(self, state: EngineState) -> None:
        if state.phase == "ready":
            self._window.notice.solve(NO_MODEL)

    def _post(self, problem: Problem) -> None:
        choose = self._models.open if self._engine.state.host else self._models.choose_model
        work = choose if problem.step == "choose" else self._engine.model.start
        waits = problem.needs_llama and self._engine.state.preparing is not None
        kind: Literal["problem", "note"] = "note" if waits or problem.step == "none" else "problem"
        button_text: UiText = (lambda: tr(BUTTON_TEXTS[problem.step])) if problem.step in BUTTON_TEXTS else ""
        sentence: UiText = self._waiting_text if waits else problem.sentence
        self._window.notice.post(sentence, button_text, work, kind, detail=problem.detail, topic=TOPIC)

    def _waiting_text(self) -> str:
        """Return the sentence about a model that waits until llama.cpp is compiled."""
        preparing = self._engine.state.preparing
        if preparing is None or not preparing.total:
            return tr(
                "This model needs llama.cpp, which is still being prepared. The model will be loaded when that is done."
            )
        return tr_n(
            "This model needs llama.cpp, which is still being prepared. The model will be loaded in about a minute.",
            (
                "This model needs llama.cpp, which is still being prepared. The model will be loaded in about {n} "
                "minutes."
            ),
            math.ceil(preparing.seconds_left / 60) or 1,
        )


def _run(timer: QTimer, wanted: bool) -> None:
    """Run the timer only while it is wanted, so that an idle window does not wake the processor."""
    if not wanted:
        timer.stop()
    elif not timer.isActive():
        timer.start()
