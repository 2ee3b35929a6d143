"""Shows a block of prose as selectable text exactly as high as it needs. Fetches nothing, opens nothing."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QPainter,
    QPaintEvent,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from app.look.live import Live
from app.look.theme import SIZES, theme
from app.markdown.blocks import Block
from app.markdown.document import CARDS, TASKS, MarkdownDocument, draw_cards, draw_tasks, format_formulas, render
from app.markdown.guard import displayable_address
from app.markdown.math_object import CHARACTER, SOFT, show_drawn_formulas, text_with_sources
from app.markdown.selection import SelectedWithOthers, cursor_over, scope_of
from app.services.worker_service import math_service
from app.words import escaped_html, mark, tr


class ProseView(Live, SelectedWithOthers, QTextBrowser):
    """A text without scroll bars. `height_changed`: the text needs another height at the present width."""

    height_changed = Signal()

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
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the message's own menu offers more
        self.viewport().setAutoFillBackground(False)
        self.anchorClicked.connect(self._link_clicked)
        self.highlighted.connect(self._show_address)
        self.block = Block()
        self._pending = False
        self._caret = False
        render(self.document(), self.block, theme())
        self.apply_look()

    def set_block(self, block: Block) -> None:
        """Show the block; what is selected stays selected if the text before its end stays as it is."""
        if block != self.block:
            self.block = block
            selected = self.textCursor()
            anchor, position = selected.anchor(), selected.position()
            before = self.document().toPlainText()[: max(anchor, position)] if selected.hasSelection() else ""
            self._render()
            if before and self.document().toPlainText().startswith(before):
                self.setTextCursor(cursor_over(self.document(), anchor, position))

    def restyle(self) -> None:
        self._render()
        self.height_changed.emit()

    def retranslate(self) -> None:
        self.setAccessibleName(tr(self._name))

    def set_caret(self, shown: bool) -> None:
        """Show or hide a dot behind the last character, which says that the answer goes on."""
        if shown != self._caret:
            self._caret = shown
            self.viewport().update()

    def heightForWidth(self, width: int) -> int:
        document = self.document()
        for _ in range(2):  # a view that was not shown yet first wraps at its own old width instead
            if document.textWidth() != width:
                document.setTextWidth(width)
        return int(document.size().height() + 0.999)

    def natural_width(self) -> int:
        """Return the width of the text in pixels if no line is wrapped."""
        self.document().setTextWidth(-1)
        return int(self.document().idealWidth()) + 2

    def createMimeDataFromSelection(self) -> QMimeData:
        """Return the selected text, with each formula as LaTeX."""
        if CHARACTER not in self.textCursor().selectedText():
            return super().createMimeDataFromSelection()
        data = QMimeData()
        data.setText(text_with_sources(self.textCursor()))
        return data

    def _render(self) -> None:
        self._watch_formulas(render(self.document(), self.block, theme()))
        self.after_render()
        self._describe()

    def _describe(self) -> None:
        """Give screen readers the formulas as LaTeX; the text itself has one character for each formula."""
        if not QAccessible.isActive():
            return
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        has_formulas = CHARACTER in cursor.selectedText()
        self.setAccessibleDescription(text_with_sources(cursor) if has_formulas else "")

    def after_render(self) -> None:
        """Change the filled document in a subclass; the base class changes nothing."""

    def _watch_formulas(self, pending: bool) -> None:
        if pending != self._pending:
            self._pending = pending
            if pending:
                math_service().ready.connect(self._formulas_drawn)
            else:
                math_service().ready.disconnect(self._formulas_drawn)

    def _formulas_drawn(self) -> None:
        shown, pending = show_drawn_formulas(self.document())
        self._watch_formulas(pending)
        if shown:
            format_formulas(self.document())
            self._describe()
            self.height_changed.emit()

    def loadResource(self, _kind: int, _name: QUrl | str) -> object:
        return None

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.document().property(CARDS):
            draw_cards(self.document(), QPainter(self.viewport()))
        super().paintEvent(event)
        if self.document().property(TASKS):
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

    def _link_clicked(self, url: QUrl) -> None:
        scope = scope_of(self)
        if scope is not None:
            scope.link_clicked.emit(url.toString())

    def _show_address(self, url: QUrl) -> None:
        self.setToolTip(escaped_html(displayable_address(url.toString())))
