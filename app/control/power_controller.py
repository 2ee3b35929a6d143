"""Saving power: finds out whether the computer runs on its battery, and tells the window when that matters."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QObject, Qt, QTimer

from app.settings.settings import Settings
from app.state.engine_queue import EngineQueue
from app.window import Window
from common.power import PowerMode, PowerWatch


class PowerController(QObject):
    """Controller of the setting `engine.power`; keeps `EngineState.power` up to date.

    The engine reads the battery by itself before each answer. The window looks too: when an answer begins or ends, when
    the setting changes, and once a minute of `minute_ms` milliseconds on a computer with a battery.
    """

    def __init__(
        self, window: Window, engine: EngineQueue, settings: Settings, minute_ms: int, watch: PowerWatch | None = None
    ) -> None:
        super().__init__(window)
        self._engine, self._settings, self._watch = engine, settings, watch or PowerWatch()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._timer.setInterval(minute_ms)
        self._timer.timeout.connect(self._look)
        settings.changed.connect(self._look)
        engine.active_changed.connect(self._look)
        engine.state.power_changed.connect(window.status.show_engine)
        self._look()

    def close(self) -> None:
        self._timer.stop()

    def _look(self) -> None:
        mode = cast(PowerMode, self._settings.values["engine.power"])
        state = self._watch.state(mode)
        self._engine.state.change(power=state)
        if mode == "full" or state.battery == "none":
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()
