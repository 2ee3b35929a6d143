"""The engine as the window tells of it: model, numbers and problems, the choice of a model, the context's menu."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, QPoint, Qt, QTimer
from PySide6.QtWidgets import QFileDialog, QMenu

from app.composer.status_line import StatusLine
from app.notice import UNDO_MS, Notice, Told
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState, Problem
from app.state.open_chats import OpenChats
from app.state.prompt import lines_of, parts_of
from app.store.chat_store import ChatStore
from app.transcript.message_actions import forgotten_line
from app.window import Window
from app.words import Saying, mark, tr, tr_n
from common.failures import Failure
from common.paths import path_of
from engine.protocol import Counted

log = logging.getLogger(__name__)
STEPS = {"restart": mark("Restart engine"), "choose": mark("Choose another model")}


class StatusController(QObject):
    """`tick_ms`: so often is looked at an answer that is being written, for its speed, and whether it still goes on."""

    def __init__(self, window: Window, engine: EngineQueue, store: ChatStore, tick_ms: int) -> None:
        super().__init__(window)
        self._window, self._engine, self._store = window, engine, store
        self._problem: Told | None = None
        self._remembered: Path | None = None
        self._tick = QTimer(self)
        self._tick.setInterval(tick_ms)
        self._tick.timeout.connect(engine.tick)
        engine.active_changed.connect(self._look_after_answer)
        engine.state.phase_changed.connect(self._show_phase)
        engine.state.numbers_changed.connect(window.status.show_engine)
        engine.state.problem_changed.connect(self._tell_problem)
        window.status.chosen.connect(self.use_model)
        window.commands.bind("open_model", self.choose_model)

    def close(self) -> None:
        self._tick.stop()

    def start(self, model: Path) -> None:
        """Load the first model. Raises Failure."""
        self._window.status.show_models(self._store.recent_models())
        self._engine.use_model(model)

    def choose_model(self) -> None:
        path = self._engine.state.path
        start = str(path.parent) if path else ""
        dialog = QFileDialog(self._window, tr("Open model"), start, tr("Models (*.gguf);;All files (*)"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.use_model)
        dialog.open()

    def use_model(self, path: str) -> None:
        self._engine.use_model(path_of(path).absolute())

    # --- what the engine says ---------------------------------------------------------------------------------------

    def _look_after_answer(self) -> None:
        """From time to time, while there is one: a window that waits wakes the processor for nothing."""
        if self._engine.active is None:
            self._tick.stop()
        elif not self._tick.isActive():
            self._tick.start()

    def _show_phase(self, state: EngineState) -> None:
        self._window.status.show_engine(state)
        if state.phase == "ready" and state.path and state.path != self._remembered:
            self._remember(state.path)

    def _remember(self, path: Path) -> None:
        self._remembered = path
        try:
            self._store.remember_model(path)
            self._window.status.show_models(self._store.recent_models())
        except Failure as failure:
            log.warning("%s (%s)", failure, failure.detail)

    def _tell_problem(self, state: EngineState) -> None:
        """Tell the engine's problem once; its end takes the notice away."""
        problem = state.problem
        if problem is not None:
            self._problem = self._tell(problem)
        elif self._problem is not None:
            self._window.notice.dismiss(self._problem)

    def _tell(self, problem: Problem) -> Told:
        work = self.choose_model if problem.step == "choose" else self._engine.start_engine
        waits = problem.needs_llama and self._engine.state.preparing is not None
        kind: Literal["problem", "note"] = "note" if waits or problem.step == "none" else "problem"
        step: Saying = (lambda: tr(STEPS[problem.step])) if problem.step in STEPS else ""
        sentence: Saying = self._waiting if waits else problem.sentence
        return self._window.notice.tell(sentence, step, work, kind, detail=problem.detail)

    def _waiting(self) -> str:
        """Of a model that needs llama.cpp."""
        preparing = self._engine.state.preparing
        if preparing is None or not preparing.total:
            return tr("This model needs llama.cpp, which is still being prepared. It will be loaded when that is done.")
        return tr_n(
            "This model needs llama.cpp, which is still being prepared. It will be loaded in about a minute.",
            "This model needs llama.cpp, which is still being prepared. It will be loaded in about {n} minutes.",
            math.ceil(preparing.seconds_left / 60) or 1,
        )


class ContextMenu(QObject):
    """Opens at a click on the context gauge: what fills the context, as the engine counts it, and what the user can do
    about it."""

    def __init__(self, status: StatusLine, open_chats: OpenChats, engine: EngineQueue, notice: Notice) -> None:
        super().__init__(status)
        self._status, self._open_chats, self._engine, self._notice = status, open_chats, engine, notice
        self.menu: QMenu | None = None
        status.context.clicked.connect(self.open)

    def open(self) -> None:
        conversation, model = self._open_chats.current, self._engine.state.model
        if model is None:
            return
        instructions = self._engine.instructions(conversation)
        parts = parts_of(instructions, conversation.prompt(), conversation.chat.forget_turns)
        used = self._status.used(conversation.chat.id)
        menu = self.menu = QMenu(self._status)
        lines = [menu.addAction(_plain(line)) for line in lines_of(parts, used, model.n_ctx, None)]
        for action in lines:
            action.setEnabled(False)
        self._add_steps(menu, parts.turns, bool(parts.next_title) and not conversation.busy)
        menu.aboutToHide.connect(self._closed)
        menu.popup(self._status.context.mapToGlobal(QPoint(0, -menu.sizeHint().height())))

        def fill(counted: Counted) -> None:
            if self.menu is menu:
                for action, line in zip(lines, lines_of(parts, used, model.n_ctx, counted), strict=True):
                    action.setText(_plain(line))

        self._engine.count(parts.texts(), conversation, fill)

    def _add_steps(self, menu: QMenu, turns: int, can_forget: bool) -> None:
        if turns or can_forget:
            menu.addSeparator()
        if can_forget:
            menu.addAction(tr("Leave out the oldest turn"), lambda: self._forget(1))
        if turns:
            menu.addAction(tr("Include all turns again"), lambda: self._forget(-self._turns()))

    def _turns(self) -> int:
        return self._open_chats.current.chat.forget_turns

    def _forget(self, turns: int) -> None:
        conversation, before = self._open_chats.current, self._turns()
        conversation.forget_oldest(turns)
        now = self._turns()

        def sentence() -> str:
            whole = tr("The model reads the whole chat again with your next message.")
            return forgotten_line(now) if now else whole

        def undo() -> None:
            conversation.forget_oldest(before - now)

        self._notice.tell(sentence, lambda: tr("Undo"), undo, milliseconds=UNDO_MS)

    def _closed(self) -> None:
        if self.menu is not None:
            self.menu.deleteLater()
            self.menu = None


def _plain(line: str) -> str:
    return line.replace("&", "&&")
