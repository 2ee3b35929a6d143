"""A selection that runs over several texts: from a paragraph over code and tables into the next message.

Qt selects within one text. When the mouse is dragged out of a text, the texts around it select what lies between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import (
    QClipboard,
    QColor,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QAbstractScrollArea, QPlainTextEdit, QTextEdit, QWidget

SelectableText = QTextEdit | QPlainTextEdit
if TYPE_CHECKING:  # at run time the mixin has no Qt base: a class cannot inherit from two Qt classes
    _AnyText = QAbstractScrollArea
else:
    _AnyText = object


class SelectionScope(QWidget):
    """The widget whose texts can be selected together.

    `dragged` carries the pointer's position on the screen during a selection, and None when the button is released.
    `link_clicked` carries the address of a clicked link, as written in the text.
    """

    dragged = Signal(object)
    link_clicked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._start: SelectableText | None = None  # the text in which the mouse was pressed

    def texts(self, inside: QWidget | None = None) -> list[SelectableText]:
        """Return the visible read-only texts in reading order; with `inside`, only those in that widget."""
        part = inside or self
        widgets: list[SelectableText] = [*part.findChildren(QTextEdit), *part.findChildren(QPlainTextEdit)]
        seen = [text for text in widgets if text.isReadOnly() and text.isVisible()]
        return sorted(seen, key=lambda text: (self._top(text), text.mapTo(self, QPoint()).x()))

    def selected(self) -> list[SelectableText]:
        return [text for text in self.texts() if text.textCursor().hasSelection()]

    def selected_text(self) -> str:
        """Return the selected text as it is copied: a blank line between texts, none between pieces of a table."""
        whole, before = "", None
        for text in self.selected():
            parent = text.parentWidget()
            table = parent if parent is not None and parent.objectName() == "tableRows" else None
            between = "" if not whole else "\n" if table is not None and table is before else "\n\n"
            whole += between + text.createMimeDataFromSelection().text().strip("\n")
            before = table
        return whole

    def clear(self, except_text: SelectableText | None = None) -> None:
        for text in self.selected():
            if text is not except_text:
                _select(text, 0, 0)

    def select_all(self, part: QWidget) -> None:
        """Select all texts in `part`, and nothing outside of it."""
        texts = self.texts(part)
        for text in self.selected():
            if text not in texts:
                _select(text, 0, 0)
        for text in texts:
            _select(text, 0, _end(text))

    def begin(self, text: SelectableText) -> None:
        """Begin a selection where the mouse was pressed, in `text`, and clear the selection of the other texts."""
        self.clear(except_text=text)
        # A click on selected text begins to drag that text, not to select.
        self._start = None if text.textCursor().hasSelection() else text

    def extend(self, point: QPoint) -> None:
        """Extend the selection to `point`, a position on the screen."""
        texts, text = self.texts(), self._start
        if text is None or text not in texts:
            return
        start, end = texts.index(text), self._nearest(texts, self.mapFromGlobal(point).y(), text)
        for at, each in enumerate(texts):
            if not min(start, end) <= at <= max(start, end):
                if each.textCursor().hasSelection():
                    _select(each, 0, 0)
            elif start != end:
                self._select_part(each, at, start, end, point)
        self.dragged.emit(point)

    def _select_part(self, each: SelectableText, at: int, start: int, end: int, point: QPoint) -> None:
        down = end > start
        if at == start:
            _select(each, each.textCursor().anchor(), _end(each) if down else 0)
        elif at == end:
            position = each.cursorForPosition(each.viewport().mapFromGlobal(point)).position()
            _select(each, 0 if down else _end(each), position)
        else:
            _select(each, 0, _end(each))

    def _nearest(self, texts: list[SelectableText], y: int, start: SelectableText) -> int:
        """Return the index of the text at height `y`, or of the last text between `start` and that height."""
        top = self._top(start)
        if top <= y < top + start.height():
            return texts.index(start)
        if y >= top:
            return max(at for at, each in enumerate(texts) if self._top(each) <= y)
        return min(at for at, each in enumerate(texts) if self._top(each) + each.height() > y)

    def _top(self, text: SelectableText) -> int:
        return text.mapTo(self, QPoint()).y()


def scope_of(widget: QWidget) -> SelectionScope | None:
    parent = widget.parentWidget()
    while parent is not None and not isinstance(parent, SelectionScope):
        parent = parent.parentWidget()
    return parent


class SelectedWithOthers(_AnyText):
    """A mixin, placed before Qt's class, that lets a text take part in the selection of its scope."""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        scope = scope_of(self)
        if scope is not None and event.button() == Qt.MouseButton.LeftButton:
            scope.begin(self._text)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        scope = scope_of(self)
        if scope is not None and event.buttons() & Qt.MouseButton.LeftButton:
            scope.extend(event.globalPosition().toPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End the drag and put the whole selection on the system's clipboard for selections, where there is one."""
        super().mouseReleaseEvent(event)
        scope = scope_of(self)
        if scope is None:
            return
        scope.dragged.emit(None)
        clipboard = QGuiApplication.clipboard()
        if clipboard.supportsSelection() and len(scope.selected()) > 1:
            clipboard.setText(scope.selected_text(), QClipboard.Mode.Selection)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Select the whole message with Ctrl+A; copy a selection over several texts with Ctrl+C."""
        scope = scope_of(self)
        if scope is not None and event.matches(QKeySequence.StandardKey.SelectAll):
            scope.select_all(_child_of(scope, self))
        elif scope is not None and event.matches(QKeySequence.StandardKey.Copy) and len(scope.selected()) > 1:
            QGuiApplication.clipboard().setText(scope.selected_text())
        else:
            super().keyPressEvent(event)

    @property
    def _text(self) -> SelectableText:
        return cast("SelectableText", self)


def _child_of(scope: SelectionScope, widget: QWidget) -> QWidget:
    """Return the scope's own child that holds the widget: a message."""
    while (parent := widget.parentWidget()) is not None and parent is not scope:
        widget = parent
    return widget


def cursor_over(document: QTextDocument, anchor: int, position: int) -> QTextCursor:
    """Return a cursor that selects what lies between two positions."""
    cursor = QTextCursor(document)
    cursor.setPosition(anchor)
    cursor.setPosition(position, QTextCursor.MoveMode.KeepAnchor)
    return cursor


def coloured(document: QTextDocument, first: int, last: int, ground: str, ink: str = "") -> QTextEdit.ExtraSelection:
    """Return a mark that gives a part of the text another ground, and another colour unless `ink` is empty."""
    mark = QTextEdit.ExtraSelection()
    mark.cursor = cursor_over(document, first, last)
    colours = QTextCharFormat()
    colours.setBackground(QColor(ground))
    if ink:
        colours.setForeground(QColor(ink))
    mark.format = colours
    return mark


def _select(text: SelectableText, anchor: int, position: int) -> None:
    text.setTextCursor(cursor_over(text.document(), anchor, position))


def _end(text: SelectableText) -> int:
    return text.document().characterCount() - 1
