"""The menus of a chat, of several chats and of a folder in the list. What they ask for is done elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.sidebar.chat_rows import Row
from app.words import tr, tr_n

Ask = Callable[[str, list[str], object], object]  # what is asked for, of which chats, and a folder's id


def chat_menu(parent: QWidget, row: Row, rows: Sequence[Row], folders: Sequence[Row], ask: Ask) -> QMenu:
    """The menu of the chats `rows`, `row` being the one that was clicked."""
    menu, ids = _menu(parent), [each.id for each in rows]
    many = len(ids) > 1
    if not many:
        _add(menu, tr("Rename"), lambda: ask("rename", ids, None))
    _add(menu, tr("Unpin") if row.pinned else tr("Pin"), lambda: ask("unpin" if row.pinned else "pin", ids, None))
    into = menu.addMenu(tr("Move to folder"))
    for folder in folders:
        title = folder.text.replace("&", "&&")
        _add(into, title, lambda id=folder.id: ask("move", ids, id))  # type: ignore[misc]
    if folders:
        into.addSeparator()
    _add(into, tr("New folder…"), lambda: ask("new_folder", ids, None))
    if any(each.folder_id is not None for each in rows):
        _add(menu, tr("Remove from folder"), lambda: ask("move", ids, None))
    menu.addSeparator()
    _add(menu, tr("Export…"), lambda: ask("export", ids, None))
    menu.addSeparator()
    _add(menu, tr_n("Delete", "Delete {n} chats", len(ids)), lambda: ask("delete", ids, None))
    return menu


def folder_menu(parent: QWidget, row: Row, ask: Ask) -> QMenu:
    menu = _menu(parent)
    _add(menu, tr("Rename"), lambda: ask("rename_folder", [], row.id))
    _add(menu, tr("Delete folder, keep its chats"), lambda: ask("delete_folder", [], row.id))
    return menu


def _menu(parent: QWidget) -> QMenu:
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return menu


def _add(menu: QMenu, text: str, work: Callable[[], object]) -> None:
    action = QAction(text, menu)
    action.triggered.connect(lambda: work())
    menu.addAction(action)
