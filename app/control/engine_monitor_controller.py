"""The engine monitor: opens and closes its panel, and has the engine send pulses only while the panel is open."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.panel.engine_panel import EnginePanel
from app.panel.monitor_samples import MonitorSamples, seconds_saved
from app.services.timers import Throttle
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.prompt import context_parts
from app.window import Window
from engine.protocol.events import Counted

# Drawing takes time from an engine that computes on all cores: about 4 ms for a plot, 1 ms for all the rest.
NUMBERS_EVERY_MS = 1000
CURVES_EVERY_MS = 5000


class EngineMonitorController(QObject):
    def __init__(self, window: Window, engine: EngineQueue, open_chats: OpenChats) -> None:
        super().__init__(window)
        self._engine, self._open_chats = engine, open_chats
        self._connection_bytes: Callable[[], int] = lambda: 0
        self._dropped: dict[tuple[str, int], int] = {}  # tokens left out, by chat id and number of turns
        self.samples = MonitorSamples()
        self.panel = EnginePanel(self.samples, window.commands)
        self.panel.hide()
        window.add_panel(self.panel)
        window.commands.bind("engine", self.toggle)
        for show, every_ms in ((self.panel.show_numbers, NUMBERS_EVERY_MS), (self.panel.show_curves, CURVES_EVERY_MS)):
            self.samples.changed.connect(Throttle(show, every_ms, self).request)
        engine.model.pulsed.connect(self.samples.add_pulse)
        engine.model.ready.connect(self._engine_ready)
        engine.state.phase_changed.connect(lambda state: self.samples.use_model(state.model))
        engine.state.phase_changed.connect(lambda _state: self._show_host())
        open_chats.follow_current(
            self.show_current, open_chats.answer_ended, open_chats.branch_changed, open_chats.context_changed
        )

    def show_processes(self, front_bytes: Callable[[], int], connection_bytes: Callable[[], int]) -> None:
        """Show from now on the memory of the local API's process, and of the engine's where it asks a server."""
        self.samples.front_bytes, self._connection_bytes = front_bytes, connection_bytes

    def toggle(self) -> None:
        opening = self.panel.isHidden()
        self.panel.setVisible(opening)
        self._engine.idle.watch(opening)
        if opening:
            self._show_host()
            self.show_current()
            self.panel.show_curves()

    def _engine_ready(self) -> None:
        if not self.panel.isHidden():
            self._engine.idle.watch(True)

    def show_current(self) -> None:
        """Show the numbers of the open chat: tokens that are left out of the context, and seconds saved."""
        if self.panel.isHidden():
            return
        conversation = self._open_chats.current
        saved = seconds_saved(message.statistics for message in conversation.messages)
        key = conversation.chat.id, conversation.chat.forget_turns
        self.panel.show_chat(self._dropped.get(key, 0), saved)
        if not conversation.chat.forget_turns:
            return

        def counted(event: Counted | None) -> None:
            if event is None:  # no model is loaded; the next answer counts again
                return
            self._dropped = {key: event.texts[0]}
            if key == (self._open_chats.current.chat.id, self._open_chats.current.chat.forget_turns):
                self.panel.show_chat(event.texts[0], saved)

        parts = context_parts("", conversation.prompt(), conversation.chat.forget_turns)
        self._engine.idle.count((parts.forgotten,), conversation, counted)

    def _show_host(self) -> None:
        host = self._engine.state.host
        self.panel.show_host(host, self._connection_bytes() if host else 0)
