"""The menu of the context gauge: what fills the context, and which turns are left out of it."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint
from PySide6.QtWidgets import QMenu

from app.composer.status_line import StatusLine
from app.notice import NoticeArea
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.prompt import context_lines, context_parts
from app.transcript.message_actions import forgotten_line
from app.words import tr
from engine.protocol.events import Counted


class ContextMenu(QObject):
    """Menu of the context gauge: what fills the context, as the engine counts it, and the choice to leave turns out."""

    def __init__(self, status: StatusLine, open_chats: OpenChats, engine: EngineQueue, notice: NoticeArea) -> None:
        super().__init__(status)
        self._status, self._open_chats, self._engine, self._notice = status, open_chats, engine, notice
        self.menu: QMenu | None = None
        status.context.clicked.connect(self.open)

    def open(self) -> None:
        conversation, model = self._open_chats.current, self._engine.state.model
        if model is None:
            return
        instructions = self._engine.model.options_for(conversation).system_prompt
        parts = context_parts(instructions, conversation.prompt(), conversation.chat.forget_turns)
        used = self._status.used_tokens(conversation.chat.id)
        menu = self.menu = QMenu(self._status)
        lines = [menu.addAction(_plain(line)) for line in context_lines(parts, used, model.n_ctx, None)]
        for action in lines:
            action.setEnabled(False)
        self._add_steps(menu, parts.turns, bool(parts.next_title) and not conversation.busy)
        menu.aboutToHide.connect(self._closed)
        menu.popup(self._status.context.mapToGlobal(QPoint(0, -menu.sizeHint().height())))

        def fill(counted: Counted | None) -> None:
            if counted and self.menu is menu:
                for action, line in zip(lines, context_lines(parts, used, model.n_ctx, counted), strict=True):
                    action.setText(_plain(line))

        self._engine.idle.count(parts.texts(), conversation, fill)

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

        self._notice.post_undo(sentence, undo)

    def _closed(self) -> None:
        if self.menu is not None:
            self.menu.deleteLater()
            self.menu = None


def _plain(line: str) -> str:
    return line.replace("&", "&&")
