"""The boxes of task lists, drawn by us: Qt's touch the text, lie over numbers, and are crossed instead of ticked."""

from __future__ import annotations

import re

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QPainter,
    QPen,
    QPolygonF,
    QTextBlock,
    QTextBlockFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextListFormat,
)

from app.look.theme import SIZES, body_font, theme

TASK = QTextFormat.Property.UserProperty.value + 20  # of a block's format: is the task done?
TASKS = "tasks"  # of a document: has it any?
_BOX = re.compile(r"\[[ xX]\][ \t]")
_TICK = ((0.24, 0.52), (0.43, 0.71), (0.77, 0.31))  # in a box of the size 1
_BULLETS = (QTextListFormat.Style.ListDisc, QTextListFormat.Style.ListCircle, QTextListFormat.Style.ListSquare)


def take_tasks(document: QTextDocument, markdown: str) -> None:
    """What Qt has read as tasks gets a box of ours, in place of the bullet; behind a number it is a letter."""
    document.setProperty(TASKS, False)
    if not _BOX.search(markdown):
        return
    block = document.begin()
    while block.isValid():
        marker = block.blockFormat().marker()
        if marker != QTextBlockFormat.MarkerType.NoMarker:
            _take(block, marker == QTextBlockFormat.MarkerType.Checked)
            document.setProperty(TASKS, True)
        block = block.next()


def is_task(block: QTextBlock) -> bool:
    return block.blockFormat().hasProperty(TASK)


def draw_tasks(document: QTextDocument, painter: QPainter) -> None:
    """All boxes, in the document's coordinates."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    block = document.begin()
    while block.isValid():
        if is_task(block) and block.layout().lineCount():
            _draw(painter, _place(block), block.blockFormat().boolProperty(TASK))
        block = block.next()


def _take(block: QTextBlock, done: bool) -> None:
    format = QTextBlockFormat()
    format.setMarker(QTextBlockFormat.MarkerType.NoMarker)
    cursor = QTextCursor(block)
    if block.blockFormat().objectIndex() >= 0:  # Qt marks paragraphs behind a list of tasks too
        items = block.textList()
        if items.format().style() in _BULLETS:
            items.remove(block)  # it stays indented
            format.setProperty(TASK, done)
        else:
            cursor.insertText("☑ " if done else "☐ ")
    cursor.mergeBlockFormat(format)


def _place(block: QTextBlock) -> QRectF:
    """Before the text's first line, beside the middle of its capitals."""
    line = block.layout().lineAt(0)
    left = block.layout().position().x() + line.naturalTextRect().left()
    middle = block.layout().position().y() + line.y() + line.ascent() - QFontMetricsF(body_font()).capHeight() / 2
    return QRectF(round(left - SIZES.gap - SIZES.body), round(middle - SIZES.body / 2), SIZES.body, SIZES.body)


def _draw(painter: QPainter, box: QRectF, done: bool) -> None:
    colour = QColor(theme().accent if done else theme().soft)
    painter.setPen(colour)
    painter.setBrush(colour if done else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), SIZES.gap_s, SIZES.gap_s)
    if done:
        painter.setPen(QPen(QColor(theme().on_accent), SIZES.body / 8))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF([box.topLeft() + QPointF(x, y) * box.width() for x, y in _TICK]))
