"""A selection that runs over many texts: from a paragraph over code and tables, into the next message.

Qt selects within one text. A text that is dragged out of has the others around it select what lies between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QClipboard, QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QTextCursor
from PySide6.QtWidgets import QAbstractScrollArea, QPlainTextEdit, QTextEdit, QWidget

Text = QTextEdit | QPlainTextEdit
if TYPE_CHECKING:  # at run time Qt's own class stands behind it, and two of them do not go together
    _AnyText = QAbstractScrollArea
else:
    _AnyText = object


class SelectionScope(QWidget):
    """The texts below this widget are selected from together. `dragged`: the pointer, with a selection, is there on
    the screen, None: it was let go. `link` carries an address that was clicked in one of them, as it is written."""

    dragged = Signal(object)
    link = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._from: Text | None = None  # where the mouse was pressed

    def texts(self, inside: QWidget | None = None) -> list[Text]:
        """What one can select from, in the order in which it is read; those `inside` a part only."""
        part = inside or self
        found: list[Text] = [*part.findChildren(QTextEdit), *part.findChildren(QPlainTextEdit)]
        seen = [text for text in found if text.isReadOnly() and text.isVisible()]
        return sorted(seen, key=lambda text: (self._top(text), text.mapTo(self, QPoint()).x()))

    def selected(self) -> list[Text]:
        return [text for text in self.texts() if text.textCursor().hasSelection()]

    def selected_text(self) -> str:
        """What is selected, as it is copied: parts are a blank line apart, the pieces of one table are not."""
        whole, before = "", None
        for text in self.selected():
            parent = text.parentWidget()
            table = parent if parent is not None and parent.objectName() == "tableRows" else None
            between = "" if not whole else "\n" if table is not None and table is before else "\n\n"
            whole += between + text.createMimeDataFromSelection().text().strip("\n")
            before = table
        return whole

    def clear(self, but: Text | None = None) -> None:
        for text in self.selected():
            if text is not but:
                _select(text, 0, 0)

    def select_all(self, part: QWidget) -> None:
        """Everything `part` has to read."""
        texts = self.texts(part)
        for text in self.selected():
            if text not in texts:
                _select(text, 0, 0)
        for text in texts:
            _select(text, 0, _end(text))

    def begin(self, text: Text) -> None:
        """The mouse was pressed in `text`: a new selection begins, so the others end."""
        self.clear(but=text)
        self._from = None if text.textCursor().hasSelection() else text  # what is selected can be dragged away

    def extend(self, point: QPoint) -> None:
        """The selection runs to `point` on the screen."""
        texts, text = self.texts(), self._from
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

    def _select_part(self, each: Text, at: int, start: int, end: int, point: QPoint) -> None:
        down = end > start
        if at == start:
            _select(each, each.textCursor().anchor(), _end(each) if down else 0)
        elif at == end:
            there = each.cursorForPosition(each.viewport().mapFromGlobal(point)).position()
            _select(each, 0 if down else _end(each), there)
        else:
            _select(each, 0, _end(each))

    def _nearest(self, texts: list[Text], y: int, start: Text) -> int:
        """The text at this height, or else the last one that is passed on the way there."""
        top = self._top(start)
        if top <= y < top + start.height():
            return texts.index(start)
        if y >= top:
            return max(at for at, each in enumerate(texts) if self._top(each) <= y)
        return min(at for at, each in enumerate(texts) if self._top(each) + each.height() > y)

    def _top(self, text: Text) -> int:
        return text.mapTo(self, QPoint()).y()


def scope_of(widget: QWidget) -> SelectionScope | None:
    parent = widget.parentWidget()
    while parent is not None and not isinstance(parent, SelectionScope):
        parent = parent.parentWidget()
    return parent


class SelectedWithOthers(_AnyText):
    """To be inherited before Qt's class: what makes a text one of those of its scope."""

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
        """Where the system has a clipboard for what is selected, it gets all of it."""
        super().mouseReleaseEvent(event)
        scope = scope_of(self)
        if scope is None:
            return
        scope.dragged.emit(None)
        clipboard = QGuiApplication.clipboard()
        if clipboard.supportsSelection() and len(scope.selected()) > 1:
            clipboard.setText(scope.selected_text(), QClipboard.Mode.Selection)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ctrl+A selects all of the message, Ctrl+C copies a selection over several texts."""
        scope = scope_of(self)
        if scope is not None and event.matches(QKeySequence.StandardKey.SelectAll):
            scope.select_all(_child_of(scope, self))
        elif scope is not None and event.matches(QKeySequence.StandardKey.Copy) and len(scope.selected()) > 1:
            QGuiApplication.clipboard().setText(scope.selected_text())
        else:
            super().keyPressEvent(event)

    @property
    def _text(self) -> Text:
        return cast("Text", self)


def _child_of(scope: SelectionScope, widget: QWidget) -> QWidget:
    """What of the scope's own children holds the widget: a message."""
    while (parent := widget.parentWidget()) is not None and parent is not scope:
        widget = parent
    return widget


def _select(text: Text, anchor: int, position: int) -> None:
    cursor = QTextCursor(text.document())
    cursor.setPosition(anchor)
    cursor.setPosition(position, QTextCursor.MoveMode.KeepAnchor)
    text.setTextCursor(cursor)


def _end(text: Text) -> int:
    return text.document().characterCount() - 1
