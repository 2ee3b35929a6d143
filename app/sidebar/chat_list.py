"""The list of chats as a view on rows: selects many, renames in place, takes drags into folders, has their menus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from PySide6.QtCore import QItemSelection, QItemSelectionRange, QModelIndex, QPoint, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QApplication,
    QFrame,
    QListView,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)  # fmt: skip

from app.commands.commands import keys_in, meant
from app.look.live import Live
from app.look.theme import SIZES
from app.sidebar.chat_rows import INDENT, ChatModel, Index, Row
from app.words import tr, tr_n


@dataclass(frozen=True, slots=True)
class Verb:
    """What an action's `data` says: what is to be done, with which chats or folder, and what else there is to say; as
    ChatModel's `asked`. `edit_name` lets the user type another name in place."""

    name: str
    ids: list[str]
    value: object = None


class _Menu(QMenu):
    """`triggered` carries an action with a Verb."""

    def offer(self, words: str, verb: Verb, keys: Sequence[str] = ()) -> None:
        """The list itself hears the keys."""
        action = self.addAction(words)
        action.setData(verb)
        action.setShortcuts([QKeySequence(key) for key in keys])


def chat_menu(parent: QWidget, row: Row, rows: Sequence[Row], folders: Sequence[Row]) -> QMenu:
    """The menu of the chats `rows`, `row` being the one that was clicked."""
    menu, ids = _Menu(parent), [each.id for each in rows]
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if len(ids) == 1:
        menu.offer(tr("Rename"), Verb("edit_name", ids), keys_in("list", "rename"))
    menu.offer(tr("Unpin") if row.pinned else tr("Pin"), Verb("unpin" if row.pinned else "pin", ids))
    into = _Menu(menu)
    into.setTitle(tr("Move to folder"))
    menu.addMenu(into)
    for folder in folders:
        into.offer(folder.text.replace("&", "&&"), Verb("move", ids, folder.id))
    if folders:
        into.addSeparator()
    into.offer(tr("New folder…"), Verb("new_folder", ids))
    if any(each.folder_id is not None for each in rows):
        menu.offer(tr("Remove from folder"), Verb("move", ids))
    menu.addSeparator()
    menu.offer(tr("Export…"), Verb("export", ids))
    menu.addSeparator()
    menu.offer(tr_n("Delete", "Delete {n} chats", len(ids)), Verb("delete", ids), keys_in("list", "delete"))
    return menu


def folder_menu(parent: QWidget, row: Row) -> QMenu:
    menu = _Menu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.offer(tr("Rename"), Verb("edit_name", [row.id]), keys_in("list", "rename"))
    menu.offer(tr("Delete folder, keep its chats"), Verb("delete_folder", [row.id]), keys_in("list", "delete"))
    return menu


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
