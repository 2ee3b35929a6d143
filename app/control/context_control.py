"""The menu of the context gauge: what fills the context, and what the user can do about it."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint
from PySide6.QtWidgets import QMenu

from app.assistant.assistant import Assistant
from app.chats.context_use import lines_of, parts_of
from app.composer.status_line import StatusLine
from app.notice import UNDO_MS, Notice
from app.open_chats.shelf import Shelf
from app.transcript.message_actions import forgotten_line
from app.words import tr
from engine.protocol import Counted


class ContextControl(QObject):
    """Opens the menu at a click on the gauge, and fills in what the engine counts."""

    def __init__(self, status: StatusLine, shelf: Shelf, assistant: Assistant, notice: Notice) -> None:
        super().__init__(status)
        self._status, self._shelf, self._assistant, self._notice = status, shelf, assistant, notice
        self.menu: QMenu | None = None
        status.context.clicked.connect(self.open)

    def open(self) -> None:
        conversation, model = self._shelf.current, self._assistant.standing.model
        if model is None:
            return
        instructions = self._assistant.instructions(conversation)
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

        self._assistant.count(parts.texts(), conversation, fill)

    def _add_steps(self, menu: QMenu, turns: int, can_forget: bool) -> None:
        if turns or can_forget:
            menu.addSeparator()
        if can_forget:
            menu.addAction(tr("Leave out the oldest turn"), lambda: self._forget(1))
        if turns:
            menu.addAction(tr("Include all turns again"), lambda: self._forget(-self._turns()))

    def _turns(self) -> int:
        return self._shelf.current.chat.forget_turns

    def _forget(self, turns: int) -> None:
        conversation, before = self._shelf.current, self._turns()
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
