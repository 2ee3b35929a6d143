"""Dialog of the chats that were deleted in the last 30 days: restores them or deletes them permanently."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QWidget

from app.look.sheet import Button, Sheet, label
from app.look.theme import SIZES
from app.store.chat import Chat
from app.store.chat_store import KEEP_DELETED_SECONDS
from app.words import mark, tr, tr_n

DAY = 86_400
Deleted = Sequence[tuple[Chat, float]]


class BinDialog(Sheet):
    """Dialog of recently deleted chats; asks before it deletes permanently.

    Signals: `restore_requested` and `delete_requested` carry the chats' ids.
    """

    restore_requested = Signal(list)
    delete_requested = Signal(list)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("bin")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.hint = label("settingHelp", self)
        self.list = QListWidget(self)
        self.list.setObjectName("binList")
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # the end, with the days left, must be visible
        self.list.itemSelectionChanged.connect(self._stop_asking)
        self.question = label("problem", self)
        self.restore = Button(self, mark("Restore"), lambda: self.restore_requested.emit(self.selected_ids()))
        self.delete = Button(self, mark("Delete permanently…"), self._ask_to_delete_selected)
        self.delete_all = Button(self, mark("Delete all permanently…"), self._ask_to_delete_all)
        self.confirm = Button(self, mark("Delete permanently"), self._delete)
        self.cancel = Button(self, mark("Cancel"), self._stop_asking)
        self._ids_to_delete: list[str] = []
        self._deleted: Deleted = ()
        self._now = 0.0
        buttons = (self.restore, self.question, self.delete, self.delete_all, self.cancel, self.confirm)
        self.lay_out(self.hint, self.list, buttons)
        self.apply_look()
        self._stop_asking()

    def show_chats(self, deleted: Deleted, now: float | None = None) -> None:
        """List the deleted chats, which come with the one deleted last first."""
        self._deleted, self._now = deleted, now or time.time()
        self.list.clear()
        self.list.addItems([""] * len(deleted))
        self._show_items()
        if self.list.count():
            self.list.setCurrentRow(0)
        self._show_hint()
        self._stop_asking()

    def selected_ids(self) -> list[str]:
        """Return the ids of the selected chats."""
        return [self._deleted[index.row()][0].id for index in self.list.selectedIndexes()]

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Recently deleted"))
        self._show_hint()
        self.list.setAccessibleName(tr("Deleted chats"))
        self._show_items()
        self._show_question()

    def restyle(self) -> None:
        super().restyle()
        self._show_items()

    def _show_items(self) -> None:
        for row, (chat, moment) in enumerate(self._deleted):
            words = tr("{title} · {when}", title=chat.title, when=_days_left(moment, self._now))
            self.list.item(row).setText(words)
            self.list.item(row).setSizeHint(QSize(0, SIZES.row))

    def _show_hint(self) -> None:
        kept = tr("Deleted chats are kept here for 30 days, then deleted permanently.")
        self.hint.setText(
            kept if self.list.count() else tr("No deleted chats. Deleted chats are kept here for 30 days.")
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and self.selected_ids():
            self._ask_to_delete_selected()
        else:
            super().keyPressEvent(event)

    def _ask_to_delete_selected(self) -> None:
        self._ask_to_delete(self.selected_ids())

    def _ask_to_delete_all(self) -> None:
        self._ask_to_delete([chat.id for chat, _ in self._deleted])

    def _ask_to_delete(self, ids: list[str]) -> None:
        self._ids_to_delete = ids
        self._show_question()
        self._show_buttons()
        self.cancel.setFocus()

    def _show_question(self) -> None:
        sentence = tr_n(
            "This chat will be deleted permanently.",
            "These {n} chats will be deleted permanently.",
            len(self._ids_to_delete),
        )
        self.question.setText(sentence)

    def _delete(self) -> None:
        ids = self._ids_to_delete
        self._stop_asking()
        self.delete_requested.emit(ids)

    def _stop_asking(self) -> None:
        self._ids_to_delete = []
        self._show_buttons()

    def _show_buttons(self) -> None:
        asking = bool(self._ids_to_delete)
        for widget in (self.question, self.confirm, self.cancel):
            widget.setVisible(asking)
        for button in (self.restore, self.delete, self.delete_all):
            button.setVisible(not asking)
            button.setEnabled(bool(self.selected_ids()) or (button is self.delete_all and bool(self.list.count())))


def _days_left(moment: float, now: float) -> str:
    days = max(0, round((moment + KEEP_DELETED_SECONDS - now) / DAY))
    return tr_n("kept for {n} more day", "kept for {n} more days", days)
