"""View of the chat list: selects many rows, renames in place, accepts drags into folders, has context menus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from PySide6.QtCore import QItemSelection, QItemSelectionRange, QModelIndex, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QAction, QColor, QKeyEvent, QKeySequence, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QApplication,
    QFrame,
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)  # fmt: skip

from app.commands.commands import focus_action, keys_in
from app.look.live import Live
from app.look.theme import SIZES, theme
from app.sidebar.chat_rows import INDENT, MARK, ChatModel, Index, Row
from app.words import tr, tr_n


@dataclass(frozen=True, slots=True)
class MenuAction:
    """Action of a menu's entry, with the arguments of `ChatModel.action_requested`.

    The action `edit_name`, which lets the user rename in place, is done by the list itself.
    """

    name: str
    ids: list[str]
    value: object = None


def _add(menu: QMenu, words: str, menu_action: MenuAction, keys: Sequence[str] = ()) -> None:
    """Append an entry with a MenuAction as its data; `keys` are only shown, because the list handles them itself."""
    action = menu.addAction(words)
    action.setData(menu_action)
    action.setShortcuts([QKeySequence(key) for key in keys])


def chat_menu(parent: QWidget, row: Row, rows: Sequence[Row], folders: Sequence[Row]) -> QMenu:
    """Return the context menu of the selected chats `rows`; `row` is the one that was clicked."""
    menu, ids = QMenu(parent), [each.id for each in rows]
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if len(ids) == 1:
        _add(menu, tr("Rename"), MenuAction("edit_name", ids), keys_in("list", "rename"))
        _add(menu, tr("Use first line as title"), MenuAction("first_line", ids))
    _add(menu, tr("Unpin") if row.pinned else tr("Pin"), MenuAction("unpin" if row.pinned else "pin", ids))
    folders_menu = menu.addMenu(tr("Move to folder"))
    for folder in folders:
        _add(folders_menu, folder.text.replace("&", "&&"), MenuAction("move", ids, folder.id))
    if folders:
        folders_menu.addSeparator()
    _add(folders_menu, tr("New folder…"), MenuAction("new_folder", ids))
    if any(each.folder_id is not None for each in rows):
        _add(menu, tr("Remove from folder"), MenuAction("move", ids))
    menu.addSeparator()
    _add(menu, tr("Export…"), MenuAction("export", ids))
    menu.addSeparator()
    _add(menu, tr_n("Delete", "Delete {n} chats", len(ids)), MenuAction("delete", ids), keys_in("list", "delete"))
    return menu


def folder_menu(parent: QWidget, row: Row) -> QMenu:
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    _add(menu, tr("New chat here"), MenuAction("new_chat_in", [row.id]))
    _add(menu, tr("Project…"), MenuAction("project", [row.id]))
    menu.addSeparator()
    _add(menu, tr("Export…"), MenuAction("export_folder", [row.id]))
    menu.addSeparator()
    _add(menu, tr("Rename"), MenuAction("edit_name", [row.id]), keys_in("list", "rename"))
    _add(menu, tr("Delete folder, keep its chats"), MenuAction("delete_folder", [row.id]), keys_in("list", "delete"))
    return menu


class RowDelegate(QStyledItemDelegate):
    """Painter of a row with its indent and its mark; also names the field for a new name, for screen readers."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        moved, mark = self._moved(option, index), index.data(MARK)
        if not mark:
            super().paint(painter, moved, index)
            return
        drawn = QStyleOptionViewItem(moved)
        self.initStyleOption(drawn, index)
        room = drawn.rect.width() - 2 * SIZES.gap_l - SIZES.icon * (2 if not drawn.icon.isNull() else 1)
        drawn.text = drawn.fontMetrics.elidedText(drawn.text, Qt.TextElideMode.ElideRight, room)
        widget = option.widget
        widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, drawn, painter, widget)
        _draw_mark(painter, QRectF(moved.rect), mark)

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


