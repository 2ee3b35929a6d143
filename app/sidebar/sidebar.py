"""New chat, the search field, and below them the list of chats or what was found. Knows only what it is shown."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QLineEdit,
    QPushButton,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.commands.command_set import with_keys
from app.look.icons import icon
from app.look.theme import SIZES, theme
from app.sidebar.chat_list import ChatList
from app.sidebar.chat_menu import chat_menu, folder_menu
from app.sidebar.chat_rows import Row
from app.sidebar.hit_list import HitList
from app.sidebar.task_line import TaskLine
from app.store.search import Hit
from app.words import tr


class SearchField(QLineEdit):
    """`down` asks to go on to what was found, `enter` to open the first of it."""

    down = Signal()
    enter = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("search")
        self._clear = QToolButton(self)  # not an action of the line: Qt puts its icon below the middle of a styled one
        self._clear.setProperty("kind", "small")
        self._clear.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Esc does the same
        self._clear.setCursor(Qt.CursorShape.ArrowCursor)
        self._clear.clicked.connect(self.clear)
        self._clear.hide()
        self.textChanged.connect(lambda text: self._clear.setVisible(bool(text)))

    def restyle(self) -> None:
        self._clear.setIcon(icon("close", theme().soft))
        self._clear.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.setTextMargins(0, 0, SIZES.button, 0)
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        size = self._clear.sizeHint()
        self._clear.resize(size)
        self._clear.move(self.width() - size.width() - SIZES.gap_s, (self.height() - size.height()) // 2)

    def retranslate(self) -> None:
        self.setPlaceholderText(tr("Search chats"))
        self.setAccessibleName(tr("Search chats"))
        self.setToolTip(with_keys(tr("Search chats"), "find"))
        self._clear.setAccessibleName(tr("Clear search"))
        self._clear.setToolTip(tr("Clear search"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self.down.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.enter.emit()
        else:
            super().keyPressEvent(event)


class Sidebar(QFrame):
    """Signals carry ids of chats; `asked` carries what is to be done with which chats, by the names in chat_menu."""

    opened = Signal(str)
    deleted = Signal(list)
    renamed = Signal(object, str)
    moved = Signal(list, object)
    fold = Signal(str, bool)
    asked = Signal(str, list, object)
    looked = Signal(str)
    hit = Signal(object)
    bin = Signal()
    new = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.new_button = QPushButton(self)
        self.new_button.setProperty("kind", "new")
        self.new_button.clicked.connect(self.new)
        self.field = SearchField(self)
        self.list = ChatList(self)
        self.hits = HitList(self)
        self.empty = self._words()
        self.nothing = self._words()
        self.bin_button = QPushButton(self)
        self.bin_button.setProperty("kind", "quiet")
        self.bin_button.clicked.connect(self.bin)
        self.bin_button.hide()
        self.task = TaskLine(self)
        self._folders: Sequence[Row] = ()
        self._in_bin = 0
        self._layout()
        self._connect()
        self.restyle()
        self.retranslate()

    # --- what is shown ----------------------------------------------------------------------------------------------

    def show_chats(self, rows: Sequence[Row], folders: Sequence[Row], current: str) -> None:
        """List the rows; `folders` are all there are, `current` is the id of the chat that is open."""
        self._folders = folders
        self.list.show_rows(rows, current)
        self._show_page()

    def show_hits(self, hits: Sequence[Hit]) -> None:
        """What was found for the words in the field."""
        self.hits.show_hits(hits)
        self._show_page()

    def show_bin(self, count: int) -> None:
        """So many chats can be restored."""
        self._in_bin = count
        self.bin_button.setVisible(bool(count))
        self.bin_button.setText(tr("Recently deleted ({count})", count=count))

    @property
    def searching(self) -> bool:
        return bool(self.field.text().strip())

    def titles(self) -> list[str]:
        """What the list shows, without days and folders."""
        return [row.text for row in self.list.rows.rows if row.kind == "chat"]

    def ids(self) -> list[str]:
        """The chats of `titles`, without those in folded folders."""
        return [row.id for row in self.list.rows.rows if row.kind == "chat"]

    # --- what the user does -----------------------------------------------------------------------------------------

    def focus_search(self) -> None:
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def leave_search(self) -> bool:
        """Show the chats again; False if no search is shown."""
        if not self.searching:
            return False
        self.field.clear()
        self.list.setFocus()
        return True

    def rename(self, id: str) -> None:
        """Let the user type another name for the chat or folder in place."""
        self.leave_search()
        self.list.rename(id)

    def event(self, event: QEvent) -> bool:
        wanted = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and self.searching
        if event.type() == QEvent.Type.ShortcutOverride and wanted:
            event.accept()  # Esc leaves the search before it stops an answer
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Escape or not self.leave_search():
            super().keyPressEvent(event)

    # --- words and looks --------------------------------------------------------------------------------------------

    def restyle(self) -> None:
        self.setFixedWidth(SIZES.sidebar)
        self.new_button.setIcon(icon("new", theme().accent))
        self.new_button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.bin_button.setIcon(icon("bin", theme().soft))
        self.field.restyle()
        self.task.restyle()
        self.list.reset_look()
        self.hits.doItemsLayout()

    def retranslate(self) -> None:
        self.new_button.setText(tr("New chat"))
        self.new_button.setToolTip(with_keys(tr("New chat"), "new_chat"))
        self.field.retranslate()
        self.empty.setText(tr("Your chats appear here."))
        self.nothing.setText(tr("No results"))
        self.list.retranslate()
        self.hits.retranslate()
        self.task.retranslate()
        self.show_bin(self._in_bin)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        self.list.opened.connect(self.opened)
        self.list.fold.connect(self.fold)
        self.list.delete.connect(self._delete)
        self.list.customContextMenuRequested.connect(self._menu)
        self.list.rows.renamed.connect(self.renamed)
        self.list.rows.moved.connect(self.moved)
        self.field.textChanged.connect(self._look)
        self.field.down.connect(self.hits.setFocus)
        self.field.enter.connect(self.hits.open)
        self.hits.opened.connect(self.hit)
        self.hits.left.connect(self.field.setFocus)

    def _look(self, text: str) -> None:
        self.looked.emit(text)
        if not text.strip():
            self._show_page()

    def _show_page(self) -> None:
        if self.searching:
            self._stack.setCurrentWidget(self.hits if self.hits.hits.hits else self.nothing)
        else:
            self._stack.setCurrentWidget(self.list if self.list.rows.rows else self.empty)

    def _delete(self) -> None:
        row, chosen = self.list.current_row(), self.list.selected_chats()
        if chosen:
            self.deleted.emit(chosen)
        elif row is not None and row.kind == "folder":
            self.asked.emit("delete_folder", [], row.id)

    def _menu(self, at: QPoint) -> None:
        row = self.list.row_at(self.list.indexAt(at))
        if row is None or row.kind == "heading":
            return
        if row.kind == "folder":
            menu = folder_menu(self, row, self.asked.emit)
        else:
            chosen = self.list.selected_rows()
            rows = chosen if row.id in [each.id for each in chosen] else [row]
            menu = chat_menu(self, row, rows, self._folders, self.asked.emit)
        menu.popup(self.list.viewport().mapToGlobal(at))

    def _words(self) -> QLabel:
        label = QLabel(self)
        label.setObjectName("empty")
        label.setWordWrap(True)
        label.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        return label

    def _layout(self) -> None:
        self._stack = QStackedLayout()
        for page in (self.list, self.empty, self.hits, self.nothing):
            self._stack.addWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, SIZES.gap, 1, SIZES.gap)
        layout.setSpacing(SIZES.gap)
        top = QVBoxLayout()
        top.setContentsMargins(SIZES.gap, 0, SIZES.gap, 0)
        top.setSpacing(SIZES.gap)
        top.addWidget(self.new_button)
        top.addWidget(self.field)
        foot = QVBoxLayout()
        foot.setContentsMargins(SIZES.gap, 0, SIZES.gap, 0)
        foot.addWidget(self.bin_button, 0, Qt.AlignmentFlag.AlignLeft)
        foot.addWidget(self.task)
        layout.addLayout(top)
        layout.addLayout(self._stack)
        layout.addLayout(foot)
