"""What can be done with a chat, several chats or a folder in the list, as the entries of their menus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from app.commands.commands import keys_in
from app.sidebar.chat_rows import Row
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
