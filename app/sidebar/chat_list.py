"""The list of chats as a view on rows: selects many, renames in place, takes drags into folders, has their menus."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QItemSelection,
    QItemSelectionRange,
    QMimeData,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    Qt,
    Signal,
)  # fmt: skip
from PySide6.QtGui import QAction, QFont, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QApplication,
    QFrame,
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)  # fmt: skip

from app.commands.commands import meant
from app.look.icons import icon
from app.look.live import Live
from app.look.theme import SIZES, theme
from app.sidebar.chat_menu import Verb, chat_menu, folder_menu
from app.sidebar.chat_rows import Row
from app.words import tr, tr_n

MIME = "application/x-chickadee-chats"
INDENT = Qt.ItemDataRole.UserRole + 1
Index = QModelIndex | QPersistentModelIndex
Flag = Qt.ItemFlag


class ChatModel(QAbstractListModel):
    """`rows` as Qt asks for them. `asked` carries what is to be done, the ids of chats or of one folder, and what else
    there is to say of it:

    `open`, `delete`, `export`, `pin`, `unpin` and `new_folder` nothing; `move` the folder's id, None for none;
    `rename` and `rename_folder` the new name; `fold` True to fold, False to unfold; `delete_folder` nothing."""

    asked = Signal(str, list, object)

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[Row] = []

    def show(self, rows: Sequence[Row]) -> tuple[int, int]:
        """Put `rows` in place of those there are. Returns the first and the one after the last that are not as before:
        in thousands of chats, only what has changed is taken out and put in."""
        old, most = self.rows, min(len(self.rows), len(rows))
        head = next((at for at in range(most) if old[at] != rows[at]), most)
        tail = next((at for at in range(most - head) if old[-1 - at] != rows[-1 - at]), most - head)
        if len(old) > head + tail:
            self.beginRemoveRows(QModelIndex(), head, len(old) - tail - 1)
            self.rows = [*old[:head], *old[len(old) - tail :]]
            self.endRemoveRows()
        if len(rows) > head + tail:
            self.beginInsertRows(QModelIndex(), head, len(rows) - tail - 1)
            self.rows = list(rows)
            self.endInsertRows()
        return head, len(rows) - tail

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.rows[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return tr(row.text) if row.kind == "heading" else row.text
        if role == Qt.ItemDataRole.ToolTipRole and row.kind == "chat":
            return row.text.replace("&", "&amp;").replace("<", "&lt;")
        if role == Qt.ItemDataRole.AccessibleTextRole and row.kind == "folder":
            return _spoken(row)
        if role == Qt.ItemDataRole.DecorationRole and row.kind == "folder":
            return icon("right" if row.folded else "chevron", theme().soft)
        if role == Qt.ItemDataRole.FontRole:
            return _font(row)
        return row.indent if role == INDENT else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.EditRole and str(value) != row.text:
            self.asked.emit("rename_folder" if row.kind == "folder" else "rename", [row.id], str(value))
        return False  # the list is shown again when the name is stored

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid() or self.rows[index.row()].kind == "heading":
            return Flag.ItemIsDropEnabled
        both = Flag.ItemIsEnabled | Flag.ItemIsSelectable | Flag.ItemIsEditable | Flag.ItemIsDropEnabled
        return both | Flag.ItemIsDragEnabled if self.rows[index.row()].kind == "chat" else both

    def mimeTypes(self) -> list[str]:
        return [MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        data = QMimeData()
        ids = [self.rows[index.row()].id for index in indexes if self.rows[index.row()].kind == "chat"]
        data.setData(MIME, "\n".join(ids).encode())
        return data

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def canDropMimeData(self, data: QMimeData, _action: Qt.DropAction, _row: int, _column: int, _at: Index) -> bool:
        return data.hasFormat(MIME)

    def dropMimeData(self, data: QMimeData, _action: Qt.DropAction, row: int, _column: int, at: Index) -> bool:
        place = at.row() if at.isValid() else row
        folder_id = self.rows[place].folder_id if 0 <= place < len(self.rows) else None
        self.asked.emit("move", bytes(data.data(MIME).data()).decode().split("\n"), folder_id)
        return False  # nothing is taken out of the list here


class RowDelegate(QStyledItemDelegate):
    """Knows how far a row is set in, and what the field is called in which it is renamed."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, self._moved(option, index), index)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = super().createEditor(parent, option, index)
        editor.setAccessibleName(tr("New name"))
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        super().updateEditorGeometry(editor, self._moved(option, index), index)

    def _moved(self, option: QStyleOptionViewItem, index: Index) -> QStyleOptionViewItem:
        moved = QStyleOptionViewItem(option)
        moved.rect.setLeft(moved.rect.left() + (index.data(INDENT) or 0) * SIZES.gap_l)
        return moved


