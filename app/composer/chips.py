"""Attached files as chips: on the composer with their tokens and a button that removes them, on a message without."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QToolButton, QWidget

from app.attachments.attachment import Attachment
from app.commands.place_keys import meant
from app.composer.attachment_text import show_attachment
from app.look.icons import icon
from app.look.theme import SIZES, theme
from app.state.draft import DraftFile
from app.words import as_written, tr, tr_n


class Chip(QFrame):
    """One file. `removed` is emitted by the button, Delete and Backspace; a click or Enter shows the file's text."""

    removed = Signal()

    def __init__(self, item: DraftFile, removable: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chip")
        self.item = item
        self.face = _Face(self)
        self.face.clicked.connect(self._open)
        self.face.delete.connect(self.removed)
        self.close_button = QToolButton(self)
        self.close_button.clicked.connect(self.removed)
        self.close_button.setVisible(removable)
        self._removable = removable
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, SIZES.gap_s if removable else 0, 0)
        row.setSpacing(0)
        row.addWidget(self.face)
        row.addWidget(self.close_button)
        self.restyle()
        self.retranslate()

    def retranslate(self) -> None:
        size = size_of(self.item) if self._removable else ""
        name = self.fontMetrics().elidedText(self.item.name, Qt.TextElideMode.ElideMiddle, SIZES.chip)
        self.face.setText(f"{name} · {size}".replace("&", "&&") if size else name.replace("&", "&&"))
        words = ", ".join(filter(None, (self.item.name, size)))
        self.face.setAccessibleName(tr("File {name}", name=words))
        self.face.setAccessibleDescription(
            tr("Opens the text. Press Delete to remove the file.") if self._removable else ""
        )
        self.face.setToolTip(as_written(f"{self.item.name}\n{tr('Show the text')}"))
        self.close_button.setAccessibleName(tr("Remove {name}", name=self.item.name))
        self.close_button.setToolTip(tr("Remove"))

    def restyle(self) -> None:
        self.face.setIcon(icon("file", theme().soft))
        self.face.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.close_button.setIcon(icon("close", theme().soft))

    def _open(self) -> None:
        if self.item.attachment:
            show_attachment(self.item.attachment, self.window())


class _Face(QPushButton):
    """`delete`: the file is to go, by key."""

    delete = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "chip")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        name = meant(event, "file")
        if name == "remove":
            self.delete.emit()
        elif name == "show":
            self.click()
        else:
            super().keyPressEvent(event)


def size_of(item: DraftFile) -> str:
    """Tokens, or characters as long as no model has counted."""
    if item.attachment is None:
        return tr("reading…")
    if item.tokens is None:
        return tr_n("{n} character", "{n} characters", len(item.attachment.text))
    return tr_n("{n} token", "{n} tokens", item.tokens)


class Flow(QWidget):
    """Widgets in rows, as many in each as fit; `right` puts the rows at the right edge."""

    def __init__(self, parent: QWidget | None = None, right: bool = False) -> None:
        super().__init__(parent)
        self.widgets: list[QWidget] = []
        self._right = right
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def put(self, widgets: Iterable[QWidget]) -> None:
        """In place of those that were there, which are deleted unless they are among the new ones."""
        old, self.widgets = self.widgets, list(widgets)
        for widget in old:
            if widget not in self.widgets:
                widget.hide()
                widget.deleteLater()
        for widget in self.widgets:
            widget.ensurePolished()  # or it would be measured in another type size
            widget.show()
        self.arrange()

    def arrange(self) -> None:
        """Place the widgets anew, because their sizes may have changed."""
        top = 0
        for row in self._rows(self.width()):
            widths = [min(widget.sizeHint().width(), self.width()) for widget in row]
            spare = self.width() - sum(widths) - SIZES.gap * (len(row) - 1)
            left = spare if self._right else 0
            for widget, width in zip(row, widths, strict=True):
                widget.setGeometry(left, top, width, widget.sizeHint().height())
                left += width + SIZES.gap
            top += _height(row) + SIZES.gap_s
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        rows = self._rows(width)
        return sum(map(_height, rows)) + SIZES.gap_s * max(0, len(rows) - 1)

    def sizeHint(self) -> QSize:
        return QSize(0, self.heightForWidth(self.width()))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # a widget in here has another size now
            self.arrange()
        return super().event(event)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.arrange()

    def _rows(self, width: int) -> list[list[QWidget]]:
        rows: list[list[QWidget]] = []
        left = 0
        for widget in self.widgets:
            needed = widget.sizeHint().width()
            if not rows or left + needed > width:
                rows.append([])
                left = 0
            rows[-1].append(widget)
            left += needed + SIZES.gap
        return rows


def _height(row: list[QWidget]) -> int:
    return max(widget.sizeHint().height() for widget in row)


class SentFiles(Flow):
    """The files of a message that was sent, at the right edge above its bubble."""

    def __init__(self, attachments: Iterable[Attachment], parent: QWidget) -> None:
        super().__init__(parent, right=True)
        self.chips = [Chip(DraftFile(attachment.name, attachment), False, self) for attachment in attachments]
        self.put(self.chips)

    def restyle(self) -> None:
        for chip in self.chips:
            chip.restyle()

    def retranslate(self) -> None:
        for chip in self.chips:
            chip.retranslate()
        self.arrange()
