"""Idle time: unloads a model that has not been used for some minutes, if the settings say so."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.services.timers import Debounce
from app.settings.settings import Settings
from app.state.engine_queue import EngineQueue
from app.window import Window
from engine.protocol.settings import AUTO

SHORT_OF_MEMORY_MINUTES = 10  # until a model that leaves other programs little memory is unloaded


class IdleController(QObject):
    """Controller of the setting `models.unload_after`. A minute has `minute_ms` milliseconds; tests use shorter ones.

    Answers, also to other programs, reading ahead, typing and changed settings are use; each starts the time anew.
    """

    def __init__(self, window: Window, engine: EngineQueue, settings: Settings, minute_ms: int) -> None:
        super().__init__(window)
        self._engine, self._settings, self._minute_ms = engine, settings, minute_ms
        self._pause = Debounce(self._unload, 0, self)
        engine.active_changed.connect(self._used)
        engine.guests.changed.connect(self._used)
        for event in (engine.state.phase_changed, engine.state.progress_changed):
            event.connect(lambda _state: self._used())
        settings.changed.connect(self._used)
        window.composer.text.textChanged.connect(self._used)

    def close(self) -> None:
        self._pause.cancel()

    @property
    def minutes(self) -> int:
        """Minutes after which the loaded model is unloaded; 0: never."""
        model, minutes = self._engine.state.model, self._settings.values["models.unload_after"]
        if minutes == AUTO:
            return SHORT_OF_MEMORY_MINUTES if model is not None and model.tight else 0
        return int(minutes)

    def _used(self) -> None:
        """Start the time anew while a loaded model waits for work."""
        minutes = self.minutes
        works = self._engine.active is not None or self._engine.guests.busy
        if minutes and self._engine.state.phase == "ready" and not works:
            self._pause.request_in(minutes * self._minute_ms)
        else:
            self._pause.cancel()

    def _unload(self) -> None:
        self._engine.model.unload()