class ChatList(Live, QListView):
    """`asked` is that of its model.

    F2 renames, Delete deletes, Enter, Left and Right fold a folder.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = ChatModel()
        self.asked = self.rows.asked
        self._folders: Sequence[Row] = ()
        self._waiting: tuple[Sequence[Row], str] | None = None
        self._filling = False
        self._open = ""  # the id of the open chat
        self.setObjectName("chats")
        self.setModel(self.rows)
        self.setItemDelegate(RowDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setUniformItemSizes(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.selectionModel().selectionChanged.connect(self._chosen)
        self.clicked.connect(self._clicked)
        self.customContextMenuRequested.connect(self._menu)
        self.apply_look()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Chats"))
        self.viewport().update()  # the days have names in the user's language

    def restyle(self) -> None:
        self.doItemsLayout()

    def show_chats(self, rows: Sequence[Row], folders: Sequence[Row], current: str) -> None:
        """List the rows; `folders` are all there are, `current` is the id of the chat that is open."""
        self._folders = folders
        self._show_rows(rows, current)

    def _show_rows(self, rows: Sequence[Row], current: str) -> None:
        """The selection and the place stay. A name that is being typed is waited for."""
        if self.state() == QAbstractItemView.State.EditingState:
            self._waiting = (rows, current)
            return
        listed, at = {row.id for row in rows}, self.verticalScrollBar().value()
        chosen, self._open = [id for id in self.selected_chats() if id in listed], current
        focus = self.current_row()
        self._filling = True
        self.rows.show(rows)
        self.select(chosen if len(chosen) > 1 else [current], focus.id if focus and focus.kind == "folder" else current)
        self._filling = False
        self.verticalScrollBar().setValue(at)

    def select(self, ids: Sequence[str], current: str) -> None:
        """Select the chats `ids` and nothing else; `current` is the chat or folder with the focus."""
        model, wanted, chosen = self.selectionModel(), set(ids), QItemSelection()
        for selected, span in groupby(enumerate(self.rows.rows), lambda pair: pair[1].id in wanted):
            numbers = [number for number, _ in span] if selected else []
            if numbers:
                chosen.append(QItemSelectionRange(self.rows.index(numbers[0]), self.rows.index(numbers[-1])))
        at = next((number for number, row in enumerate(self.rows.rows) if row.id and row.id == current), None)
        if at is not None:
            model.setCurrentIndex(self.rows.index(at), model.SelectionFlag.NoUpdate)
        model.select(chosen, model.SelectionFlag.ClearAndSelect)

    def selected_chats(self) -> list[str]:
        """The ids of the selected chats, in the order of the list."""
        return [row.id for row in self.selected_rows()]

    def selected_rows(self) -> list[Row]:
        """Those of chats, in their order."""
        selection = self.selectionModel().selection()
        spans = sorted((span.top(), span.bottom()) for span in map(selection.at, range(selection.size())))
        rows = (row for first, last in spans for row in self.rows.rows[first : last + 1])
        return [row for row in rows if row.kind == "chat"]

    def current_row(self) -> Row | None:
        return self.row_at(self.currentIndex())

    def row_at(self, index: Index) -> Row | None:
        return self.rows.rows[index.row()] if index.isValid() else None

    def rename(self, id: str) -> None:
        """Let the user type another name in place."""
        for number, row in enumerate(self.rows.rows):
            if row.id == id:
                self.edit(self.rows.index(number))
                return

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row, name = self.current_row(), meant(event, "list")
        folder = row if row is not None and row.kind == "folder" else None
        if name == "delete":
            self._delete(folder)
        elif folder is not None and (name == "open" or event.key() == Qt.Key.Key_Space):
            self.asked.emit("fold", [folder.id], not folder.folded)
        elif folder is not None and name in ("fold", "unfold"):
            self.asked.emit("fold", [folder.id], name == "fold")
        elif row is not None and name == "open":
            self.asked.emit("open", [row.id], None)
        else:
            super().keyPressEvent(event)

    def _delete(self, folder: Row | None) -> None:
        """The selected chats; the folder that has the focus, where there are none."""
        chosen = self.selected_chats()
        if chosen:
            self.asked.emit("delete", chosen, None)
        elif folder is not None:
            self.asked.emit("delete_folder", [folder.id], None)

    def _menu(self, at: QPoint) -> None:
        row = self.row_at(self.indexAt(at))
        if row is None or row.kind == "heading":
            return
        if row.kind == "folder":
            menu = folder_menu(self, row)
        else:
            chosen = self.selected_rows()
            rows = chosen if row.id in [each.id for each in chosen] else [row]
            menu = chat_menu(self, row, rows, self._folders)
        menu.triggered.connect(self._ask)
        menu.popup(self.viewport().mapToGlobal(at))

    def _ask(self, action: QAction) -> None:
        """For what an entry of the menus says."""
        verb: Verb = action.data()
        if verb.name == "edit_name":
            self.rename(verb.ids[0])
        else:
            self.asked.emit(verb.name, verb.ids, verb.value)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.RightButton:  # a menu is asked for, no chat
            return
        if self.indexAt(event.position().toPoint()).isValid():
            super().mousePressEvent(event)
        else:  # beside the chats: none of many, but the open one stays marked
            self._filling = True
            self.select([self._open], self._open)
            self._filling = False

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        super().closeEditor(editor, hint)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._show_rows(*waiting)

    def _clicked(self, index: QModelIndex) -> None:
        row = self.row_at(index)
        if row is not None and row.kind == "folder" and not _choosing_many():
            self.asked.emit("fold", [row.id], not row.folded)

    def _chosen(self) -> None:
        row = self.current_row()
        chosen = self.selected_chats()
        if not self._filling and not _choosing_many() and row is not None and chosen == [row.id]:
            self.asked.emit("open", [row.id], None)


def _choosing_many() -> bool:
    held = QApplication.keyboardModifiers()
    return bool(held & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier))


def _spoken(row: Row) -> str:
    chats = tr_n("{n} chat", "{n} chats", row.chats)
    if row.folded:
        return tr("Folder {name}, {chats}, collapsed", name=row.text, chats=chats)
    return tr("Folder {name}, {chats}", name=row.text, chats=chats)


def _font(row: Row) -> QFont | None:
    if row.kind != "heading":
        return None
    font = QFont(QApplication.font())
    font.setPixelSize(SIZES.small)
    return font
