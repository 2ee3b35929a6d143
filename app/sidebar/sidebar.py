"""The sidebar: New chat, the search field, and below them the chat list or the hits. Knows only what it is shown."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from app.commands.commands import ActionButton, CommandSet, with_keys
from app.look.live import Live, LiveAction
from app.look.sheet import fill, label
from app.look.theme import SIZES, icon, theme
from app.sidebar.chat_list import ChatList
from app.sidebar.chat_rows import Row
from app.sidebar.search_view import HitList, SearchField
from app.store.message_search import Hit
from app.words import mark, tr


class TaskLine(QWidget):
    """Line with the progress of an import or export, and a button that stops it. Hidden while nothing runs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = label("aside", self)
        self.stop = ActionButton(LiveAction(self, mark("Stop"), "close"), self)
        fill(QHBoxLayout(self), (self.text, 1), self.stop, margins=(SIZES.gap_s, 0, 0, 0))
        self.hide()

    def show_text(self, sentence: str) -> None:
        """Show the sentence; "" hides the line."""
        self.text.setText(sentence)
        self.setVisible(bool(sentence))


class Sidebar(Live, QFrame):
    """Left part of the window; `list`, `field` and `hits` have the signals, the other buttons trigger commands."""

    def __init__(self, commands: CommandSet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.new_button = QPushButton(self)
        self.new_button.setProperty("kind", "new")
        self.new_button.clicked.connect(commands.actions["new_chat"].trigger)
        self.field = SearchField(self)
        self.list = ChatList(self)
        self.hits = HitList(self)
        self.empty = label("empty", self, lambda: tr("Your chats appear here."))
        self.nothing = label("empty", self, lambda: tr("No results"))
        self.bin_button = QPushButton(self)
        self.bin_button.setProperty("kind", "quiet")
        self.bin_button.clicked.connect(commands.actions["bin"].trigger)
        self.bin_button.hide()
        self.task = TaskLine(self)
        self._in_bin = 0
        self._layout()
        self.field.textChanged.connect(self._search_changed)
        self.field.returnPressed.connect(self.hits.open)
        self.apply_look()

    # --- what is shown ----------------------------------------------------------------------------------------------

    def show_chats(self, rows: Sequence[Row], folders: Sequence[Row], current: str) -> None:
        """List the rows; `folders` are all folders, `current` is the id of the open chat."""
        self.list.show_chats(rows, folders, current)
        self._show_page()

    def show_hits(self, hits: Sequence[Hit]) -> None:
        """Show the hits for the words in the search field."""
        self.hits.show_hits(hits)
        self._show_page()

    def show_bin(self, count: int) -> None:
        """Show the button of the recently deleted chats with their number; hide it if there are none."""
        self._in_bin = count
        self.bin_button.setVisible(bool(count))
        self.bin_button.setText(tr("Recently deleted ({count})", count=count))

    @property
    def searching(self) -> bool:
        return bool(self.field.text().strip())

    def titles(self) -> list[str]:
        """Return the titles of the listed chats, without headings and folders."""
        return [row.text for row in self.list.rows.rows if row.kind == "chat"]

    def ids(self) -> list[str]:
        """Return the ids of the listed chats; chats in collapsed folders are not listed."""
        return [row.id for row in self.list.rows.rows if row.kind == "chat"]

    # --- what the user does -----------------------------------------------------------------------------------------

    def focus_search(self) -> None:
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def leave_search(self) -> bool:
        """End the search and show the chats again; return False if no search is shown."""
        if not self.searching:
            return False
        self.field.clear()
        self.list.setFocus()
        return True

    def rename(self, id: str) -> None:
        """Let the user edit the name of this chat or folder in the list."""
        self.leave_search()
        self.list.rename(id)

    def event(self, event: QEvent) -> bool:
        wanted = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and self.searching
        if event.type() == QEvent.Type.ShortcutOverride and wanted:
            event.accept()  # Esc leaves the search before it stops an answer
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle keys that the field and the lists ignore.

        Up and Down move the focus between the field and the hits, Esc ends the search.
        """
        if event.key() == Qt.Key.Key_Down and self.field.hasFocus():
            self.hits.setFocus()
        elif event.key() == Qt.Key.Key_Up and self.hits.hasFocus():
            self.field.setFocus()
        elif event.key() != Qt.Key.Key_Escape or not self.leave_search():
            super().keyPressEvent(event)

    # --- words and looks --------------------------------------------------------------------------------------------

    def restyle(self) -> None:
        self.setFixedWidth(SIZES.sidebar)
        self.new_button.setIcon(icon("new", theme().accent))
        self.new_button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.bin_button.setIcon(icon("bin", theme().soft))

    def retranslate(self) -> None:
        self.new_button.setText(tr("New chat"))
        self.new_button.setToolTip(with_keys(tr("New chat"), "new_chat"))
        self.show_bin(self._in_bin)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _search_changed(self, text: str) -> None:
        if not text.strip():
            self._show_page()

    def _show_page(self) -> None:
        if self.searching:
            self._stack.setCurrentWidget(self.hits if self.hits.hits.hits else self.nothing)
        else:
            self._stack.setCurrentWidget(self.list if self.list.rows.rows else self.empty)

    def _layout(self) -> None:
        self._stack = QStackedLayout()
        for page in (self.list, self.empty, self.hits, self.nothing):
            self._stack.addWidget(page)
        for message in (self.empty, self.nothing):
            message.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        margins = (SIZES.gap, 0, SIZES.gap, 0)
        top = fill(QVBoxLayout(), self.new_button, self.field, gap=SIZES.gap, margins=margins)
        foot = fill(QVBoxLayout(), (self.bin_button, Qt.AlignmentFlag.AlignLeft), self.task, margins=margins)
        fill(QVBoxLayout(self), top, self._stack, foot, gap=SIZES.gap, margins=(0, SIZES.gap, 1, SIZES.gap))
