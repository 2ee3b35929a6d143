"""The list of chats by day, with New chat above; renames in place. Knows only what it is shown."""

from __future__ import annotations

import time
from collections.abc import Iterable

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from app.chat import Chat, group_of
from app.icons import icon
from app.theme import SIZES, theme

ID = Qt.ItemDataRole.UserRole


class ChatList(QListWidget):
    """Chats under the names of their days. F2 renames, Delete deletes."""

    delete = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chats")
        self.setAccessibleName("Chats")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setUniformItemSizes(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.key() == Qt.Key.Key_Delete and item is not None:
            self.delete.emit(item.data(ID))
        else:
            super().keyPressEvent(event)


class Sidebar(QFrame):
    """`opened`, `deleted` carry a chat's id, `renamed` the id and the new title; `new` asks for a new chat."""

    opened = Signal(str)
    deleted = Signal(str)
    renamed = Signal(str, str)
    new = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.setFixedWidth(SIZES.sidebar)
        self.new_button = QPushButton("New chat", self)
        self.new_button.setProperty("kind", "new")
        self.new_button.setToolTip("New chat (Ctrl+N)")
        self.new_button.clicked.connect(self.new)
        self.list = ChatList(self)
        self.empty = QLabel("Your chats will be listed here.", self)
        self.empty.setObjectName("empty")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self._stack = QStackedLayout()
        self._stack.addWidget(self.list)
        self._stack.addWidget(self.empty)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, SIZES.gap, 1, SIZES.gap)
        layout.setSpacing(SIZES.gap)
        top = QVBoxLayout()
        top.setContentsMargins(SIZES.gap, 0, SIZES.gap, 0)
        top.addWidget(self.new_button)
        layout.addLayout(top)
        layout.addLayout(self._stack)
        self._filling = False
        self.list.currentItemChanged.connect(self._chosen)
        self.list.itemChanged.connect(self._edited)
        self.list.customContextMenuRequested.connect(self._menu)
        self.list.delete.connect(self.deleted)
        self.restyle()

    def show_chats(self, chats: Iterable[Chat], current: str) -> None:
        """List the chats, latest first; `current` is the id of the one that is open."""
        self._filling = True
        self.list.clear()
        group = ""
        now = time.time()
        for chat in chats:
            if group_of(chat.updated_at, now) != group:
                group = group_of(chat.updated_at, now)
                self._add_group(group)
            self._add(chat, current)
        self._stack.setCurrentWidget(self.list if self.list.count() else self.empty)
        self._filling = False

    def titles(self) -> list[str]:
        """What the list shows, without the days."""
        items = (self.list.item(row) for row in range(self.list.count()))
        return [item.text() for item in items if item.data(ID)]

    def rename(self, chat_id: str) -> None:
        """Let the user type another title in place."""
        item = self._item(chat_id)
        if item is not None:
            self.list.editItem(item)

    def restyle(self) -> None:
        self.new_button.setIcon(icon("new", theme().accent))

    def _add_group(self, name: str) -> None:
        item = QListWidgetItem(name)
        item.setFlags(Qt.ItemFlag.NoItemFlags)
        font = self.list.font()
        font.setPixelSize(SIZES.small)
        item.setFont(font)
        self.list.addItem(item)

    def _add(self, chat: Chat, current: str) -> None:
        item = QListWidgetItem(chat.title)
        item.setData(ID, chat.id)
        item.setToolTip(chat.title.replace("&", "&amp;").replace("<", "&lt;"))
        item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable)
        self.list.addItem(item)
        if chat.id == current:
            self.list.setCurrentItem(item)

    def _item(self, chat_id: str) -> QListWidgetItem | None:
        items = (self.list.item(row) for row in range(self.list.count()))
        return next((item for item in items if item.data(ID) == chat_id), None)

    def _chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None and not self._filling:
            self.opened.emit(item.data(ID))

    def _edited(self, item: QListWidgetItem) -> None:
        if not self._filling:
            self.renamed.emit(item.data(ID), item.text())

    def _menu(self, at: QPoint) -> None:
        item = self.list.itemAt(at)
        if item is None or not item.data(ID):
            return
        chat_id = str(item.data(ID))
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, work in (("Rename", self.rename), ("Delete", self.deleted.emit)):
            action = QAction(text, menu)
            action.triggered.connect(lambda _=False, work=work: work(chat_id))
            menu.addAction(action)
        menu.popup(self.list.viewport().mapToGlobal(at))
