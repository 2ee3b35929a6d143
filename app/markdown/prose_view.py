"""Shows a run of markdown as selectable text exactly as high as it needs. Fetches nothing, opens nothing."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QPainter,
    QPaintEvent,
    QTextBlockFormat,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from app.look.live import Live
from app.look.theme import SIZES, theme
from app.markdown.document import TASKS, MarkdownDocument, draw_tasks, format_formulas, render
from app.markdown.guard import shown
from app.markdown.math_object import CHARACTER, SOFT, show_ready, with_sources
from app.markdown.selection import SelectedWithOthers, scope_of
from app.services.math_service import math_service
from app.words import as_written, mark, tr


class ProseView(Live, SelectedWithOthers, QTextBrowser):
    """`resized`: the height is another one now."""

    resized = Signal()

    def __init__(self, parent: QWidget | None = None, soft: bool = False, name: str = "") -> None:
        super().__init__(parent)
        self.setObjectName("softProse" if soft else "prose")
        self._name = name or mark("Answer")
        self.setDocument(MarkdownDocument(self))
        self.document().setProperty(SOFT, soft)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self.setOpenLinks(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the message's menu has more
        self.setUndoRedoEnabled(False)
        self.viewport().setAutoFillBackground(False)
        self.anchorClicked.connect(self._follow)
        self.highlighted.connect(self._hover)
        self.markdown = ""
        self._plain = ""
        self._pending = self._tasks = False
        self._caret = False
        render(self.document(), "", theme())
        self.apply_look()

    def set_markdown(self, markdown: str) -> None:
        if markdown != self.markdown:
            self.markdown = markdown
            self._render()

    def set_plain(self, text: str) -> None:
        """Show `text` as it is, without markdown: what the user typed."""
        self._plain = text
        self._name = mark("Your message")
        self.retranslate()
        render(self.document(), "", theme())
        self.setPlainText(text)
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        format = QTextBlockFormat()
        format.setLineHeight(SIZES.line_height, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        cursor.mergeBlockFormat(format)

    def restyle(self) -> None:
        if self.markdown:
            self._render()
        elif self._plain:
            self.set_plain(self._plain)
        self.resized.emit()

    def retranslate(self) -> None:
        self.setAccessibleName(tr(self._name))

    def set_caret(self, shown: bool) -> None:
        """A soft mark behind the last character: the answer goes on."""
        if shown != self._caret:
            self._caret = shown
            self.viewport().update()

    def heightForWidth(self, width: int) -> int:
        document = self.document()
        if document.textWidth() != width:
            document.setTextWidth(width)
        return int(document.size().height() + 0.999)

    def natural_width(self) -> int:
        """How wide the text would be without a limit."""
        self.document().setTextWidth(-1)
        return int(self.document().idealWidth()) + 2

    def createMimeDataFromSelection(self) -> QMimeData:
        """What is copied has the LaTeX of its formulas."""
        if CHARACTER not in self.textCursor().selectedText():
            return super().createMimeDataFromSelection()
        data = QMimeData()
        data.setText(with_sources(self.textCursor()))
        return data

    def _render(self) -> None:
        self._await_formulas(render(self.document(), self.markdown, theme()))
        self._tasks = bool(self.document().property(TASKS))
        self.rendered()
        self._describe()

    def _describe(self) -> None:
        """A screen reader gets the formulas' LaTeX; the text itself has but a character for each."""
        if not QAccessible.isActive():
            return
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        has_formulas = CHARACTER in cursor.selectedText()
        self.setAccessibleDescription(with_sources(cursor) if has_formulas else "")

    def rendered(self) -> None:
        """The document is filled: a place for what a subclass adds."""

    def _await_formulas(self, pending: bool) -> None:
        if pending != self._pending:
            self._pending = pending
            if pending:
                math_service().ready.connect(self._formulas_ready)
            else:
                math_service().ready.disconnect(self._formulas_ready)

    def _formulas_ready(self) -> None:
        shown, pending = show_ready(self.document())
        self._await_formulas(pending)
        if shown:
            format_formulas(self.document())
            self._describe()
            self.resized.emit()

    def loadResource(self, _kind: int, _name: QUrl | str) -> object:
        return None

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._tasks:
            draw_tasks(self.document(), QPainter(self.viewport()))
        if self._caret:
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            at = self.cursorRect(cursor)
            size = SIZES.caret
            painter = QPainter(self.viewport())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme().accent))
            painter.drawEllipse(QRectF(at.right() + 5, at.center().y() - size / 2, size, size))

    def _follow(self, url: QUrl) -> None:
        scope = scope_of(self)
        if scope is not None:
            scope.link.emit(url.toString())

    def _hover(self, url: QUrl) -> None:
        self.setToolTip(as_written(shown(url.toString())))
