"""Search in all chats: the field, the runner that searches in the background, and the list of hits."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
    Signal,
)  # fmt: skip
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QPainter,
    QResizeEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)  # fmt: skip
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QWidget,
)  # fmt: skip

from app.commands.commands import with_keys
from app.look.live import Live
from app.look.theme import SIZES, font_of, icon, theme
from app.services.background import Background
from app.store.message_search import Hit, Search
from app.words import tr
from common.failures import Failure

log = logging.getLogger(__name__)
Index = QModelIndex | QPersistentModelIndex
HIT = Qt.ItemDataRole.UserRole
LINES = 2  # lines of the snippet


class SearchField(Live, QLineEdit):
    """Line for the words to search for, with a button that clears it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("search")
        self._clear = QToolButton(self)  # not a QAction: Qt misplaces its icon in a styled line
        self._clear.setProperty("kind", "small")
        self._clear.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Esc does the same
        self._clear.setCursor(Qt.CursorShape.ArrowCursor)
        self._clear.clicked.connect(self.clear)
        self._clear.hide()
        self.textChanged.connect(lambda text: self._clear.setVisible(bool(text)))
        self.apply_look()

    def restyle(self) -> None:
        self._clear.setIcon(icon("close", theme().soft))
        self._clear.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.setTextMargins(0, 0, SIZES.button, 0)
        self._place()

    def retranslate(self) -> None:
        self.setPlaceholderText(tr("Search chats"))
        self.setAccessibleName(tr("Search chats"))
        self.setToolTip(with_keys(tr("Search chats"), "find"))
        self._clear.setAccessibleName(tr("Clear search"))
        self._clear.setToolTip(tr("Clear search"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        size = self._clear.sizeHint()
        self._clear.resize(size)
        self._clear.move(self.width() - size.width() - SIZES.gap_s, (self.height() - size.height()) // 2)


class SearchRunner(QObject):
    """Runner of searches in the background while the user types; a new search interrupts the one before.

    Signals: `found` carries the hits of the last search, `failed` the Failure that ended it.
    """

    found = Signal(list)
    failed = Signal(object)

    def __init__(self, search: Search, parent: QObject) -> None:
        super().__init__(parent)
        self._search = search
        self._background = Background(self)
        self._next_text: str | None = None

    def search(self, text: str) -> None:
        """Search for `text`, and interrupt a search that is still running."""
        self._next_text = text
        if self._background.running:
            self._search.interrupt()
        else:
            self._begin()

    def close(self) -> None:
        self._search.interrupt()
        self._background.wait()
        self._search.close()

    def _begin(self) -> None:
        text, self._next_text = self._next_text or "", None
        self._background.run(lambda: self._search.search(text), self._searched, self._search_failed)

    def _searched(self, hits: list[Hit]) -> None:
        if self._next_text is None:
            self.found.emit(hits)
        else:
            self._begin()

    def _search_failed(self, failure: Failure) -> None:
        if self._next_text is not None:  # a newer search has interrupted this one
            self._begin()
        else:
            log.warning("%s", failure.log_text)
            self.failed.emit(failure)


class HitModel(QAbstractListModel):
    """Qt model of `hits`."""

    def __init__(self) -> None:
        super().__init__()
        self.hits: Sequence[Hit] = []

    def show(self, hits: Sequence[Hit]) -> None:
        self.beginResetModel()
        self.hits = hits
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.hits)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        hit = self.hits[index.row()]
        if role == HIT:
            return hit
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return tr("{title}: {words}", title=hit.title, words=hit.snippet) if hit.message_id else hit.title
        return None


class HitDelegate(QStyledItemDelegate):
    """Painter of a hit: the title and up to two lines of the message, as plain text whatever its format."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        hit: Hit = index.data(HIT)
        drawn = QStyleOptionViewItem(option)
        self.initStyleOption(drawn, index)
        drawn.text = ""
        widget = option.widget
        widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, drawn, painter, widget)
        inside = QRectF(option.rect).adjusted(SIZES.gap, SIZES.gap_s, -SIZES.gap, -SIZES.gap_s)
        title_height = _height(SIZES.label)
        if hit.message_id is None:
            margin = (inside.height() - LINES * title_height) / 2
            _draw(painter, inside.adjusted(0, margin, 0, 0), hit.snippet, hit.marks, SIZES.label, theme().ink, LINES)
            return
        title = QRectF(inside.topLeft(), QSize(int(inside.width()), title_height).toSizeF())
        _draw(painter, title, hit.title, (), SIZES.label, theme().ink, 1)
        _draw(painter, inside.adjusted(0, title_height, 0, 0), hit.snippet, hit.marks, SIZES.small, theme().soft, LINES)

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:
        return QSize(0, _height(SIZES.label) + LINES * _height(SIZES.small) + 2 * SIZES.gap)


class HitList(Live, QListView):
    """List of hits; Enter or a click opens one, and `opened` carries it.

    Up on the first hit is left to the parent, which moves the focus to the search field.
    """

    opened = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hits = HitModel()
        self.setObjectName("hits")
        self.setModel(self.hits)
        self.setItemDelegate(HitDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setUniformItemSizes(True)
        self.clicked.connect(self.open)
        self.apply_look()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Search results"))

    def restyle(self) -> None:
        self.doItemsLayout()

    def show_hits(self, hits: Sequence[Hit]) -> None:
        self.hits.show(hits)
        if hits:
            self.setCurrentIndex(self.hits.index(0))

    def open(self) -> None:
        """Emit the current hit as opened."""
        index = self.currentIndex()
        if index.isValid():
            self.opened.emit(self.hits.hits[index.row()])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open()
        elif event.key() == Qt.Key.Key_Up and self.currentIndex().row() <= 0:
            event.ignore()
        else:
            super().keyPressEvent(event)


def _height(size: int) -> int:
    return round(size * SIZES.tight_height / 100) + 2


def _draw(  # noqa: PLR0913
    painter: QPainter, place: QRectF, text: str, marks: Sequence[tuple[int, int]], size: int, colour: str, lines: int
) -> None:
    """Draw `text` in `place` over up to `lines` lines, the last one elided, with `marks` highlighted as a selection."""
    places = [(_units(text[:start]), _units(text[:end])) for start, end in marks]
    painter.save()
    painter.setClipRect(place)
    painter.setPen(QColor(colour))
    done, top = 0, 0.0
    for number in range(lines):
        rest = _from_unit(text, done)
        last = number == lines - 1
        shown = (
            QFontMetricsF(font_of(size)).elidedText(rest, Qt.TextElideMode.ElideRight, place.width()) if last else rest
        )
        layout = QTextLayout(shown, font_of(size))
        layout.setTextOption(QTextOption(Qt.AlignmentFlag.AlignLeft))
        layout.setFormats([_marked(start - done, end - done, _units(shown)) for start, end in places if end > done])
        layout.beginLayout()
        line = layout.createLine()
        line.setLineWidth(place.width())
        layout.endLayout()
        if line.isValid():
            line_only = QRectF(place.x(), place.y() + top, place.width(), _height(size))
            painter.setClipRect(line_only.intersected(place))
            layout.draw(painter, line_only.topLeft())
            done += line.textLength()
        top += _height(size)
    painter.restore()


def _units(text: str) -> int:
    """Return the text's length in UTF-16 units, in which Qt counts: a character beyond U+FFFF is two."""
    return len(text.encode("utf-16-le")) // 2


def _from_unit(text: str, unit: int) -> str:
    return text.encode("utf-16-le")[2 * unit :].decode("utf-16-le", "replace")


def _marked(start: int, end: int, length: int) -> QTextLayout.FormatRange:
    shown = QTextLayout.FormatRange()
    shown.start = max(0, start)
    shown.length = max(0, min(end, length) - shown.start)
    look = QTextCharFormat()
    look.setBackground(QColor(theme().selection))
    look.setForeground(QColor(theme().ink))
    shown.format = look
    return shown
