"""Draws formulas inside a text: one character each, standing on the line, in the text's colour and size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import count
from math import ceil

from PySide6.QtCore import QByteArray, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QPainter,
    QPixmap,
    QPixmapCache,
    QPyTextObject,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)  # fmt: skip
from PySide6.QtSvg import QSvgRenderer

from app.look.theme import body_font, theme
from app.markdown.math_text import Formula
from app.services.math_service import math_service
from app.services.math_worker import Drawing, Task

OBJECT = QTextFormat.ObjectTypes.UserObject.value + 1
_PROPERTY = QTextFormat.Property.UserProperty.value
SOURCE, TEX, DISPLAY, WIDTH, ASCENT, DESCENT, EM, PENDING = range(_PROPERTY + 1, _PROPERTY + 9)
SOFT = "soft"  # a document's property: its text is in the quieter colour
CHARACTER = "\ufffc"
LARGEST_PIXELS = 16 << 20
_numbers = count(1)  # keeps two formulas side by side apart


class MathObject(QPyTextObject):
    """Handles the characters that `formula_format` makes; what is wider than the text is drawn smaller."""

    def intrinsicSize(self, document: QTextDocument, _position: int, format: QTextFormat) -> QSizeF:
        em = format.doubleProperty(EM)
        width, descent = format.doubleProperty(WIDTH) * em, _descent(format)
        height = format.doubleProperty(ASCENT) * em + descent
        room = document.textWidth()
        scale = min(1.0, room / width) if room > 0 else 1.0
        return QSizeF(ceil(width * scale), ceil(height * scale))

    def drawObject(
        self, painter: QPainter, rect: QRectF | QRect, document: QTextDocument, _position: int, format: QTextFormat
    ) -> None:
        ratio = painter.device().devicePixelRatio()
        colour = format.foreground().color() if format.hasProperty(_FOREGROUND) else QColor(_ink(document))
        wanted = QSizeF(rect.size()) * ratio
        if not 0 < wanted.width() * wanted.height() < LARGEST_PIXELS:
            return
        task = Task(str(format.property(TEX)), bool(format.property(DISPLAY)))
        key = f"formula {colour.name()} {wanted.width():.0f} {wanted.height():.0f} {task.display} {task.tex}"
        pixmap = QPixmap()
        if not QPixmapCache.find(key, pixmap):
            drawing = math_service().drawing(task)
            if drawing is None or not drawing.svg:
                return  # forgotten meanwhile; it is being drawn again
            pixmap = _pixmap(drawing, wanted, _descent(format) / max(format.doubleProperty(EM), 1), colour)
            QPixmapCache.insert(key, pixmap)
        painter.drawPixmap(QRectF(rect), pixmap, QRectF(pixmap.rect()))


def _ink(document: QTextDocument) -> str:
    return theme().soft if document.property(SOFT) else theme().ink


_FOREGROUND = QTextFormat.Property.ForegroundBrush.value


def _pixmap(drawing: Drawing, size: QSizeF, descent: float, colour: QColor) -> QPixmap:
    """The drawing with room below for a `descent` in font sizes, which is rounded up to whole pixels."""
    pixmap = QPixmap(max(1, round(size.width())), max(1, round(size.height())))
    pixmap.fill(Qt.GlobalColor.transparent)
    svg = drawing.svg.replace('"black"', f'"{colour.name()}"')
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    height = size.height() * (drawing.ascent + drawing.descent) / (drawing.ascent + descent)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, size.width(), height))
    painter.end()
    return pixmap


def _descent(format: QTextFormat) -> int:
    """Whole pixels below the line, as the layout will have it."""
    return max(0, ceil(format.doubleProperty(DESCENT) * format.doubleProperty(EM)))


@cache
def _size_for_descent(family: str, descent: int) -> int:
    """Qt puts an object as far below the line as its font's descent says, so the font is chosen for that."""
    font = body_font()
    font.setFamily(family)
    for pixels in range(1, 1_000):
        font.setPixelSize(pixels)
        if QFontMetrics(font).descent() >= descent:
            return pixels
    return 1_000


