"""The tree of chats that can be imported: a row for each program or file, below it its chats, all with a check box.

Qt asks for the rows that are visible, so a hundred thousand chats cost nothing.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, Qt, Signal

from app.store.importing import Choice, ListedChat, Preview
from app.store.readers.neutral import PROGRAMS
from app.words import escaped_html, tr, tr_n

Index = QModelIndex | QPersistentModelIndex
TITLE, DATE, MESSAGES = range(3)
ROOT = QModelIndex()
CHECKED, UNCHECKED = Qt.CheckState.Checked, Qt.CheckState.Unchecked
# internalId of a source's row; that of a chat's row is the row of its source
SOURCE = (1 << 32) - 1


class ImportTree(QAbstractItemModel):
    """Model of the previews and of what is checked; `checked_changed` is emitted when that changes."""

    checked_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.previews: list[Preview] = []
        self._checked: list[set[int]] = []  # for each preview the rows of its checked chats

    def add(self, preview: Preview, checked: bool) -> QModelIndex:
        """Append a source that has chats; return its index."""
        row = len(self.previews)
        self.beginInsertRows(ROOT, row, row)
        self.previews.append(preview)
        self._checked.append(set(range(len(preview.chats))) if checked else set())
        self.endInsertRows()
        self.checked_changed.emit()
        return self.index(row, 0)

    def remove(self, path: object) -> None:
        """Remove the source of this path, because it is read again."""
        for row, preview in enumerate(self.previews):
            if preview.source.path == path:
                self.beginRemoveRows(ROOT, row, row)
                del self.previews[row], self._checked[row]
                self.endRemoveRows()
                break

    @property
    def checked_count(self) -> int:
        """Number of checked chats."""
        return sum(map(len, self._checked))

    def choices(self) -> list[Choice]:
        """Return what is checked."""
        chosen = []
        for preview, rows in zip(self.previews, self._checked, strict=True):
            if len(rows) == len(preview.chats):
                chosen.append(Choice(preview.source))
            elif rows:
                chosen.append(Choice(preview.source, frozenset(preview.chats[row].id for row in rows)))
        return chosen

    def retranslate(self) -> None:
        """Have the views ask for all texts again."""
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, MESSAGES)
        if self.previews:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.previews) - 1, MESSAGES))

    # --- what Qt asks for -------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = ROOT) -> int:
        if not parent.isValid():
            return len(self.previews)
        return len(self.previews[parent.row()].chats) if _is_source(parent) and parent.column() == 0 else 0

    def columnCount(self, _parent: Index = ROOT) -> int:
        return 3

    def index(self, row: int, column: int, parent: Index = ROOT) -> QModelIndex:
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() if parent.isValid() else SOURCE)

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        if not index.isValid() or _is_source(index):
            return QModelIndex()
        return self.createIndex(int(index.internalId()), 0, SOURCE)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsUserCheckable if index.column() == TITLE else flags

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (tr("Chat"), tr("Last message"), tr("Messages"))[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == MESSAGES:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        column = index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole and column == MESSAGES:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if _is_source(index):
            return self._source_data(index.row(), column, role)
        if role == Qt.ItemDataRole.CheckStateRole and column == TITLE:
            return CHECKED if index.row() in self._checked[index.internalId()] else UNCHECKED
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        text = _chat_text(self.previews[index.internalId()].chats[index.row()], column)
        if role == Qt.ItemDataRole.DisplayRole:
            return text
        return escaped_html(text) if column == TITLE else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole or index.column() != TITLE:
            return False
        source = index.row() if _is_source(index) else int(index.internalId())
        rows = range(len(self.previews[source].chats)) if _is_source(index) else (index.row(),)
        if Qt.CheckState(value) == CHECKED:
            self._checked[source].update(rows)
        else:
            self._checked[source].difference_update(rows)
        above = self.createIndex(source, 0, SOURCE)
        self.dataChanged.emit(above, above)
        self.dataChanged.emit(self.index(0, 0, above), self.index(self.rowCount(above) - 1, 0, above))
        self.checked_changed.emit()
        return True

    def _source_data(self, row: int, column: int, role: int) -> Any:
        preview, checked = self.previews[row], len(self._checked[row])
        if role == Qt.ItemDataRole.CheckStateRole and column == TITLE:
            if 0 < checked < len(preview.chats):
                return Qt.CheckState.PartiallyChecked
            return CHECKED if checked else UNCHECKED
        if role == Qt.ItemDataRole.ToolTipRole:
            return escaped_html(str(preview.source.path))
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if column == TITLE:
            name = PROGRAMS[preview.program].name if preview.program else preview.source.path.name
            if preview.source.program is None and preview.program:
                name = tr("{program}: {file}", program=name, file=preview.source.path.name)
            return tr("{title} · {when}", title=name, when=tr_n("{n} chat", "{n} chats", len(preview.chats)))
        if column == DATE:
            return _date(preview.chats[0].updated_at)
        return f"{sum(chat.messages for chat in preview.chats):,}"


def _is_source(index: Index) -> bool:
    return int(index.internalId()) == SOURCE


def _chat_text(chat: ListedChat, column: int) -> str:
    return (chat.title, _date(chat.updated_at), f"{chat.messages:,}")[column]


def _date(moment: float) -> str:
    """Return the day of a Unix time; one that no calendar has becomes today's."""
    try:
        return datetime.fromtimestamp(moment).strftime("%Y-%m-%d")
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(time.time()).strftime("%Y-%m-%d")