def _draw_mark(painter: QPainter, row: QRectF, mark: str) -> None:
    """Draw three dots at the row's right end for an answer that is being written, one for an answer not seen yet."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme().accent))
    centre, size = QPointF(row.right() - SIZES.gap_l, row.center().y()), SIZES.caret / 2
    for by in (-1, 0, 1) if mark == "busy" else ():
        painter.drawEllipse(centre + QPointF(by * 1.5 * size, 0), size / 2, size / 2)
    if mark == "unread":
        painter.drawEllipse(centre, size, size)
    painter.restore()


class ChatList(Live, QListView):
    """List of chats and folders; `action_requested` is that of its model.

    F2 renames, Delete deletes; Enter, Left and Right collapse and expand a folder.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = ChatModel()
        self.action_requested = self.rows.action_requested
        self._folders: Sequence[Row] = ()
        self._postponed: tuple[Sequence[Row], str] | None = None
        self._selecting_itself = False
        self._open_id = ""  # the id of the open chat
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
        self.selectionModel().selectionChanged.connect(self._selection_changed)
        self.clicked.connect(self._clicked)
        self.customContextMenuRequested.connect(self._show_menu)
        self.apply_look()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Chats"))
        self.viewport().update()  # repaint the headings in the new language

    def restyle(self) -> None:
        self.doItemsLayout()

    def show_chats(self, rows: Sequence[Row], folders: Sequence[Row], current: str) -> None:
        """List the rows; `folders` are all folders, `current` is the id of the open chat."""
        self._folders = folders
        self._show_rows(rows, current)

    def _show_rows(self, rows: Sequence[Row], current: str) -> None:
        """Show the rows and keep the selection and the scroll position; wait while a name is being edited."""
        if self.state() == QAbstractItemView.State.EditingState:
            self._postponed = (rows, current)
            return
        listed, at = {row.id for row in rows}, self.verticalScrollBar().value()
        chosen, self._open_id = [id for id in self.selected_chats() if id in listed], current
        focus = self.current_row()
        self._selecting_itself = True
        self.rows.show_rows(rows)
        self.select(chosen if len(chosen) > 1 else [current], focus.id if focus and focus.kind == "folder" else current)
        self._selecting_itself = False
        self.verticalScrollBar().setValue(at)

    def select(self, ids: Sequence[str], current: str) -> None:
        """Select only the chats `ids`, and give the focus to the chat or folder `current`."""
        model, wanted, chosen = self.selectionModel(), set(ids), QItemSelection()
        for selected, span in groupby(enumerate(self.rows.rows), lambda pair: pair[1].id in wanted):
            numbers = [number for number, _ in span] if selected else []
            if numbers:
                chosen.append(QItemSelectionRange(self.rows.index(numbers[0]), self.rows.index(numbers[-1])))
        current_number = next(
            (number for number, row in enumerate(self.rows.rows) if row.id and row.id == current), None
        )
        if current_number is not None:
            model.setCurrentIndex(self.rows.index(current_number), model.SelectionFlag.NoUpdate)
        model.select(chosen, model.SelectionFlag.ClearAndSelect)

    def selected_chats(self) -> list[str]:
        """Return the ids of the selected chats, in the order of the list."""
        return [row.id for row in self.selected_rows()]

    def selected_rows(self) -> list[Row]:
        """Return the selected rows of chats, in the order of the list."""
        selection = self.selectionModel().selection()
        spans = sorted((span.top(), span.bottom()) for span in map(selection.at, range(selection.size())))
        rows = (row for first, last in spans for row in self.rows.rows[first : last + 1])
        return [row for row in rows if row.kind == "chat"]

    def current_row(self) -> Row | None:
        return self.row_at(self.currentIndex())

    def row_at(self, index: Index) -> Row | None:
        return self.rows.rows[index.row()] if index.isValid() else None

    def rename(self, id: str) -> None:
        """Let the user edit the name of this chat or folder in place."""
        for number, row in enumerate(self.rows.rows):
            if row.id == id:
                self.edit(self.rows.index(number))
                return

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row, name = self.current_row(), focus_action(event, "list")
        folder = row if row is not None and row.kind == "folder" else None
        if name == "delete":
            self._delete(folder)
        elif folder is not None and (name == "open" or event.key() == Qt.Key.Key_Space):
            self.action_requested.emit("fold", [folder.id], not folder.folded)
        elif folder is not None and name in ("fold", "unfold"):
            self.action_requested.emit("fold", [folder.id], name == "fold")
        elif row is not None and name == "open":
            self.action_requested.emit("open", [row.id], None)
        else:
            super().keyPressEvent(event)

    def _delete(self, folder: Row | None) -> None:
        """Request the deletion of the selected chats; if there are none, of the folder with the focus."""
        chosen = self.selected_chats()
        if chosen:
            self.action_requested.emit("delete", chosen, None)
        elif folder is not None:
            self.action_requested.emit("delete_folder", [folder.id], None)

    def _show_menu(self, at: QPoint) -> None:
        row = self.row_at(self.indexAt(at))
        if row is None or row.kind == "heading":
            return
        if row.kind == "folder":
            menu = folder_menu(self, row)
        else:
            chosen = self.selected_rows()
            rows = chosen if row.id in [each.id for each in chosen] else [row]
            menu = chat_menu(self, row, rows, self._folders)
        menu.triggered.connect(self._menu_triggered)
        menu.popup(self.viewport().mapToGlobal(at))

    def _menu_triggered(self, action: QAction) -> None:
        """Request the action of the triggered menu entry."""
        menu_action: MenuAction = action.data()
        if menu_action.name == "edit_name":
            self.rename(menu_action.ids[0])
        else:
            self.action_requested.emit(menu_action.name, menu_action.ids, menu_action.value)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.RightButton:  # it opens the menu and must not open the chat
            return
        if self.indexAt(event.position().toPoint()).isValid():
            super().mousePressEvent(event)
        else:  # beside the chats: deselect all of them but the open one
            self._selecting_itself = True
            self.select([self._open_id], self._open_id)
            self._selecting_itself = False

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        super().closeEditor(editor, hint)
        postponed, self._postponed = self._postponed, None
        if postponed is not None:
            self._show_rows(*postponed)

    def _clicked(self, index: QModelIndex) -> None:
        row = self.row_at(index)
        if row is not None and row.kind == "folder" and not _choosing_many():
            self.action_requested.emit("fold", [row.id], not row.folded)

    def _selection_changed(self) -> None:
        row = self.current_row()
        chosen = self.selected_chats()
        if not self._selecting_itself and not _choosing_many() and row is not None and chosen == [row.id]:
            self.action_requested.emit("open", [row.id], None)


def _choosing_many() -> bool:
    held = QApplication.keyboardModifiers()
    return bool(held & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier))
