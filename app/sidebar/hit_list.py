"""What a search has found: the chat, and the words around the place with what was looked for marked. Thin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QKeyEvent, QPainter, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)  # fmt: skip

from app.look.theme import SIZES, theme
from app.store.search import Hit
from app.words import tr

Index = QModelIndex | QPersistentModelIndex
HIT = Qt.ItemDataRole.UserRole
LINES = 2  # of the snippet


class HitModel(QAbstractListModel):
    """`hits` as Qt asks for them."""

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
    """Paints the title and up to two lines of the message; text of any kind is plain."""

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
            around = (inside.height() - LINES * title_height) / 2
            _draw(painter, inside.adjusted(0, around, 0, 0), hit.snippet, hit.marks, SIZES.label, theme().ink, LINES)
            return
        title = QRectF(inside.topLeft(), QSize(int(inside.width()), title_height).toSizeF())
        _draw(painter, title, hit.title, (), SIZES.label, theme().ink, 1)
        _draw(painter, inside.adjusted(0, title_height, 0, 0), hit.snippet, hit.marks, SIZES.small, theme().soft, LINES)

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:
        return QSize(0, _height(SIZES.label) + LINES * _height(SIZES.small) + 2 * SIZES.gap)


class HitList(QListView):
    """`opened` carries a Hit; Enter and a click open, Esc and Up from the first one ask to leave."""

    opened = Signal(object)
    left = Signal()

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
        self.retranslate()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Search results"))

    def show_hits(self, hits: Sequence[Hit]) -> None:
        self.hits.show(hits)
        if hits:
            self.setCurrentIndex(self.hits.index(0))

    def open(self) -> None:
        """Open the chosen one."""
        index = self.currentIndex()
        if index.isValid():
            self.opened.emit(self.hits.hits[index.row()])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open()
        elif event.key() == Qt.Key.Key_Up and self.currentIndex().row() <= 0:
            self.left.emit()
        else:
            super().keyPressEvent(event)


def _font(size: int) -> QFont:
    font = QFont()
    font.setPixelSize(size)
    return font


def _height(size: int) -> int:
    return round(size * SIZES.tight_height / 100) + 2


def _draw(  # noqa: PLR0913
    painter: QPainter, place: QRectF, text: str, marks: Sequence[tuple[int, int]], size: int, colour: str, lines: int
) -> None:
    """`text` in `place`, `marks` of it on the colour of a selection; what does not fit into `lines` ends in "…"."""
    places = [(_units(text[:start]), _units(text[:end])) for start, end in marks]
    painter.save()
    painter.setClipRect(place)
    painter.setPen(QColor(colour))
    done, top = 0, 0.0
    for number in range(lines):
        rest = _from_unit(text, done)
        last = number == lines - 1
        shown = (
            QFontMetricsF(_font(size)).elidedText(rest, Qt.TextElideMode.ElideRight, place.width()) if last else rest
        )
        layout = QTextLayout(shown, _font(size))
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


def _elided(text: str, size: int, width: float) -> str:
    return QFontMetricsF(_font(size)).elidedText(text, Qt.TextElideMode.ElideRight, width)


def _units(text: str) -> int:
    """The length for Qt, which counts a character beyond U+FFFF as two."""
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
