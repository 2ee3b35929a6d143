"""Rows of the chat list: pinned chats, folders, days; and the Qt model of these rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from PySide6.QtCore import QAbstractListModel, QMimeData, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QFont

from app.look.theme import SIZES, font_of, icon, theme
from app.store.chat import Chat, Folder, days_of, group_of
from app.words import escaped_html, mark, tr, tr_n

MIME = "application/x-chickadee-chats"
INDENT, MARK = Qt.ItemDataRole.UserRole + 1, Qt.ItemDataRole.UserRole + 2
Index = QModelIndex | QPersistentModelIndex
Flag = Qt.ItemFlag
PINNED = mark("Pinned")
TEMPORARY = mark("Temporary")
NOTHING: frozenset[str] = frozenset()
MONTHS = (
    mark("January"), mark("February"), mark("March"), mark("April"), mark("May"), mark("June"), mark("July"),
    mark("August"), mark("September"), mark("October"), mark("November"), mark("December"),
)  # fmt: skip


class Row(NamedTuple):  # each change creates thousands; a dataclass takes three times as long
    """Row of the chat list: a heading, a folder or a chat.

    A heading's `text` is marked for translation, or a month as 2026-11: `heading_words` says it in the language of the
    moment. `id` is the chat's or the folder's; `folder_id` is the folder that receives a chat dropped on the row, None
    for no folder. `chats` is the number of chats in a folder; `indent` the number of levels that the row is indented.
    `busy` says that an answer is being written or waited for, `unread` that one ended unseen; a collapsed folder has
    the marks of its chats.
    """

    kind: Literal["heading", "folder", "chat"]
    text: str
    id: str = ""
    folder_id: str | None = None
    indent: int = 0
    folded: bool = False
    chats: int = 0
    pinned: bool = False
    busy: bool = False
    unread: bool = False


def rows_of(
    chats: Iterable[Chat],
    folders: Sequence[Folder],
    now: float,
    busy: frozenset[str] = NOTHING,
    temporary: frozenset[str] = NOTHING,
) -> list[Row]:
    """Return the rows for `chats`, which come the latest first; a chat in a collapsed folder has none.

    `busy` and `temporary` are the ids of chats that are being answered, and of those that are never stored.
    """
    fleeting = [_row(chat, busy) for chat in chats if chat.id in temporary]
    chats = [chat for chat in chats if chat.id not in temporary]
    pinned = sorted((chat for chat in chats if chat.pinned_at), key=lambda chat: -(chat.pinned_at or 0))
    known = {folder.id for folder in folders}
    inside: dict[str, list[Chat]] = {folder.id: [] for folder in folders}
    loose: list[Chat] = []
    for chat in chats:
        if chat.pinned_at:
            continue
        if chat.folder_id in known:
            inside[chat.folder_id or ""].append(chat)
        else:
            loose.append(chat)
    rows = [Row("heading", TEMPORARY), *fleeting] if fleeting else []
    rows += [Row("heading", PINNED)] if pinned else []
    rows += [_row(chat, busy, pinned=True) for chat in pinned]
    for folder in folders:
        rows += _folder_rows(folder, inside[folder.id], busy)
    days_ago = days_of(now)
    for group, days in groupby(loose, key=lambda chat: group_of(chat.updated_at, days_ago)):
        rows.append(Row("heading", group))
        rows += [_row(chat, busy) for chat in days]
    return rows


def _folder_rows(folder: Folder, chats: Sequence[Chat], busy: frozenset[str]) -> list[Row]:
    rows = [_row(chat, busy, folder.id) for chat in chats]
    head = Row("folder", folder.name, folder.id, folder.id, folded=folder.folded, chats=len(chats))
    if not folder.folded:
        return [head, *rows]
    return [head._replace(busy=any(row.busy for row in rows), unread=any(row.unread for row in rows))]


def _row(chat: Chat, busy: frozenset[str], folder_id: str | None = None, pinned: bool = False) -> Row:
    unread, indent = chat.unread_at is not None, int(folder_id is not None)
    return Row("chat", chat.title, chat.id, folder_id, indent, pinned=pinned, busy=chat.id in busy, unread=unread)


class ChatModel(QAbstractListModel):
    """Qt model of `rows`; `action_requested` carries an action, the ids of chats or of one folder, and a value.

    The value of `move` is the folder's id, None for no folder; of `rename` and `rename_folder` the new name; of `fold`
    True to collapse, False to expand. The actions `open`, `delete`, `export`, `pin`, `unpin`, `new_folder`,
    `delete_folder`, `export_folder`, `new_chat_in` and `project` have none.
    """

    action_requested = Signal(str, list, object)

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[Row] = []

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Replace the rows; only those that differ are removed and inserted, because there may be thousands."""
        old, most = self.rows, min(len(self.rows), len(rows))
        head = next((number for number in range(most) if old[number] != rows[number]), most)
        tail = next((number for number in range(most - head) if old[-1 - number] != rows[-1 - number]), most - head)
        if len(old) > head + tail:
            self.beginRemoveRows(QModelIndex(), head, len(old) - tail - 1)
            self.rows = [*old[:head], *old[len(old) - tail :]]
            self.endRemoveRows()
        if len(rows) > head + tail:
            self.beginInsertRows(QModelIndex(), head, len(rows) - tail - 1)
            self.rows = list(rows)
            self.endInsertRows()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.rows[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return heading_words(row.text) if row.kind == "heading" else row.text
        if role == Qt.ItemDataRole.ToolTipRole and row.kind != "heading":
            return escaped_html(_with_marks(row.text, row))
        if role == Qt.ItemDataRole.AccessibleTextRole and row.kind != "heading":
            return _with_marks(_folder_text(row) if row.kind == "folder" else row.text, row)
        if role == MARK:
            return "busy" if row.busy else "unread" if row.unread else ""
        if role == Qt.ItemDataRole.DecorationRole and row.kind == "folder":
            return icon("right" if row.folded else "chevron", theme().soft)
        if role == Qt.ItemDataRole.FontRole:
            return _font(row)
        return row.indent if role == INDENT else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.EditRole and str(value) != row.text:
            self.action_requested.emit("rename_folder" if row.kind == "folder" else "rename", [row.id], str(value))
        return False  # the controller shows the rows again after storing the name

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

    def canDropMimeData(self, data: QMimeData, _action: Qt.DropAction, _row: int, _column: int, _index: Index) -> bool:
        return data.hasFormat(MIME)

    def dropMimeData(self, data: QMimeData, _action: Qt.DropAction, row: int, _column: int, index: Index) -> bool:
        target = index.row() if index.isValid() else row
        folder_id = self.rows[target].folder_id if 0 <= target < len(self.rows) else None
        self.action_requested.emit("move", bytes(data.data(MIME).data()).decode().split("\n"), folder_id)
        return False  # else Qt would remove the dragged rows


def heading_words(text: str) -> str:
    year, _, month = text.partition("-")
    if not (year.isdigit() and month.isdigit()):
        return tr(text)
    return tr("{month} {year}", month=tr(MONTHS[int(month) - 1]), year=year)


def _folder_text(row: Row) -> str:
    chats = tr_n("{n} chat", "{n} chats", row.chats)
    if row.folded:
        return tr("Folder {name}, {chats}, collapsed", name=row.text, chats=chats)
    return tr("Folder {name}, {chats}", name=row.text, chats=chats)


def _with_marks(text: str, row: Row) -> str:
    if row.busy:
        return tr("{name}: an answer is being written", name=text)
    return tr("{name}: a new answer", name=text) if row.unread else text


def _font(row: Row) -> QFont | None:
    if row.kind == "heading":
        return font_of(SIZES.small)
    if not row.unread:
        return None
    font = font_of(SIZES.label)
    font.setWeight(QFont.Weight.DemiBold)
    return font
