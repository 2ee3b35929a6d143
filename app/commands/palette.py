"""The palette (Ctrl+K): a line to type in, and the commands and chats that match. Lies over the page; Esc closes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)  # fmt: skip
from shiboken6 import isValid

from app.commands.commands import BY_NAME, OF_FOCUS, CommandSet, keys_of
from app.commands.related_words import related_words
from app.look.live import Live, without_mnemonic
from app.look.sheet import fill
from app.look.theme import SIZES, font_of, theme
from app.words import tr

ENTRY = Qt.ItemDataRole.UserRole
MAX_LINES = 10  # lines that are visible without scrolling
NOT_LISTED = ("palette", *OF_FOCUS)  # the palette is already open, and has the focus
LIST_KEYS = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """Line of the palette: `id` is the name of a command or setting, or the id of a chat or snippet.

    `note` is the command's key, the setting's section, the found words, or the beginning of the snippet.
    `message_id` is the message that contains the words, "" for a match in the title; `value` is what a setting becomes,
    "" if it is only shown. `english` is the title that finds a command or setting in every language; `related` has
    other words that find it.
    """

    kind: Literal["command", "setting", "chat", "snippet"]
    id: str
    title: str
    note: str = ""
    message_id: str = ""
    value: str = ""
    english: str = ""
    related: str = ""


Search = Callable[[str], list[PaletteEntry]]


def command_entries(commands: CommandSet) -> list[PaletteEntry]:
    """Return an entry for each command that can do something now, with its first key."""
    return [
        PaletteEntry(
            "command", name, without_mnemonic(action.text()), ", ".join(keys_of(name)[:1]),
            english=without_mnemonic(BY_NAME[name].title), related=related_words(name),
        )
        for name, action in commands.actions.items() if name not in NOT_LISTED and commands.is_possible(name)
    ]  # fmt: skip


def matching_entries(query: str, entries: Iterable[PaletteEntry]) -> list[PaletteEntry]:
    """Return the entries whose titles contain all words of `query`, matches at the beginning of words first."""
    words = query.casefold().split()
    ranked = [(rank, entry) for entry in entries if (rank := _rank(words, entry)) is not None]
    return [entry for _, entry in sorted(ranked, key=lambda pair: pair[0])]


def related_entries(query: str, entries: Iterable[PaletteEntry]) -> list[PaletteEntry]:
    """Return the entries that `matching_entries` leaves out, but whose related words have what their titles lack."""
    words = query.casefold().split()
    others = [entry for entry in entries if entry.related and _rank(words, entry) is None]
    return [entry for entry in others if all(_begins_word(word, _all_words(entry)) for word in words)]


def _all_words(entry: PaletteEntry) -> str:
    return f"{entry.title} {entry.english} {entry.related}".casefold()


def _rank(words: list[str], entry: PaletteEntry) -> int | None:
    """Return 0 if each word begins a word of the title, 1 if each is contained in the title, None if one is missing."""
    ranks = [_rank_in(words, title.casefold()) for title in (entry.title, entry.english)]
    return min((rank for rank in ranks if rank is not None), default=None)


def _rank_in(words: list[str], title: str) -> int | None:
    if not all(word in title for word in words):
        return None
    return 0 if all(_begins_word(word, title) for word in words) else 1


def _begins_word(word: str, text: str) -> bool:
    """Return whether a word of `text` begins with `word`; Chinese has no spaces between its words."""
    return re.search(r"\b" + re.escape(word), text) is not None if word.isascii() else word in text


class EntryPainter(QStyledItemDelegate):
    """Painter of an entry: the title on the left, its note in a soft colour on the right."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        entry: PaletteEntry = index.data(ENTRY)
        self.initStyleOption(option, index)
        option.text = ""
        place: QRect = option.rect.adjusted(SIZES.gap_m, 0, -SIZES.gap_m, 0)
        style = QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        painter.save()
        painter.setFont(font_of(SIZES.label))
        metrics = painter.fontMetrics()
        share = place.width() // 3 if entry.kind == "command" else place.width() // 2
        note = metrics.elidedText(entry.note, Qt.TextElideMode.ElideRight, share)
        room = place.width() - metrics.horizontalAdvance(note) - SIZES.gap_l
        painter.setPen(theme().soft)
        painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, note)
        painter.setPen(theme().ink)
        title = metrics.elidedText(entry.title, Qt.TextElideMode.ElideRight, room)
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, title)
        painter.restore()


