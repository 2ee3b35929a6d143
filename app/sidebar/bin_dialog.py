"""The chats that were deleted in the last 30 days: restore them, or delete them for good."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from app.look.live import Live
from app.look.theme import SIZES
from app.store.chat import Chat
from app.store.chat_store import KEEP_DELETED_SECONDS
from app.words import tr, tr_n

DAY = 86_400
ID = Qt.ItemDataRole.UserRole
Deleted = Sequence[tuple[Chat, float]]


class BinDialog(Live, QDialog):
    """`asked` carries `restore` or `delete`, and the chats' ids. What cannot be undone is asked about first."""

    asked = Signal(str, list)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("bin")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.hint = QLabel(self)
        self.hint.setObjectName("settingHelp")
        self.hint.setWordWrap(True)
        self.list = QListWidget(self)
        self.list.setObjectName("binList")
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # how long it is kept stands at the end
        self.list.itemSelectionChanged.connect(self._choose)
        self.question = QLabel(self)
        self.question.setWordWrap(True)
        self.question.setObjectName("problem")
        self.restore = self._button(lambda: self.asked.emit("restore", self.chosen()))
        self.delete = self._button(self._ask)
        self.delete_all = self._button(self._ask_all)
        self.really = self._button(self._delete)
        self.keep = self._button(self._forget)
        self._doomed: list[str] = []
        self._deleted: Deleted = ()
        self._now = 0.0
        self._layout()
        self.apply_look()
        self._forget()
        self.resize(SIZES.dialog, SIZES.dialog_height * 2 // 3)

    def show_chats(self, deleted: Deleted, now: float | None = None) -> None:
        """List these, the latest deleted first."""
        self._deleted, self._now = deleted, now or time.time()
        self.list.clear()
        for chat, _ in deleted:
            item = QListWidgetItem()
            item.setData(ID, chat.id)
            self.list.addItem(item)
        self._say_items()
        if self.list.count():
            self.list.setCurrentRow(0)
        self._hint()
        self._forget()

    def chosen(self) -> list[str]:
        """The ids of the selected chats."""
        return [str(item.data(ID)) for item in self.list.selectedItems()]

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Recently deleted"))
        self._hint()
        self.list.setAccessibleName(tr("Deleted chats"))
        self.restore.setText(tr("Restore"))
        self.delete.setText(tr("Delete permanently…"))
        self.delete_all.setText(tr("Delete all permanently…"))
        self.really.setText(tr("Delete permanently"))
        self.keep.setText(tr("Cancel"))
        self._say_items()
        self._say_question()

    def restyle(self) -> None:
        for row in range(self.list.count()):
            self.list.item(row).setSizeHint(QSize(0, SIZES.row))

    def _say_items(self) -> None:
        for row, (chat, moment) in enumerate(self._deleted):
            words = tr("{title} · {when}", title=chat.title, when=_when(moment, self._now))
            self.list.item(row).setText(words)
            self.list.item(row).setSizeHint(QSize(0, SIZES.row))

    def _hint(self) -> None:
        kept = tr("Deleted chats are kept here for 30 days, then deleted permanently.")
        self.hint.setText(
            kept if self.list.count() else tr("No deleted chats. Deleted chats are kept here for 30 days.")
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and self.chosen():
            self._ask()
        else:
            super().keyPressEvent(event)

    def _ask(self) -> None:
        self._doom(self.chosen())

    def _ask_all(self) -> None:
        self._doom([str(self.list.item(row).data(ID)) for row in range(self.list.count())])

    def _doom(self, ids: list[str]) -> None:
        self._doomed = ids
        self._say_question()
        self._show_buttons()
        self.keep.setFocus()

    def _say_question(self) -> None:
        sentence = tr_n(
            "This chat will be deleted permanently.",
            "These {n} chats will be deleted permanently.",
            len(self._doomed),
        )
        self.question.setText(sentence)

    def _delete(self) -> None:
        ids = self._doomed
        self._forget()
        self.asked.emit("delete", ids)

    def _forget(self) -> None:
        self._doomed = []
        self._show_buttons()

    def _choose(self) -> None:
        self._forget()

    def _show_buttons(self) -> None:
        asking = bool(self._doomed)
        for widget in (self.question, self.really, self.keep):
            widget.setVisible(asking)
        for button in (self.restore, self.delete, self.delete_all):
            button.setVisible(not asking)
            button.setEnabled(bool(self.chosen()) or (button is self.delete_all and bool(self.list.count())))

    def _button(self, work: Callable[[], None]) -> QPushButton:
        button = QPushButton(self)
        button.setProperty("kind", "step")
        button.setAutoDefault(False)
        button.clicked.connect(lambda: work())
        return button

    def _layout(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(SIZES.gap)
        row.addWidget(self.restore)
        row.addWidget(self.question, 1)
        row.addStretch(0)
        for button in (self.delete, self.delete_all, self.keep, self.really):
            row.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap_l, SIZES.gap_l, SIZES.gap_l, SIZES.gap_l)
        layout.setSpacing(SIZES.gap_m)
        layout.addWidget(self.hint)
        layout.addWidget(self.list, 1)
        layout.addLayout(row)


def _when(moment: float, now: float) -> str:
    left = max(0, round((moment + KEEP_DELETED_SECONDS - now) / DAY))
    return tr_n("kept for {n} more day", "kept for {n} more days", left)