def formula_format(formula: Formula, drawing: Drawing, around: QTextCharFormat) -> QTextCharFormat:
    """The format of the character that shows the formula in a text whose format is `around`."""
    format = QTextCharFormat()
    format.setObjectType(OBJECT)
    format.setProperty(SOURCE, formula.source)
    format.setProperty(TEX, formula.tex)
    format.setProperty(DISPLAY, formula.display)
    pixels = around.intProperty(QTextFormat.Property.FontPixelSize.value) or body_font().pixelSize()
    numbers = (WIDTH, drawing.width), (ASCENT, drawing.ascent), (DESCENT, drawing.descent), (EM, float(pixels))
    for name, number in numbers:
        format.setProperty(name, number)
    if around.hasProperty(_FOREGROUND):
        format.setForeground(around.foreground())
    family = body_font().family()
    format.setFontFamilies([family])
    format.setProperty(QTextFormat.Property.FontPixelSize.value, _size_for_descent(family, _descent(format)))
    format.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignBaseline)
    return format


def pending_format(formula: Formula, around: QTextCharFormat) -> QTextCharFormat:
    """The format of a formula's source while it is not drawn; `redraw` finds it by this."""
    format = QTextCharFormat(around)
    format.setProperty(SOURCE, formula.source)
    format.setProperty(TEX, formula.tex)
    format.setProperty(DISPLAY, formula.display)
    format.setProperty(PENDING, next(_numbers))
    return format


def spans(document: QTextDocument, first: int = 0, last: int = -1) -> Iterator[tuple[int, int, QTextCharFormat]]:
    """Position, length and format of each run of one format between two positions."""
    block = document.findBlock(first)
    while block.isValid() and (last < 0 or block.position() < last):
        at = block.begin()
        while not at.atEnd():
            fragment = at.fragment()
            yield fragment.position(), fragment.length(), fragment.charFormat()
            at += 1
        block = block.next()


def show_formula(cursor: QTextCursor, formula: Formula) -> bool:
    """Replace what the cursor has selected by the formula, or by its source if it is not drawn (yet: then True)."""
    around = cursor.charFormat()
    around.clearProperty(PENDING)
    if around.fontFixedPitch():  # markdown took it for code
        cursor.insertText(formula.source, around)
        return False
    drawing = math_service().drawing(Task(formula.tex, formula.display))
    if drawing is None:
        cursor.insertText(_in_one_paragraph(formula.source), pending_format(formula, around))
        return True
    if drawing.svg:
        cursor.insertText(CHARACTER, formula_format(formula, drawing, around))
    else:
        cursor.insertText(_in_one_paragraph(formula.source), around)
    return False


def _in_one_paragraph(source: str) -> str:
    return source.replace("\n", "\u2028")


def show_ready(document: QTextDocument) -> tuple[bool, bool]:
    """Show the formulas that were drawn meanwhile; were there some, are there still some that are not?"""
    shown = pending = False
    cursor = QTextCursor(document)
    waiting = [span for span in spans(document) if span[2].hasProperty(PENDING)]
    cursor.beginEditBlock()
    for position, length, format in reversed(waiting):
        formula = Formula(str(format.property(SOURCE)), str(format.property(TEX)), bool(format.property(DISPLAY)))
        if math_service().drawing(Task(formula.tex, formula.display)) is None:
            pending = True
            continue
        cursor.setPosition(position)
        cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
        show_formula(cursor, formula)
        shown = True
    cursor.endEditBlock()
    return shown, pending


def with_sources(cursor: QTextCursor) -> str:
    """The selected text with the LaTeX of the formulas in it."""
    text = cursor.selectedText().replace("\u2029", "\n").replace("\u2028", "\n").replace("\u00a0", " ")
    first, last = cursor.selectionStart(), cursor.selectionEnd()
    sources = [
        str(format.property(SOURCE))
        for position, length, format in spans(cursor.document(), first, last)
        for _ in range(max(0, min(position + length, last) - max(position, first)))
        if format.objectType() == OBJECT
    ]
    parts = text.split(CHARACTER)
    if len(parts) != len(sources) + 1:  # the text has such characters of its own
        return text
    return "".join(part + source for part, source in zip(parts, [*sources, ""], strict=True))
