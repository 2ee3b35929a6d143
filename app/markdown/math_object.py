"""Draws formulas inside a text: each is one character on the baseline, in the text's colour and size."""

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
from app.services.math_worker import Drawing, Task
from app.services.worker_service import math_service

OBJECT = QTextFormat.ObjectTypes.UserObject.value + 1
_PROPERTY = QTextFormat.Property.UserProperty.value
SOURCE, TEX, DISPLAY, WIDTH, ASCENT, DESCENT, EM, PENDING = range(_PROPERTY + 1, _PROPERTY + 9)
SOFT = "soft"  # property of a document: whether its text has the quieter colour
CHARACTER = "\ufffc"
LARGEST_PIXELS = 16 << 20
_pending_numbers = count(1)  # unlike numbers keep two neighbouring formulas in separate runs


class MathObject(QPyTextObject):
    """The painter of the characters that `formula_format` formats; a formula wider than the text is scaled down."""

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
        colour = format.foreground().color() if format.hasProperty(_FOREGROUND) else QColor(_text_colour(document))
        wanted = QSizeF(rect.size()) * ratio
        if not 0 < wanted.width() * wanted.height() < LARGEST_PIXELS:
            return
        task = Task(str(format.property(TEX)), bool(format.property(DISPLAY)))
        key = f"formula {colour.name()} {wanted.width():.0f} {wanted.height():.0f} {task.display} {task.tex}"
        pixmap = QPixmap()
        if not QPixmapCache.find(key, pixmap):
            drawing = math_service().result(task)
            if drawing is None or not drawing.svg:
                return  # the drawing was dropped from the cache and is being made again
            pixmap = _pixmap(drawing, wanted, _descent(format) / max(format.doubleProperty(EM), 1), colour)
            QPixmapCache.insert(key, pixmap)
        painter.drawPixmap(QRectF(rect), pixmap, QRectF(pixmap.rect()))


def _text_colour(document: QTextDocument) -> str:
    return theme().soft if document.property(SOFT) else theme().ink


_FOREGROUND = QTextFormat.Property.ForegroundBrush.value


def _pixmap(drawing: Drawing, size: QSizeF, descent: float, colour: QColor) -> QPixmap:
    """Draw the formula; `descent` is the room below the baseline in font sizes, rounded up to whole pixels."""
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
    """Return the whole pixels below the baseline, as the layout reserves them."""
    return max(0, ceil(format.doubleProperty(DESCENT) * format.doubleProperty(EM)))


@cache
def _size_for_descent(family: str, descent: int) -> int:
    """Return the smallest font size, in pixels, whose descent is at least `descent`.

    Qt places an object below the baseline by its font's descent, so the formula's font is chosen by that.
    """
    font = body_font()
    font.setFamily(family)
    for pixels in range(1, 1_000):
        font.setPixelSize(pixels)
        if QFontMetrics(font).descent() >= descent:
            return pixels
    return 1_000


def formula_format(formula: Formula, drawing: Drawing, text_format: QTextCharFormat) -> QTextCharFormat:
    """Return the format of the character that shows the formula, in a text with the format `text_format`."""
    format = QTextCharFormat()
    format.setObjectType(OBJECT)
    format.setProperty(SOURCE, formula.source)
    format.setProperty(TEX, formula.tex)
    format.setProperty(DISPLAY, formula.display)
    pixels = text_format.intProperty(QTextFormat.Property.FontPixelSize.value) or body_font().pixelSize()
    numbers = (WIDTH, drawing.width), (ASCENT, drawing.ascent), (DESCENT, drawing.descent), (EM, float(pixels))
    for name, number in numbers:
        format.setProperty(name, number)
    if text_format.hasProperty(_FOREGROUND):
        format.setForeground(text_format.foreground())
    family = body_font().family()
    format.setFontFamilies([family])
    format.setProperty(QTextFormat.Property.FontPixelSize.value, _size_for_descent(family, _descent(format)))
    format.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignBaseline)
    return format


def pending_format(formula: Formula, text_format: QTextCharFormat) -> QTextCharFormat:
    """Return the format of a formula's source while the formula is not drawn; `show_drawn_formulas` finds it."""
    format = QTextCharFormat(text_format)
    format.setProperty(SOURCE, formula.source)
    format.setProperty(TEX, formula.tex)
    format.setProperty(DISPLAY, formula.display)
    format.setProperty(PENDING, next(_pending_numbers))
    return format


def format_spans(document: QTextDocument, first: int = 0, last: int = -1) -> Iterator[tuple[int, int, QTextCharFormat]]:
    """Yield position, length and format of each run of one format between two positions."""
    block = document.findBlock(first)
    while block.isValid() and (last < 0 or block.position() < last):
        at = block.begin()
        while not at.atEnd():
            fragment = at.fragment()
            yield fragment.position(), fragment.length(), fragment.charFormat()
            at += 1
        block = block.next()


def insert_formula(cursor: QTextCursor, formula: Formula, text_format: QTextCharFormat) -> bool:
    """Insert the formula, or its source if it cannot be drawn; return True if it is not drawn yet."""
    drawing = math_service().result(Task(formula.tex, formula.display))
    if drawing is None:
        cursor.insertText(_in_one_paragraph(formula.source), pending_format(formula, text_format))
    elif drawing.svg:
        cursor.insertText(CHARACTER, formula_format(formula, drawing, text_format))
    else:
        cursor.insertText(_in_one_paragraph(formula.source), text_format)
    return drawing is None


def _in_one_paragraph(source: str) -> str:
    return source.replace("\n", "\u2028")


def show_drawn_formulas(document: QTextDocument) -> tuple[bool, bool]:
    """Replace the sources of formulas that have been drawn by now.

    Return whether there were such formulas, and whether others are still to be drawn.
    """
    shown = pending = False
    cursor = QTextCursor(document)
    waiting = [span for span in format_spans(document) if span[2].hasProperty(PENDING)]
    cursor.beginEditBlock()
    for position, length, format in reversed(waiting):
        formula = Formula(str(format.property(SOURCE)), str(format.property(TEX)), bool(format.property(DISPLAY)))
        if math_service().result(Task(formula.tex, formula.display)) is None:
            pending = True
            continue
        cursor.setPosition(position)
        cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
        format.clearProperty(PENDING)
        insert_formula(cursor, formula, format)
        shown = True
    cursor.endEditBlock()
    return shown, pending


def text_with_sources(cursor: QTextCursor) -> str:
    """Return the selected text with each formula as LaTeX."""
    text = cursor.selectedText().replace("\u2029", "\n").replace("\u2028", "\n").replace("\u00a0", " ")
    first, last = cursor.selectionStart(), cursor.selectionEnd()
    sources = [
        str(format.property(SOURCE))
        for position, length, format in format_spans(cursor.document(), first, last)
        for _ in range(max(0, min(position + length, last) - max(position, first)))
        if format.objectType() == OBJECT
    ]
    parts = text.split(CHARACTER)
    if len(parts) != len(sources) + 1:  # the text itself contains CHARACTER
        return text
    return "".join(part + source for part, source in zip(parts, [*sources, ""], strict=True))