class Palette(Live, QFrame):
    """Palette over the page `parent`; `chosen` carries the chosen PaletteEntry.

    `search` is called after every letter and must return at once.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget, search: Search) -> None:
        super().__init__(parent)
        self.setObjectName("palette")
        self._search, self._page = search, parent
        self._focus_before: QWidget | None = None
        self.line = QLineEdit(self)
        self.line.setObjectName("paletteLine")
        self.line.textChanged.connect(self._fill)
        self.line.installEventFilter(self)
        self.list = QListWidget(self)
        self.list.setObjectName("paletteList")
        self.list.setItemDelegate(EntryPainter(self.list))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the line keeps the focus
        self.list.itemClicked.connect(self._choose)
        fill(QVBoxLayout(self), self.line, self.list, margins=(SIZES.gap, SIZES.gap, SIZES.gap, SIZES.gap))
        parent.installEventFilter(self)
        self.apply_look()
        self.hide()

    def open(self) -> None:
        """Show the palette with an empty line, and remember the focus to give it back later."""
        if self.isHidden():
            self._focus_before = QApplication.focusWidget()
        self.line.clear()
        self._fill("")
        self._place()
        self.show()
        self.raise_()
        self.line.setFocus()

    def dismiss(self) -> None:
        if self.isHidden():
            return
        self.hide()
        before, self._focus_before = self._focus_before, None
        if before is not None and isValid(before):  # the editor of a name may be deleted by now
            before.setFocus()

    def shown_entries(self) -> list[PaletteEntry]:
        """Return the entries that are listed."""
        return [self.list.item(row).data(ENTRY) for row in range(self.list.count())]

    def append_entries(self, entries: list[PaletteEntry]) -> None:
        """Append these entries to the list."""
        if entries and not self.shown_entries()[0].id:
            self.list.clear()
        for entry in entries:
            self._append(entry)
        if self.list.currentRow() < 0:
            self.list.setCurrentRow(0)
        self._place()

    def retranslate(self) -> None:
        self.line.setPlaceholderText(tr("Search chats, commands and settings"))
        self.line.setAccessibleName(tr("Search chats, commands and settings"))
        self.list.setAccessibleName(tr("Results"))
        if not self.isHidden():
            self._fill(self.line.text())

    def restyle(self) -> None:
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._page:
            self._place()
        if watched is not self.line:
            return False
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._key(event)
        if event.type() == QEvent.Type.FocusOut and not self.isHidden() and self.window().isActiveWindow():
            self.hide()  # the user has just moved the focus elsewhere
            self._focus_before = None
        return False

    def _key(self, event: QKeyEvent) -> bool:
        if event.key() in LIST_KEYS:
            QApplication.sendEvent(self.list, event)
            return True
        if event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            step = 1 if event.key() == Qt.Key.Key_Tab else -1
            self.list.setCurrentRow((self.list.currentRow() + step) % self.list.count())
            return True
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.list.currentItem())
            return True
        return False

    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is not None and item.data(ENTRY).id:
            self.dismiss()
            self.chosen.emit(item.data(ENTRY))

    def _fill(self, query: str) -> None:
        self.list.clear()
        for entry in self._search(query):
            self._append(entry)
        if not self.list.count():
            self._show_no_results()
        self.list.setCurrentRow(0)
        self._place()

    def _append(self, entry: PaletteEntry) -> None:
        item = QListWidgetItem(f"{entry.title}, {entry.note}" if entry.note else entry.title, self.list)
        item.setData(ENTRY, entry)

    def _show_no_results(self) -> None:
        item = QListWidgetItem(self.list)
        item.setData(ENTRY, PaletteEntry("command", "", tr("No results")))
        item.setFlags(Qt.ItemFlag.NoItemFlags)

    def _place(self) -> None:
        parent = self._page
        width = min(SIZES.column * 3 // 4, parent.width() - 2 * SIZES.gap_l)
        lines = min(max(self.list.count(), 1), MAX_LINES)
        room = parent.height() - self.line.sizeHint().height() - 2 * SIZES.header
        self.list.setFixedHeight(max(min(lines * SIZES.row + SIZES.gap_s, room), SIZES.row))
        self.resize(width, self.sizeHint().height())
        self.move((parent.width() - width) // 2, SIZES.header)
